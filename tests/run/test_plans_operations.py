"""Every operation by a plan and by the interpreter: the same data, the same weights, in every column and layout."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from tests.often import examples
from tests.ops.subjects import DIFFERENTIABLE, SUBJECTS
from tests.run.attacked import OPTIMIZERS, alike, predicted, weights_of
from tests.run.planned import eager
from wengert.plugins import SGD

FLOATS = [name for name in DIFFERENTIABLE if SUBJECTS[name].floats]


def layer(weight: Any) -> Any:  # Any: of every column
    """The same data as something that is computed, and so may lie in a buffer."""
    return weight * 1.5


def network(call: Any, operands: Any, optimizer: str, role: Any = lambda w: w) -> Any:
    """A loss in which each element of the result counts, and that changes from step to step."""

    def made() -> Any:
        weights = weights_of(OPTIMIZERS[optimizer](), operands)
        parts = list(map(role, weights))

        def loss(i: int) -> Any:
            y = call(*parts)
            if y.kind.column is not wg.extend.Column.ARRAY:
                return y * (1.0 + i)
            return wg.sum(
                y * np.linspace(1.0 + i, 2.0, np.prod(y.shape, dtype=int)).reshape(y.shape).astype(y.dtype)
            )

        return weights, loss

    return made


@pytest.mark.parametrize("name", SUBJECTS)
@examples(6)
@given(data=st.data())
def test_predictions_agree(name: str, data: st.DataObject) -> None:
    example = data.draw(SUBJECTS[name].examples)
    weights = weights_of(OPTIMIZERS["SGD"](), example.operands)
    predicted(example.call(*example.operands))
    if weights:
        predicted(example.call(*weights))
        predicted(example.call(*map(layer, weights)))


@pytest.mark.parametrize("name", DIFFERENTIABLE)
@examples(6)
@given(
    data=st.data(), optimizer=st.sampled_from(sorted(OPTIMIZERS)), role=st.sampled_from((layer, lambda w: w))
)
def test_trainings_agree(name: str, data: st.DataObject, optimizer: str, role: Any) -> None:
    example = data.draw(SUBJECTS[name].examples)
    alike(network(example.call, example.operands, optimizer, role))


@pytest.mark.parametrize("name", DIFFERENTIABLE)
@examples(5)
@given(data=st.data())
def test_trainings_of_float32_agree(name: str, data: st.DataObject) -> None:
    example = data.draw(SUBJECTS[name].examples)
    alike(network(example.call, [x.astype(np.float32) for x in example.operands], "SGD", layer))


@pytest.mark.parametrize("name", DIFFERENTIABLE)
@examples(5)
@given(data=st.data())
def test_each_operand_may_be_the_only_weight(name: str, data: st.DataObject) -> None:
    example = data.draw(SUBJECTS[name].examples)
    for at in range(len(example.operands)):

        def call(w: Any, at: int = at) -> Any:
            return example.call(*example.operands[:at], w, *example.operands[at + 1 :])

        alike(network(call, example.operands[at : at + 1], "SGD"))


@pytest.mark.parametrize("name", FLOATS)
@examples(5)
@given(
    data=st.data(), optimizer=st.sampled_from(sorted(OPTIMIZERS)), column=st.sampled_from((float, np.float32))
)
def test_trainings_of_numbers_agree(name: str, data: st.DataObject, optimizer: str, column: Any) -> None:
    numbers = [column(data.draw(x)) for x in SUBJECTS[name].floats or ()]
    alike(network(getattr(wg, name), numbers, optimizer))


def bent(call: Any) -> Any:  # Any: functions of expressions of every column
    """The same operands in a function of the derivatives."""

    def made(*parts: Any) -> Any:
        total = wg.sum(wg.square(parts[0]))
        for each in wg.gradients(wg.sum(wg.sin(call(*parts))), list(parts)).layers:
            total = total + wg.sum(each * each)
        return total

    return made


@pytest.mark.parametrize("name", DIFFERENTIABLE)
@examples(5)
@given(data=st.data(), role=st.sampled_from((layer, lambda w: w)))
def test_trainings_on_derivatives_agree(name: str, data: st.DataObject, role: Any) -> None:
    example = data.draw(SUBJECTS[name].examples)
    alike(network(bent(example.call), example.operands, "SGD", role))


@pytest.mark.parametrize("name", FLOATS)
@examples(3)
@given(data=st.data(), column=st.sampled_from((float, np.float32)))
def test_trainings_on_derivatives_of_numbers_agree(name: str, data: st.DataObject, column: Any) -> None:
    numbers = [column(data.draw(x)) for x in SUBJECTS[name].floats or ()]
    alike(network(bent(getattr(wg, name)), numbers, "SGD"))


def test_a_rule_may_join_a_list_of_values() -> None:
    """The derivative of `conv2d` by its kernel does."""
    executor, plans = eager()
    kernel = SGD(learning_rate=0.1).array_weight(np.ones((1, 1, 2, 2)))
    x = np.arange(9.0).reshape(1, 1, 3, 3)
    for _ in range(4):
        (delta,) = wg.gradients(wg.sum(wg.conv2d(x, kernel * 2.0)), (kernel,)).run(executor)
        np.testing.assert_array_equal(delta, [[[[16.0, 24.0], [40.0, 48.0]]]])
    assert plans.made == 1
