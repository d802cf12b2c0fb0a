"""A plan fits an expression exactly where everything that was shared is shared, and nothing else is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.run.planned import eager
from wengert.graph.weights import DoubleWeight
from wengert.plugins import SGD
from wengert.plugins.optimizer import Optimizer
from wengert.run.compiled.binder import binder

Loss = wg.ArrayLayer[tuple[()], np.float64]
Weights = tuple[wg.ArrayWeight[tuple[int], np.float64], wg.ArrayWeight[tuple[int], np.float64]]
Array = Any  # a weight or a layer
SETTINGS = SGD(learning_rate=0.1)


def _weights() -> Weights:
    return SETTINGS.array_weight(np.arange(3.0)), SETTINGS.array_weight(np.arange(3.0) + 1)


def _two_nodes(w: Weights) -> Loss:
    return wg.sum(wg.exp(w[0]) * wg.exp(w[0]))


def _one_node(w: Weights) -> Loss:
    x = wg.exp(w[0])
    return wg.sum(x * x)


def _two_weights(w: Weights) -> Loss:
    return wg.sum(wg.exp(w[0]) * wg.exp(w[1]))


def _two_chains(w: Weights) -> Loss:
    return wg.sum(wg.sin(wg.exp(w[0])) * wg.sin(wg.exp(w[0])))


def _chains_that_meet(w: Weights) -> Loss:
    x = wg.exp(w[0])
    return wg.sum(wg.sin(x) * wg.sin(x))


def _two_literals(w: Weights) -> Loss:
    return wg.sum((w[0] * 2.0) * (w[0] * 3.0))


def _one_literal(w: Weights) -> Loss:
    x = w[0] * 2.0
    return wg.sum(x * x)


STRUCTURES = (
    *(_two_nodes, _one_node, _two_weights, _two_chains, _chains_that_meet),
    *(_two_literals, _one_literal),
)


@pytest.mark.parametrize("first", STRUCTURES)
@pytest.mark.parametrize("second", STRUCTURES)
def test_a_plan_of_one_structure_is_used_for_no_other(
    first: Callable[[Weights], Loss], second: Callable[[Weights], Loss]
) -> None:
    executor, plans = eager()
    first(_weights()).train().run(executor)
    made = plans.made
    again = _weights()
    second(again).train().run(executor)
    assert (plans.made > made) == (first is not second)
    alone = _weights()
    second(alone).train().run(wg.run.Sequential(compiled=False))
    for w, v in zip(again, alone, strict=True):
        np.testing.assert_array_equal(w.data, v.data, strict=True)


class _Halved(Optimizer[SGD]):
    """Another step for the same settings."""


@pytest.mark.parametrize(("settings", "cls"), [(SGD(learning_rate=0.1), Optimizer), (SETTINGS, _Halved)])
def test_a_plan_that_makes_steps_is_for_their_settings_and_class_of_optimizer(
    settings: SGD, cls: type[Optimizer[SGD]]
) -> None:
    def weight(settings: SGD, cls: type[Optimizer[SGD]]) -> DoubleWeight:
        return DoubleWeight(2.0, cls(settings))

    w = weight(SETTINGS, Optimizer)
    y = w * 3.0
    stepping, plain = binder([y], [w], stepped=[w]), binder([y], [w])
    other = weight(settings, cls)
    assert stepping(other * 3.0) is None
    assert plain(other * 3.0) == ((other,), (other.ref,), (3.0,), ())
    same = weight(SETTINGS, Optimizer)
    assert stepping(same * 3.0) == ((same,), (same.ref,), (3.0,), ())


def _times(w: Array) -> Callable[[Array], Array]:
    return wg.cell(lambda x: x * w)


class TestWeightsOfACell:
    """A signature tells which weights its calls have: nobody looks at them again."""

    def test_they_are_where_they_were_among_others(self) -> None:
        w, v = _weights()
        step = _times(w)
        executor, plans = eager()
        for other, planned in ((v, False), (_weights()[0], True), (w, False)):
            made = plans.made
            loss = wg.sum(step(wg.exp(other)) * other)
            expected = loss.predict().run(wg.run.Sequential(compiled=False))
            assert loss.train().run(executor) == expected
            assert (plans.made == made) == planned  # one that is the cell's own is another structure

    def test_a_cell_with_other_weights_is_another(self) -> None:
        executor, plans = eager()
        for made in (1, 2):
            w, v = _weights()
            step = _times(w)
            for _ in range(3):
                wg.sum(step(v)).train().run(executor)
            assert plans.made == made
