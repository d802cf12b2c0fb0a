"""What a program leaves out of its lines changes nothing: looks at buffers, numbers beside arrays, short calls."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.run.planned import eager, plain, same, trained
from wengert.plugins import SGD

Matrix = Any  # a weight or a layer of float32: what follows is made of both
SETTINGS = SGD(learning_rate=0.1)
DATA = np.random.default_rng(0).uniform(-1, 1, (6, 4)).astype(np.float32)


def _bits(
    loss: Callable[[Matrix, int], Any], data: Any = DATA
) -> Any:  # Any: losses and arrays; the only plan
    def network() -> Any:  # Any: as in `planned`
        w = SETTINGS.array_weight(DATA)
        return [w], lambda i: loss(w, i)

    executor, plans = eager()
    same(trained(network, plain()), trained(network, executor))
    assert plans.made == 1
    (plan,) = plans._plans.items()
    return plan


LOOKS: dict[str, Callable[[Matrix], Matrix]] = {
    "reshape": lambda x: wg.reshape(x, (8, 3)),
    "transposed": lambda x: wg.permute_dims(x, (1, 0)),
    "reshape of transposed": lambda x: wg.reshape(wg.permute_dims(x, (1, 0)), (3, 8)),  # which is a copy
    "transposed of reshape": lambda x: wg.permute_dims(wg.reshape(x, (3, 8)), (1, 0)),
    "axes": lambda x: wg.squeeze(wg.expand_dims(x, axis=1), axis=1),
}


@pytest.mark.parametrize("name", LOOKS)
def test_a_look_at_a_buffer_shows_what_each_run_writes_there(name: str) -> None:
    look = LOOKS[name]
    plan = _bits(lambda w, i: wg.sum(wg.square(look(wg.exp(w * float(i + 1))))))
    assert " v" in plan.program.frame_source  # made with the buffers
    of_weight = _bits(lambda w, i: wg.sum(wg.square(look(w))))
    assert " v" not in of_weight.program.frame_source  # of each run its own


@pytest.mark.parametrize("number", [0.1, -0.0, 3, 2**24 + 1, np.float32(0.3), 1e39, float("nan")])
@pytest.mark.parametrize("operation", [wg.maximum, wg.multiply, wg.subtract, wg.divide])
def test_numbers_beside_arrays_are_as_numpy_takes_them(number: Any, operation: Any) -> None:
    with np.errstate(all="ignore"):
        _bits(lambda w, i: wg.sum(wg.exp(operation(wg.exp(w), number)) * 0.5))


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8, np.uint64])
@pytest.mark.parametrize("shape", [(6,), (2, 3)])
def test_labels_of_every_type_and_shape(dtype: type, shape: tuple[int, ...]) -> None:
    labels: Any = np.array([0, 3, 1, 2, 2, 0], dtype).reshape(shape)  # Any: the type is a parameter here

    def loss(how: Any, w: Matrix, i: int) -> Any:  # Any: as in `_bits`
        return wg.sum(wg.cross_entropy(wg.reshape(w, (*shape, 4)), labels, reduction=how))

    for how in ("mean", "sum", "none"):
        _bits(partial(loss, how))


def test_a_vector_beside_a_matrix_of_one_row_gets_its_axis_without_a_change_of_bits() -> None:
    one = _bits(lambda w, i: wg.sum(wg.square(w[:1] * 2.0 + w[3] * float(i))))
    assert ", b1[k" in one.program.source
    several = _bits(lambda w, i: wg.sum(wg.square(w[:2] * 2.0 + w[3] * float(i))))
    assert ", b1[k" not in several.program.source  # numpy has to repeat it, whatever its axes


def test_a_vector_beside_a_matrix_of_one_row_is_no_row_of_a_product() -> None:
    _bits(lambda w, i: wg.sum((w[:1] @ w[3]) * float(i)))
