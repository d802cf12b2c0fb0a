"""`strict_shapes`: where a shape is lost, and that without the switch nothing is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mypy_plugin.checking import project

pytestmark = pytest.mark.slow
STRICT = "[wengert_mypy]\nstrict_shapes = true\n"
PROGRAM = """
from typing import Literal
import numpy as np
import numpy.typing as npt
import wengert as wg
from wengert.nn import Linear

class Batch(int): ...

Pixels = wg.ArrayLayer[tuple[Batch, Literal[784]]]

def helper(x: Pixels) -> wg.ArrayLayer:
    return wg.relu(x)

def model(x: Pixels, fc: Linear[Literal[784], Literal[10]], places: npt.NDArray[np.int64], to: tuple[int, ...]) -> None:
    h: wg.ArrayLayer = x
    print(fc(h))
    print(wg.relu(h) * 2.0 + 1.0)
    print(helper(x) + 1.0)
    lost = wg.reshape(x, to)
    print(lost * 2.0)
    stated: wg.ArrayLayer[tuple[Literal[3]]] = wg.reshape(x, to)
    print(stated * 2.0)
    print(wg.lift(np.ones((2, 3), np.float32)) + 1.0, wg.literal(np.ones(3, np.float32), 3) + 1.0)
    print(wg.matmul(x, x) + 1.0)
"""


def test_every_loss_is_told_once_where_it_shows(tmp_path: Path) -> None:
    said = project(tmp_path / "strict", {"main.py": PROGRAM}, STRICT)
    told = [line.split(":", 3) for line in said if line.endswith("[any-shape]")]
    assert [(int(line), text.partition("; state it")[0].strip()) for _, line, _, text in told] == [
        (
            17,
            "Linear: the shape of operand 0 is not known here (lost at line 16: the annotation of h has none)",
        ),
        (
            18,
            "relu: the shape of operand 0 is not known here (lost at line 16: the annotation of h has none)",
        ),
        (19, "add: the shape of operand 0 is not known here (lost in the result of helper)"),
        (20, "reshape: the shape of the result is not known here, for it depends on values"),
        (21, "multiply: the shape of operand 0 is not known here (lost at line 20)"),
    ]
    assert [line.rpartition("[")[2] for line in said if line not in {":".join(x) for x in told}] == ["shape]"]


def test_without_the_switch_nothing_is_said(tmp_path: Path) -> None:
    assert [line.rpartition("[")[2] for line in project(tmp_path / "lax", {"main.py": PROGRAM})] == ["shape]"]
