"""What the cases of this folder are about: arrays of literal, named and unknown shape (T70)."""

from __future__ import annotations

from typing import Any, Final, Literal, NewType, TypeAlias, assert_type

import numpy as np
import numpy.typing as npt

import wengert as wg
from wengert.plugins import SGD

L1: TypeAlias = Literal[1]
L2: TypeAlias = Literal[2]
L3: TypeAlias = Literal[3]
L4: TypeAlias = Literal[4]
L5: TypeAlias = Literal[5]
L6: TypeAlias = Literal[6]
L8: TypeAlias = Literal[8]
L32: TypeAlias = Literal[32]
F32: TypeAlias = npt.NDArray[np.float32]


class Batch(int):
    """A named dimension."""


class MySettings(SGD):
    """A user's own settings."""


Features = NewType("Features", int)
WIDTH: Final = 3
settings = MySettings(learning_rate=0.1)
data: F32 = np.ones((2, 3), np.float32)
x = wg.literal(data, 2, 3)
w = settings.array_weight(data, 3, 4, name="w")
row = wg.literal(data, 3)
named = wg.literal(data, Batch, 3)
batched = wg.literal(data, 5, 2, 3)
scalar = wg.sum(x)
unknown: wg.ArrayLayer[Any] = wg.lift(data)


def count() -> int:
    return 3


def case_what_is_given() -> None:
    assert_type(x, wg.ArrayLayer[tuple[L2, L3]])
    assert_type(w, wg.ArrayWeight[tuple[L3, L4]])
    assert_type(row, wg.ArrayLayer[tuple[L3]])
    assert_type(named, wg.ArrayLayer[tuple[Batch, L3]])
    assert_type(batched, wg.ArrayLayer[tuple[L5, L2, L3]])
    assert_type(scalar, wg.ArrayLayer[tuple[()]])
    assert_type(unknown, wg.ArrayLayer)
