"""Rules whose work depends on how many axes an operand has: all of them, where generated examples meet only some."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.graph.kinds import Shape

from .test_rules import all_agree

LEFT: tuple[Shape, ...] = ((3,), (2, 3), (4, 2, 3), (1, 2, 3), (5, 1, 2, 3))
RIGHT: tuple[Shape, ...] = ((3,), (3, 2), (4, 3, 2), (1, 3, 5), (5, 4, 3, 2))


@pytest.mark.parametrize(("left", "right"), list(product(LEFT, RIGHT)))
def test_products_of_matrices(left: Shape, right: Shape) -> None:
    a, b = (wg.lift(np.arange(float(prod(shape))).reshape(shape) - 3.0) for shape in (left, right))
    all_agree(wg.matmul(a, b))


ONE, TWO = np.array([2, 0, 2]), np.array([[1, 0], [2, 1]])
KEYS: dict[str, tuple[Any, ...]] = {  # Any: as numpy has them
    "first": (ONE,),
    "second": (slice(None), ONE),
    "last": (..., ONE),
    "of two axes, second": (slice(None), TWO),
    "of two axes, last": (..., slice(0, 2), TWO),
    "beside each other": (slice(None), ONE, ONE[::-1]),
    "apart": (ONE, slice(None), ONE),
    "apart, of other ranks": (TWO[:, :1], slice(None), TWO[0]),
    "behind a new axis": (None, slice(None), ONE),
    "behind a number": (1, slice(None), ONE),
}


@pytest.mark.parametrize("name", KEYS)
def test_index_arrays_wherever_they_stand(name: str) -> None:
    x = wg.lift(np.arange(36.0).reshape(3, 4, 3)[:, :3])
    all_agree(x[KEYS[name]])
