"""Parts of Wengert that are loaded when somebody first asks for them, so that importing it takes less time.

Knows: how to load a part by its name.
Refuses to know: the parts.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any


class later:
    """The function `name` of a module, which is loaded with the first call."""

    def __init__(self, module: str, name: str) -> None:
        self._module, self._name = module, name

    def load(self) -> Callable[..., Any]:  # Any: the function of that name says
        """The function."""
        found: Callable[..., Any] = getattr(import_module(self._module), self._name)
        return found

    def __call__(self, *arguments: object) -> Any:  # Any: as above
        return self.load()(*arguments)
