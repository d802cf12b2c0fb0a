"""Rules of operations that plugins bring along.

Knows: that the leftmost plugin wins, and that rules hold where an executor was given them, nowhere else.
Refuses to know: any operation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.graph.operation import Rules
from wengert.plugins.plugin import Plugin

Function = Callable[..., Any]  # Any: operations and rules of every type


def merged_rules(plugin: type[Plugin]) -> dict[Function, Function | Rules]:
    """Rules that the plugins of a settings class name by the class variable `rules`; the leftmost one wins.

    >>> import wengert as wg
    >>> class Leaky(Plugin):
    ...     rules = {wg.relu: lambda case, x: case.xp.where(case.xp.greater(x, 0.0), x, 0.5 * x)}
    >>> executor = wg.run.Sequential(rules=merged_rules(Leaky))
    >>> wg.relu(wg.lift(-2.0)).predict().run(executor), wg.relu(wg.lift(-2.0)).predict().run()
    (-1.0, 0.0)
    """
    merged: dict[Function, Function | Rules] = {}
    for owner in reversed(plugin.__mro__):
        merged |= vars(owner).get("rules", {})
    return merged
