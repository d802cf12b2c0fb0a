"""The operations that derivatives are made of: values, both derivatives, and what a delta of 0 survives."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import wengert as wg
from tests.often import examples
from wengert.graph.kinds import Column, kind
from wengert.ops import backward as b
from wengert.plugins import SGD
from wengert.testing import check_gradients

from .backward import BACKWARD

SETTINGS = SGD(learning_rate=0.1)


@pytest.mark.parametrize("name", BACKWARD)
@examples(12)
@given(data=st.data())
def test_values_and_both_derivatives(name: str, data: st.DataObject) -> None:
    example = data.draw(BACKWARD[name])
    expression = example.call(*example.operands)
    value, wanted = expression.predict().run(), np.asarray(example.plain(np, *example.operands))
    assert expression.kind.shape == wanted.shape == np.shape(value)
    assert expression.kind.dtype == wanted.dtype
    assert_allclose(value, wanted, rtol=1e-13, atol=1e-14)
    if example.operands:
        check_gradients(example.call, *example.operands)
        check_gradients(example.call, *example.operands, order=2)
    else:
        assert not expression.kind.trainable


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_constants_and_items_are_numbers_of_their_column(dtype: Any) -> None:
    """Any: an element type."""
    column = Column.FLOAT if dtype is np.float32 else Column.DOUBLE
    number: type = np.float32 if dtype is np.float32 else float
    value = b.filled(1.5, kind(column, (), np.dtype(dtype))).predict().run()
    assert (type(value), value) == (number, 1.5)
    data: Any = np.full((), 2.5, dtype)
    w = SETTINGS.array_weight(data)
    value = b.item(w).predict().run()
    assert (type(value), value) == (number, 2.5)
    (delta,) = wg.gradients(b.item(w) * 3.0, (w,)).run()
    assert (delta.shape, delta.dtype, float(np.asarray(delta))) == ((), dtype, 3.0)


@pytest.mark.parametrize("scalar", [True, False])
def test_a_delta_of_nothing_stays_nothing_beside_an_infinity(scalar: bool) -> None:
    def made(x: float) -> Any:  # Any: a weight of either column
        return SETTINGS.double_weight(x) if scalar else SETTINGS.array_weight(np.full(1, x, np.float64))

    g, r = made(0.0), made(math.inf)
    loss = b.nonzero_safe(g, r)
    assert [float(np.sum(d)) for d in wg.gradients(loss if scalar else wg.sum(loss), (g, r)).run()] == [
        0.0,
        0.0,
    ]
    g = made(2.0)
    loss = b.nonzero_safe(g, r)
    assert [float(np.sum(d)) for d in wg.gradients(loss if scalar else wg.sum(loss), (g, r)).run()] == [
        0.0,
        1.0,
    ]
    zero, infinite = made(0.0), made(math.inf)
    product = b.safe_product(zero, infinite) * 0.0
    found = wg.gradients(product if scalar else wg.sum(product), (zero, infinite)).run()
    assert [float(np.sum(d)) for d in found] == [0.0, 0.0]
