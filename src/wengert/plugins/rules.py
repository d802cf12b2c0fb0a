"""Rules of operations and array functions that plugins bring along.

Knows: that the leftmost plugin wins, and that rules hold where an executor was given them, or for the runs of weights
whose settings have `Backend`, nowhere else.
Refuses to know: any operation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.arrays import Namespace
from wengert.graph.operation import Rules
from wengert.plugins.plugin import Plugin
from wengert.run.loops import Changed, bring

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


class Backend(Plugin):
    """Runs of weights of these settings compute by the `rules` of all their plugins, and by the functions of `arrays`.

    `arrays` has the functions of `wengert.extend.Namespace`, in place of numpy's. Such a run goes node by node in one
    thread, as with `run.Sequential(rules=..., arrays=...)`; rules and arrays of the executor itself come before these.
    From where a run first meets such a weight all of it is computed so, whoever made the other weights.
    ArgumentError in a run that meets settings which bring different ones.

    >>> import wengert as wg
    >>> from wengert.plugins import SGD
    >>> class Leaky(Plugin):
    ...     rules = {wg.relu: lambda case, x: case.xp.where(case.xp.greater(x, 0.0), x, 0.5 * x)}
    >>> class Settings(Leaky, Backend, SGD): ...
    >>> w = Settings(learning_rate=0.1).double_weight(-2.0)
    >>> wg.relu(w).predict().run(), wg.relu(SGD(learning_rate=0.1).double_weight(-2.0)).predict().run()
    (-1.0, 0.0)
    """

    arrays: Namespace | None = None

    def __post_init__(self) -> None:
        self._brought()

    def __setstate__(self, state: dict[str, object]) -> None:
        super().__setstate__(state)
        self._brought()

    def _brought(self) -> None:
        rules = merged_rules(type(self))
        if rules or self.arrays is not None:
            bring(self, Changed(rules, self.arrays))
