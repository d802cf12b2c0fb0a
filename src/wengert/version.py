"""Version of the library.

Knows: the number that `pyproject.toml` has, too.
Refuses to know: everything else, so that every floor may ask.
"""

from __future__ import annotations

from typing import Final

__version__: Final = "0.1.0"
