"""The mypy plugin of Wengert: a package of its own that imports mypy and never `wengert`.

Issue by issue this becomes the checker of shapes, dtypes, devices and registrations. What the library needs
today it says with plain types alone (S15), so the plugin has no hook yet and changes no answer of mypy.
"""

from __future__ import annotations

from mypy.plugin import Plugin


class WengertPlugin(Plugin):
    """No hooks yet; see the module's docstring."""


def plugin(version: str) -> type[Plugin]:
    """The entry point that mypy calls with its own version."""
    return WengertPlugin
