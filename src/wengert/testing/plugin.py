"""The canary: whether the type checker in hand runs with the mypy plugin.

Knows: what plain types say of it.
Refuses to know: the plugin, which answers for itself.
"""

from __future__ import annotations

from typing import Literal


def plugin_active() -> Literal[False]:
    """Tell if shapes are checked here: `Literal[False]` to a checker, `Literal[True]` with `wengert_mypy`.

    Put `assert_type(plugin_active(), Literal[True])` into a project that relies on the plugin: where the
    plugin is switched off, the checker refuses that line. No plugin is there at run time.

    >>> plugin_active()
    False
    """
    return False
