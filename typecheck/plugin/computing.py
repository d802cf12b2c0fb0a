"""Sizes that a program computes where it states them, with Python's operators on integers (T70, T75, T78)."""

from __future__ import annotations

from typing import Any, Final, Literal, TypeVar, assert_type

from given import L2, L3, L5, L6, L8, WIDTH, Batch, count, data, settings, x

import wengert as wg
from wengert import nn
from wengert.dims import Add, FloorDiv, Mul

B = TypeVar("B", bound=int)
T = TypeVar("T", bound=int)
H = TypeVar("H", bound=int)
CHANNELS: Final = 16


def case_products_of_numbers() -> None:  # T70
    assert_type(wg.literal(data, 2, WIDTH * 2), wg.ArrayLayer[tuple[L2, L6]])
    assert_type(settings.array_weight(data, CHANNELS // 2, 4 + 1), wg.ArrayWeight[tuple[L8, L5]])
    assert_type(nn.Linear.make(settings, CHANNELS * 5 * 5, 10 - 2, seed=0), nn.Linear[Literal[400], L8])
    assert_type(wg.reshape(x, (WIDTH - 1, 6 // 2)), wg.ArrayLayer[tuple[L2, L3]])
    assert_type(wg.literal(data, 2 * count(), 3), wg.ArrayLayer[tuple[Any, L3]])
    assert_type(wg.literal(data, x.shape[0] * x.shape[1], 2**2), wg.ArrayLayer[tuple[L6, Any]])
    assert_type(wg.literal(data, Batch(2) * 3, 3), wg.ArrayLayer[tuple[Mul[L3, Batch], L3]])
    wg.reshape(x, (2 * 2, 3))  # E[shape]: into \(4, 3\) \(12 elements\)$


def case_products_of_names(
    x: wg.ArrayLayer[tuple[B, T, H]],
) -> wg.ArrayLayer[tuple[Mul[B, T], H]]:  # T75, T78
    b, t, h = x.shape
    assert_type(wg.reshape(x, (b, t * h)), wg.ArrayLayer[tuple[B, Mul[H, T]]])
    assert_type(
        wg.broadcast_to(wg.sum(x), (h // 2, t + 1)), wg.ArrayLayer[tuple[FloorDiv[H, L2], Add[T, Literal[1]]]]
    )
    wg.reshape(x, (b * t, t))  # E[shape]: cannot reshape \(B, T, H\)
    return wg.reshape(x, (b * t, h))


def case_a_star_states_what_its_tuple_does(dims: tuple[int, int], more: tuple[int, ...]) -> None:  # T79
    assert_type(wg.literal(data, *dims), wg.ArrayLayer[tuple[Any, Any]])
    assert_type(wg.literal(data, 2, *dims[1:]), wg.ArrayLayer[tuple[L2, Any]])
    assert_type(wg.literal(data, *more), wg.ArrayLayer[Any])
    assert_type(wg.reshape(x, dims), wg.ArrayLayer[tuple[Any, Any]])
