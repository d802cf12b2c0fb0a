"""Every derivative in full Jacobian, on generated operands, in every column and every mix (bars 1 and 2)."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import wengert as wg
from tests.often import examples
from wengert.plugins import SGD
from wengert.testing import check_gradients
from wengert.testing.gradients import deltas_at_layers, deltas_at_weights

from .subjects import CONSTANT, DIFFERENTIABLE, SUBJECTS, Example, Subject

SETTINGS = SGD(learning_rate=0.1)
PAIRS = [
    name for name in DIFFERENTIABLE if name in ("matmul", "where") or len(SUBJECTS[name].floats or ()) == 2
]
SCALARS = [name for name in DIFFERENTIABLE if SUBJECTS[name].floats]


def check(subject: Subject, example: Example) -> None:
    found = check_gradients(example.call, *example.operands)
    if subject.method == "complex step":
        assert found.method == "complex step"


@pytest.mark.parametrize("name", DIFFERENTIABLE)
@examples(15, nightly=10_000)
@given(data=st.data())
def test_the_full_jacobian(name: str, data: st.DataObject) -> None:
    check(SUBJECTS[name], data.draw(SUBJECTS[name].examples))


@pytest.mark.parametrize("name", SCALARS)
@examples(10)
@given(data=st.data())
def test_the_derivatives_of_doubles(name: str, data: st.DataObject) -> None:
    numbers = tuple(data.draw(x) for x in SUBJECTS[name].floats or ())
    assert check_gradients(getattr(wg, name), *numbers).elements


@pytest.mark.parametrize("name", PAIRS)
@examples(10)
@given(data=st.data())
def test_every_mix_of_literal_weight_and_layer(name: str, data: st.DataObject) -> None:
    example = data.draw(SUBJECTS[name].examples)
    mixes(example.call, example.operands)


@pytest.mark.parametrize("name", [name for name in PAIRS if name != "matmul"])
@examples(10)
@given(data=st.data())
def test_every_mix_of_numbers_and_arrays(name: str, data: st.DataObject) -> None:
    example = data.draw(SUBJECTS[name].examples)
    array, side = data.draw(st.sampled_from(example.operands)), data.draw(st.sampled_from((0, 1)))
    if name in ("pow", "divide"):
        array = np.asarray(np.abs(array) + 0.25)
    number = 1.5 + 1 / 16  # equal to no element that `maximum` is tested on
    operands = (number, array) if side else (array, number)
    call = getattr(wg, name)
    if name == "where":
        mask = np.asarray(array > 0)

        def call(a: Any, b: Any) -> Any:  # Any: expressions of every column
            return wg.where(mask, a, b)

    check_gradients(call, *operands)
    mixes(call, operands)


def mixes(call: Any, operands: tuple[Any, ...]) -> None:
    """Each of two operands as a literal, a weight or a layer: the deltas are those of two layers."""
    g = np.linspace(1.0, 2.0, np.size(wg.predict(call(*operands)).run())).reshape(
        wg.predict(call(*operands)).run().shape
    )
    wanted = deltas_at_layers(call, operands, g)
    for roles in product(("literal", "weight", "layer"), repeat=2):
        weights = [weight_of(x) for x in operands]
        parts: list[Any] = list(operands)  # Any: literals and expressions
        for i, role in enumerate(roles):
            if role != "literal":
                parts[i] = weights[i] if role == "weight" else weights[i] + 0.0
        result = call(*parts)
        deltas = deltas_at_weights(result, weights, g)
        for delta, want, role, x in zip(deltas, wanted, roles, operands, strict=True):
            assert np.shape(delta) == np.shape(x)
            assert_allclose(delta, np.zeros_like(want) if role == "literal" else want, rtol=1e-12, atol=1e-13)


def weight_of(x: Any) -> Any:
    """Any: a weight of the column of `x`."""
    if isinstance(x, float):
        return SETTINGS.double_weight(x)
    return SETTINGS.float_weight(x) if isinstance(x, np.float32) else SETTINGS.array_weight(x)


@pytest.mark.parametrize("name", SCALARS)
@examples(10)
@given(data=st.data())
def test_floats_stay_float32(name: str, data: st.DataObject) -> None:
    numbers = tuple(data.draw(x) for x in SUBJECTS[name].floats or ())
    call = getattr(wg, name)
    doubles = tuple(SETTINGS.double_weight(x) for x in numbers)
    floats = tuple(SETTINGS.float_weight(x) for x in numbers)
    exact, value = call(*doubles).predict().run(), call(*floats).predict().run()
    assert type(exact) is float
    assert type(value) is np.float32
    assert_allclose(value, exact, rtol=1e-5, atol=1e-6)
    wanted = wg.gradients(call(*doubles), list(doubles)).run()
    deltas = wg.gradients(call(*floats), list(floats)).run()
    assert all(type(delta) is float for delta in wanted)
    assert all(type(delta) is np.float32 for delta in deltas)
    assert_allclose(np.asarray(deltas, np.float64), np.asarray(wanted), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
@examples(8)
@given(data=st.data())
def test_float32_arrays_stay_float32(name: str, data: st.DataObject) -> None:
    example = data.draw(SUBJECTS[name].examples)
    singles = tuple(x.astype(np.float32) for x in example.operands)
    value = wg.predict(example.call(*(weight_of(x) for x in singles))).run()
    assert value.dtype == np.float32
    g = np.linspace(1.0, 2.0, value.size).reshape(value.shape)
    wanted = deltas_at_layers(example.call, example.operands, g)
    weights = [weight_of(x) for x in singles]
    for deltas in (
        deltas_at_layers(example.call, singles, g.astype(np.float32)),
        deltas_at_weights(example.call(*weights), weights, g.astype(np.float32)),
    ):
        for delta, want in zip(deltas, wanted, strict=True):
            assert delta.dtype == np.float32
            assert_allclose(delta, want, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", [name for name in CONSTANT if not name.startswith("logical")])
@examples(8)
@given(data=st.data())
def test_nothing_below_a_constant_gets_a_delta(name: str, data: st.DataObject) -> None:
    example = data.draw(SUBJECTS[name].examples)
    weights = [weight_of(x) for x in example.operands]
    result = example.call(*weights)
    assert not result.kind.trainable
    if isinstance(result, wg.Indices):
        result = wg.astype(result, np.float64)
    if not isinstance(result, wg.Mask):
        for delta, x in zip(wg.gradients(wg.sum(result), weights).run(), example.operands, strict=True):
            assert delta.shape == x.shape
            assert not delta.any()
