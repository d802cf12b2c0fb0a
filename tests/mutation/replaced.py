"""Modules that are imported with other code than their files have.

Knows: that a module's file, its name and everything else stay.
Refuses to know: whose code it is.
"""

from __future__ import annotations

import importlib.abc
import sys
from collections.abc import Mapping, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import CodeType, ModuleType


class Replaced(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """By the file of a module: its code, and names that the code finds there."""

    def __init__(self, codes: Mapping[str, tuple[CodeType, Mapping[str, object]]]) -> None:
        self.codes = codes
        sys.meta_path.insert(0, self)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or spec.origin not in self.codes:
            return None
        spec.loader = self
        return spec

    def exec_module(self, module: ModuleType) -> None:
        code, names = self.codes[str(module.__file__)]
        vars(module).update(names)
        exec(code, vars(module))


def refuse_imported(paths: Sequence[Path]) -> None:
    """Who is imported already cannot be replaced."""
    wanted = set(map(str, paths))
    known = [name for name, module in sys.modules.items() if getattr(module, "__file__", None) in wanted]
    if known:
        raise AssertionError(f"{', '.join(known)}: imported already, and so nothing would take its place")
