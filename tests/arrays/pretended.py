"""The modules over cupy, imported anew over a stand-in for it."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Generator
from contextlib import contextmanager
from types import ModuleType

import pytest

from wengert.arrays import Value

OVER_CUPY = ("wengert.arrays.launches", "wengert.arrays.gpu")


@contextmanager
def gpu_over(stand_in: ModuleType) -> Generator[Value]:
    """`wengert.arrays.gpu` with `stand_in` for cupy; whoever imports it afterwards gets cupy's own again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "cupy", stand_in)
        package = sys.modules["wengert.arrays"]
        for name in OVER_CUPY:
            patch.delitem(sys.modules, name, raising=False)
            patch.delattr(package, name.rpartition(".")[2], raising=False)
        try:
            yield importlib.import_module("wengert.arrays.gpu")
        finally:
            for name in OVER_CUPY:
                sys.modules.pop(name, None)
                vars(package).pop(name.rpartition(".")[2], None)
