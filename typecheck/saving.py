"""`save` and `load`: whatever holds weights, and what a file says besides them."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO, assert_type

import wengert as wg
from wengert.saving import Checkpoint, Portable, load, names, portable, save


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


def case_files_of_others(w: wg.DoubleWeight, file: BinaryIO, path: Path) -> None:
    found = load(file, {"w": w}, strict=False, rename={"a": "w"})
    assert_type(found.used, tuple[str, ...])
    load(path, [w], rename=lambda name: None if name == "x" else name, layout="pytorch")
    assert_type(names(path), list[str])
    save(file, [w])
    load(path, [w], rename="x")  # E[arg-type]: incompatible type "str"
    load(path, [w], layout="keras")  # E[arg-type]: incompatible type "Literal
    load(path, [w], False)  # E: Too many positional arguments


def case_portable(layer: wg.DoubleLayer) -> None:
    assert_type(portable(layer), Portable[wg.DoubleLayer])
    assert_type(portable(layer).expression(), wg.DoubleLayer)
    portable(layer).expression([], [3])  # E: incompatible type "int"
