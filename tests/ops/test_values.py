"""Values against plain numpy, in every memory layout; what an expression says of itself against its run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import wengert as wg
from tests.often import examples

from .subjects import SUBJECTS, Example
from .test_gradients import weight_of


def drawn(name: str, data: st.DataObject) -> Example:
    return data.draw(SUBJECTS[name].examples)


def says(expression: Any, value: Any) -> None:
    """Any: expressions and data of every column. Shape and dtype at build time are those of the run."""
    assert expression.kind.shape == np.shape(value)
    assert expression.kind.dtype == np.asarray(value).dtype
    assert expression.kind.device == "cpu"
    if not isinstance(expression, wg.Mask):
        assert (expression.shape, expression.dtype, expression.device) == (
            np.shape(value),
            np.asarray(value).dtype,
            "cpu",
        )


@pytest.mark.parametrize("name", SUBJECTS)
@examples(12)
@given(data=st.data())
def test_the_value_is_that_of_the_formula(name: str, data: st.DataObject) -> None:
    example = drawn(name, data)
    expression = example.call(*example.operands)
    value = expression.predict().run()
    with np.errstate(all="ignore"):
        wanted = np.asarray(example.plain(np, *example.operands))
    says(expression, wanted)
    assert np.asarray(value).dtype == wanted.dtype
    greatest = max(1.0, float(np.max(np.abs(wanted), initial=0.0, where=np.isfinite(wanted))))
    assert_allclose(value, wanted, rtol=1e-13, atol=1e-14 * greatest)  # sums round by their greatest terms


@pytest.mark.parametrize("name", SUBJECTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@examples(6)
@given(data=st.data())
def test_shape_and_dtype_are_known_when_built(
    name: str, dtype: type[np.floating[Any]], data: st.DataObject
) -> None:
    example = drawn(name, data)
    operands = [x.astype(dtype) for x in example.operands]
    weights = [weight_of(x) for x in operands]
    for xs in (operands, weights, [w + 0.0 for w in weights]):
        expression = example.call(*xs)
        says(expression, expression.predict().run())


@pytest.mark.parametrize("name", [name for name, subject in SUBJECTS.items() if subject.floats])
@examples(6)
@given(data=st.data())
def test_numbers_have_the_value_and_the_type_of_their_column(name: str, data: st.DataObject) -> None:
    numbers = tuple(data.draw(x) for x in SUBJECTS[name].floats or ())
    arrays = tuple(np.asarray(x) for x in numbers)
    call = getattr(wg, name)
    double = call(*numbers)
    value = double.predict().run()
    says(double, value)
    assert type(value) is (np.ndarray if isinstance(double, wg.Mask) else float)
    assert_allclose(value, call(*arrays).predict().run(), rtol=1e-15)
    single = call(*map(np.float32, numbers))
    value = single.predict().run()
    says(single, value)
    assert type(value) is (np.ndarray if isinstance(single, wg.Mask) else np.float32)


@pytest.mark.parametrize("name", SUBJECTS)
@examples(6)
@given(data=st.data())
def test_operands_are_left_as_they_were(name: str, data: st.DataObject) -> None:
    example = drawn(name, data)
    before = [x.copy() for x in example.operands]
    weights = [weight_of(x) for x in example.operands]
    for xs in (example.operands, weights):
        value = example.call(*xs).predict().run()
        if isinstance(value, np.ndarray) and value.size and value.dtype != np.bool:
            value += value.dtype.type(1)  # the result is the caller's own
    for x, w, kept in zip(example.operands, weights, before, strict=True):
        assert np.array_equal(x, kept, equal_nan=True)
        assert np.array_equal(w.data, kept, equal_nan=True)
