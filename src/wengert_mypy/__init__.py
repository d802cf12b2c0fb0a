"""The mypy plugin of Wengert: shapes, registrations, advice. It imports mypy and never `wengert`.

Whatever it knows it reads from what mypy itself stores: signatures, symbols of modules, configuration. It has
no state and changes nothing of mypy's, so that cold, warm and daemon runs agree. Without it the same programs
are checked with unknown shapes.
"""

from __future__ import annotations

from mypy.options import Options
from mypy.plugin import Plugin

from wengert_mypy.hooks import WengertPlugin

__all__ = ["WengertPlugin", "plugin"]

__version__ = (
    ""  # the plugin's sources and configuration: mypy's daemon starts afresh where it becomes another
)


class _Versioned(WengertPlugin):
    def __init__(self, options: Options) -> None:
        super().__init__(options)
        global __version__
        __version__ = self.version


def plugin(version: str) -> type[Plugin]:
    """The entry point that mypy calls with its own version."""
    return _Versioned
