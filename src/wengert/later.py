"""Parts of Wengert that are loaded when somebody first asks for them, so that importing it takes less time.

Knows: how to load a part by its name.
Refuses to know: the parts.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


class later:
    """The function `name` of a module, which is loaded with the first call."""

    def __init__(self, module: str, name: str) -> None:
        self._module, self._name = module, name

    def load(self) -> Callable[..., Any]:  # Any: the function of that name says
        """The function."""
        found: Callable[..., Any] = _loaded(self._module, self._name)
        return found

    def __call__(self, *arguments: object) -> Any:  # Any: as above
        return self.load()(*arguments)


class LazyModules:
    """Modules of a package that are loaded when somebody first asks for one of their names, as SPEC 1 has it.

    `names` has by each module, called as it is within the package, its public names with spaces between.
    """

    def __init__(self, package: str, names: Mapping[str, str]) -> None:
        self._package = sys.modules[package]
        self._modules = tuple(names)
        self._homes = {name: home for home, listed in names.items() for name in listed.split()}

    def __contains__(self, name: str) -> bool:
        return self._homes.get(name, name) in self._modules

    def find(self, name: str) -> object:
        """Load a module or what has this name in one, and keep it in the package; AttributeError if there is none."""
        if name not in self:
            raise AttributeError(f"module {self._package.__name__!r} has no attribute {name!r}")
        home = self._homes.get(name, name)
        found = _loaded(f"{self._package.__name__}.{home}", name if name in self._homes else "")
        setattr(self._package, name, found)
        return found

    def listed(self) -> list[str]:
        """The names that are there, and those that would be loaded."""
        return sorted({*vars(self._package), *self._homes, *filter(str.isidentifier, self._modules)})

    def load(self) -> None:
        """Load every module."""
        for module in self._modules:
            _loaded(f"{self._package.__name__}.{module}")


def _loaded(module: str, name: str = "") -> Any:  # Any: whatever has that name
    found = import_module(module)
    return getattr(found, name) if name else found
