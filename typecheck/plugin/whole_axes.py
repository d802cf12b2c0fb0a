"""What no run can see: a named axis that reshape cuts up, and arrays whose types already know their rank."""

from __future__ import annotations

from typing import Literal, NewType, TypeVar, assert_type

import numpy as np
from given import L2, L3, L8, Batch, data, settings

import wengert as wg
from wengert.dims import Mul

Time = NewType("Time", int)
B = TypeVar("B", bound=int)
T = TypeVar("T", bound=int)
L64 = Literal[64]
words = wg.literal(data, Batch, Time, 512)
in_heads = wg.literal(data, Batch, 8, Time, 64)
b, t, _ = words.shape


def case_axes_that_keep_their_place() -> None:  # T75, T78
    assert_type(wg.reshape(words, (b, t, 8, 64)), wg.ArrayLayer[tuple[Batch, Time, L8, L64]])
    assert_type(wg.reshape(words, (b, 1, t, -1)), wg.ArrayLayer[tuple[Batch, Literal[1], Time, Literal[512]]])
    assert_type(wg.reshape(words, (-1, 512)), wg.ArrayLayer[tuple[Mul[Batch, Time], Literal[512]]])
    assert_type(wg.reshape(words, (b, -1)), wg.ArrayLayer[tuple[Batch, Mul[Literal[512], Time]]])
    assert_type(
        wg.reshape(wg.permute_dims(in_heads, (0, 2, 1, 3)), (b, t, -1)),
        wg.ArrayLayer[tuple[Batch, Time, Literal[512]]],
    )


def case_axes_that_are_cut_up() -> None:  # T75, T78
    wg.reshape(words, (b, 8, t, 64))  # E[shape]: \(Batch, 8, Time, 64\): Time would not stay in one piece
    wg.reshape(in_heads, (b, t, 512))  # E[shape]: ^reshape: cannot .* move axes with permute_dims first$
    wg.reshape(in_heads, (b, t, -1))  # E[shape]: Time would not stay in one piece
    wg.reshape(words, (t, b, 512))  # E[shape]: Time would not stay in one piece


def case_axes_of_any_size(x: wg.ArrayLayer[tuple[B, T]], n: int) -> None:  # T78, T79
    wg.reshape(x, (x.shape[1], x.shape[0]))  # E[shape]: T would not stay in one piece
    wg.reshape(x, (x.shape[1], n))  # E[shape]: T would not stay in one piece
    wg.reshape(x, (n, x.shape[1]))


def case_two_axes_of_one_name(x: wg.ArrayLayer[tuple[T, T]]) -> None:  # T78
    assert_type(wg.reshape(x, (x.shape[0], 1, x.shape[1])), wg.ArrayLayer[tuple[T, Literal[1], T]])


def case_ranks_that_numpy_knows(pair: np.ndarray[tuple[L2, L3], np.dtype[np.float32]]) -> None:  # T70
    assert_type(wg.literal(np.zeros((2, 3), np.float32), Batch, 3), wg.ArrayLayer[tuple[Batch, L3]])
    assert_type(wg.literal(pair, 2, 3), wg.ArrayLayer[tuple[L2, L3]])
    wg.literal(pair, 3, 2)  # E[shape]: ^literal: the array has shape \(2, 3\), the stated dim.* \(3, 2\)$
    settings.array_weight(np.zeros(3), 1, 3)  # E[shape]: shape \(\?,\), the stated dimensions are \(1, 3\)$
    settings.array_weight(np.zeros((4, 3)), 5, 3)  # E[shape]: shape \(4, 3\), the stated .* \(5, 3\)$
    wg.literal(np.ones((4, 3)), Batch, 2)  # E[shape]: ^literal: the array has shape \(\?, 3\)
    assert_type(wg.literal(np.ones((4, 3), np.float32), Batch, 3), wg.ArrayLayer[tuple[Batch, L3]])
