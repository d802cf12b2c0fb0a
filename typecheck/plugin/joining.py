"""Arrays put together and taken apart (T76)."""

from __future__ import annotations

from typing import Any, Literal, assert_type

import numpy as np
import numpy.typing as npt
from given import L1, L2, L3, L4, L5, L6, L8, Batch, Features, batched, count, data, named, row, unknown, w, x

import wengert as wg

Shape23 = wg.ArrayLayer[tuple[L2, L3]]


def case_concat() -> None:  # T76
    assert_type(wg.concat([x, x], axis=1), wg.ArrayLayer[tuple[L2, L6]])
    assert_type(wg.concat((x, wg.literal(data, 1, 3))), wg.ArrayLayer[tuple[L3, L3]])
    assert_type(wg.concat([x, x, wg.literal(data, 2, 2)], axis=-1), wg.ArrayLayer[tuple[L2, L8]])
    assert_type(wg.concat([x]), Shape23)


def case_concat_of_names() -> None:  # T76
    assert_type(wg.concat([named, wg.literal(data, Batch, 1)], axis=1), wg.ArrayLayer[tuple[Batch, L4]])
    wg.concat([named, wg.literal(data, Features, 3)], axis=1)  # E[shape]: differ on axis 0


def case_concat_of_unknowns(many: list[wg.ArrayLayer[tuple[L2, L3]]]) -> None:  # T76, T79
    assert_type(wg.concat([x for _ in range(3)]), wg.ArrayLayer[tuple[Any, L3]])
    assert_type(wg.concat(many), wg.ArrayLayer[tuple[Any, L3]])
    assert_type(wg.concat([x, *many]), wg.ArrayLayer[tuple[Any, L3]])
    assert_type(wg.concat([x, unknown]), wg.ArrayLayer[tuple[Any, L3]])
    assert_type(wg.concat([unknown]), wg.ArrayLayer[Any])


def case_concat_refused() -> None:  # T76
    wg.concat([x, w], axis=1)  # E[shape]: ^concat: shapes \(2, 3\) and \(3, 4\) differ on axis 0, not only on
    wg.concat([x, row])  # E[shape]: ^concat: shapes \(2, 3\) and \(3,\) differ in rank$
    wg.concat([x, x], axis=2)  # E[shape]: ^concat: axis 2 is out of range for shape \(2, 3\)$
    wg.concat([])  # E[shape]: expected at least


def case_concat_of_dtypes(d: wg.ArrayLayer[Any, np.float64]) -> None:  # T76, T26
    wg.concat([x, d])  # E[list-item]: incompatible type "ArrayLayer\[Any, float64, Literal\['cpu'\]\]"


def case_stack() -> None:  # T76
    assert_type(wg.stack([x, x, x]), wg.ArrayLayer[tuple[L3, L2, L3]])
    assert_type(wg.stack([x, x, x], axis=1), wg.ArrayLayer[tuple[L2, L3, L3]])
    assert_type(wg.stack([named, named], axis=-1), wg.ArrayLayer[tuple[Batch, L3, L2]])


def case_stack_of_numbers(d: wg.DoubleLayer, f: wg.FloatLayer) -> None:  # T76
    assert_type(wg.stack([d, d * 2.0]), wg.ArrayLayer[tuple[L2], np.float64])
    assert_type(wg.stack([f, f, f]), wg.ArrayLayer[tuple[L3]])
    wg.stack([d, x])  # E
    wg.stack(d)  # E


def case_stack_refused() -> None:  # T76
    wg.stack([x, named])  # E[shape]: ^stack: shapes \(2, 3\) and \(Batch, 3\) differ$
    wg.stack([x, row])  # E[shape]: ^stack: shapes \(2, 3\) and \(3,\) differ$
    wg.stack([x, x], axis=3)  # E[shape]: ^stack: axis 3 is out of range for shape \(2, 3\)$


def case_an_integer_drops_an_axis() -> None:  # T76
    place = count()
    assert_type(x[0], wg.ArrayLayer[tuple[L3]])
    assert_type(x[-1, 2], wg.ArrayLayer[tuple[()]])
    assert_type(x[place], wg.ArrayLayer[tuple[L3]])
    assert_type(named[:, -1], wg.ArrayLayer[tuple[Batch]])


def case_slices() -> None:  # T76
    assert_type(x[:, 1:], wg.ArrayLayer[tuple[L2, L2]])
    assert_type(x[:1], wg.ArrayLayer[tuple[L1, L3]])
    assert_type(batched[::2, ::-1, -2:], wg.ArrayLayer[tuple[L3, L2, L2]])
    assert_type(x[5:], wg.ArrayLayer[tuple[Literal[0], L3]])
    assert_type(named[:, :2], wg.ArrayLayer[tuple[Batch, L2]])


def case_slices_of_unknown_size() -> None:  # T76
    place = count()
    assert_type(x[:, place:], wg.ArrayLayer[tuple[L2, Any]])
    assert_type(named[1:], wg.ArrayLayer[tuple[Any, L3]])


def case_new_axes() -> None:  # T76
    assert_type(x[..., None], wg.ArrayLayer[tuple[L2, L3, L1]])
    assert_type(row[None, :], wg.ArrayLayer[tuple[L1, L3]])
    assert_type(batched[0, ..., 0], wg.ArrayLayer[tuple[L2]])
    assert_type(row[:, None] * wg.literal(data, 1, 4), wg.ArrayLayer[tuple[L3, L4]])


def case_lists_of_indices(indices: npt.NDArray[np.int64]) -> None:  # T76
    assert_type(w[[0, 2, 2]], wg.ArrayLayer[tuple[L3, L4]])
    assert_type(w[[0, 2]] @ wg.literal(data, 4, 5), wg.ArrayLayer[tuple[L2, L5]])


def case_index_refused() -> None:  # T76
    x[2]  # E[shape]: ^getitem: cannot index shape \(2, 3\): index 2 is out of bounds for axis 0 with size 2$
    x[0, -4]  # E[shape]: index -4 is out of bounds for axis 1 with size 3$
    x[0, 0, 0]  # E[shape]: ^getitem: .*: too many indices: the array has 2 axes, 3 were indexed$
    x["rows"]  # E[index]: "str"


def case_getitem() -> None:  # T76
    assert_type(wg.getitem(x, (0, slice(None))), wg.ArrayLayer[Any])
    assert_type(wg.getitem(x, 0), wg.ArrayLayer[tuple[L3]])
    wg.getitem(x, 2)  # E[shape]: index 2 is out of bounds


def case_take() -> None:  # T76
    assert_type(wg.take(w, [0, 1], axis=1), wg.ArrayLayer[tuple[L3, L2]])
    assert_type(wg.take(w, [0, 1, 2, 0], axis=0), wg.ArrayLayer[tuple[L4, L4]])
    wg.take(w, [0, 1], axis=2)  # E[shape]: ^take: axis 2 is out of range for shape \(3, 4\)$
    wg.take(w, [0.5])  # E[arg-type]: incompatible type "list\[float\]"


def case_big_sizes() -> None:  # T76

    assert_type(
        wg.literal(data, 99999999999999999999)[1:], wg.ArrayLayer[tuple[Literal[99999999999999999998]]]
    )
