"""`save` and `load`: whatever holds weights, and what a file says besides them."""

from __future__ import annotations

from pathlib import Path
from typing import assert_type

import wengert as wg
from wengert.saving import Checkpoint, load, save


def case_saving(w: wg.DoubleWeight, x: wg.ArrayWeight, path: Path) -> None:
    save("w", [w, x])
    save(path, {"w": w, "x": x}, step=1, seed=None, optimizer=False)
    save(path, w, 1)  # E: Too many positional arguments
    save(path, w, step="1")  # E: incompatible type "str"
    save(3, w)  # E: incompatible type "int"


def case_loading(w: wg.DoubleWeight, path: Path) -> None:
    found = load(path, [w])
    assert_type(found, Checkpoint)
    assert_type(found.step, int | None)
    assert_type(found.seed, int | None)
    assert_type(found.version, str)
    found.step + 1  # E: Unsupported operand types|Unsupported left operand type for
    found.step = 1  # E: is read-only
    load(path)  # E: Missing positional argument "weights"
