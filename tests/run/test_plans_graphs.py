"""Random graphs by a plan and by the interpreter, and the small ones in which a plan has been wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.often import few
from tests.run.attacked import OPTIMIZERS, alike, interruptions, near, none_interrupted
from tests.run.counting import Boom, Counted
from tests.run.drawn import network
from tests.run.planned import eager, plain
from wengert.graph.order import below
from wengert.plugins import SGD

NAMES = sorted(OPTIMIZERS)


@pytest.mark.parametrize("seed", few(range(160), 8, 60))
def test_random_graphs_train_alike(seed: int) -> None:
    alike(network(seed, OPTIMIZERS[NAMES[seed % len(NAMES)]]), steps=5)


@pytest.mark.nightly
@pytest.mark.parametrize("hundred", range(2, 30))
def test_thousands_of_random_graphs_train_alike(hundred: int) -> None:
    for seed in range(hundred * 100, hundred * 100 + 100):
        alike(network(seed, OPTIMIZERS[NAMES[seed % len(NAMES)]]), steps=5)


@pytest.mark.parametrize("seed", few(range(1000, 1060), 4, 20))
def test_random_graphs_have_the_same_data_and_gradients(seed: int) -> None:
    executor, plans = eager()
    _, loss = network(seed, OPTIMIZERS["SGD"])()
    with none_interrupted():
        for step in range(4):
            x = loss(step)
            near([np.array(x.predict().run(executor))], [np.array(x.predict().run(plain()))])
            nodes, used = below(x, {})
            inner = [node for node in nodes if node.kind.trainable][seed % 5 :: 7]
            for wrt in ([*used, x, *inner], used[:2]):
                found, wanted = (wg.gradients(x, wrt).run(by) for by in (executor, plain()))
                near([*map(np.array, found)], [*map(np.array, wanted)])
    assert plans.made == 3


# Any in all: networks are weights and a loss of every column


def rates(rate: float, *data: Any) -> list[Any]:
    settings = SGD(learning_rate=rate)
    return [settings.array_weight(np.asarray(x, np.float64)) for x in data]


def two_tables() -> tuple[Sequence[Any], Any]:
    """The rows of one are changed after those of the other have been computed."""
    a, b = rates(0.1, np.zeros((5, 3)), np.zeros((5, 3)))
    x: Any = np.arange(6.0).reshape(2, 3)
    rows = [0, 1]

    def loss(i: int) -> Any:
        chosen = wg.where(x > 2.0 + i, wg.take(a, rows, axis=0), 0.0) * x
        return wg.sum(chosen + wg.take(b, rows, axis=0) * (x * 10.0 + 1.0))

    return (a, b), loss


def steps_that_are_other_weights() -> tuple[Sequence[Any], Any]:
    """With a rate of 1 each weight's step is the other's data, not a copy of them."""
    a, b = rates(1.0, [1.0, 2.0], [3.0, 5.0])
    return (a, b), lambda i: a @ b


def steps_that_are_views_of_other_weights() -> tuple[Sequence[Any], Any]:
    a, b = rates(1.0, [[1.0, 2.0]], [[3.0], [5.0]])
    return (a, b), lambda i: wg.squeeze(wg.permute_dims(b, (1, 0)) @ wg.permute_dims(a, (1, 0)), axis=(0, 1))


def a_loss_that_is_a_view() -> tuple[Sequence[Any], Any]:
    """What is given to the user is the data before the update."""
    (w,) = rates(0.5, [1.0])
    return (w,), lambda i: wg.squeeze(w, axis=0)


def sums_along_several_axes() -> tuple[Sequence[Any], Any]:
    """Calls that differ in nothing but an option, or in the type of a constant."""
    (w,) = rates(0.1, np.arange(9.0).reshape(3, 3) / 7)

    def loss(i: int) -> Any:
        h = wg.tanh(w)
        along = [
            f(h, axis=a, keepdims=k) for f in (wg.sum, wg.max) for a in (0, 1, (0, 1)) for k in (False, True)
        ]
        total = wg.sum(wg.pad(h, ((0, 1), (0, 1)), value=1.0)) * wg.sum(
            wg.pad(h, ((1, 0), (1, 0)), value=0.5)
        )
        for x in along:
            total = total + wg.sum(wg.square(x) * (1.0 + i))
        return total

    return (w,), loss


def sums_in_place_with_a_view() -> tuple[Sequence[Any], Any]:
    (w,) = rates(0.1, np.arange(9.0).reshape(3, 3) / 7)

    def loss(i: int) -> Any:
        h = wg.exp(w)
        h = h + wg.permute_dims(h, (1, 0))
        h = h * h[::-1] + wg.reshape(h[1:, :], (2, 3))[0]
        return wg.sum(wg.softmax(h) * h[:, ::-1])

    return (w,), loss


def infinite_lines() -> tuple[Sequence[Any], Any]:
    (w,) = rates(0.1, [[1.0, 2.0, 3.0], [4.0, np.inf, 5.0], [-np.inf, -np.inf, -np.inf], [np.nan, 1.0, 2.0]])
    finite = np.array([[1.0], [0.0], [0.0], [0.0]])

    def loss(i: int) -> Any:
        parts = (wg.softmax(w), wg.log_softmax(w), wg.logsumexp(w, axis=1, keepdims=True))
        each = wg.cross_entropy(w, [1, 1, 1, 1], reduction="none")
        total = wg.sum(wg.where(finite > 0, wg.expand_dims(each, axis=-1), 0.0))
        for x in parts:
            total = total + wg.sum(wg.where(finite > 0, x, 0.0))
        return total

    return (w,), loss


def numbers_and_arrays() -> tuple[Sequence[Any], Any]:
    settings = SGD(learning_rate=1.0)
    a, w = settings.double_weight(2.0), settings.array_weight(np.ones(3))
    return (a, w), lambda i: wg.sum(w * a) * 0.25 + a * a * 0.5


CASES = [
    *(two_tables, steps_that_are_other_weights, steps_that_are_views_of_other_weights, a_loss_that_is_a_view),
    *(sums_along_several_axes, sums_in_place_with_a_view, infinite_lines, numbers_and_arrays),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_graphs_that_were_wrong(case: Any) -> None:
    alike(case, worth=1)


@pytest.mark.parametrize("function", [wg.softmax, wg.log_softmax, wg.logsumexp])
def test_infinities_are_those_of_the_interpreter(function: Any) -> None:
    executor, _ = eager()
    x = np.array([[np.inf, 0.0], [-np.inf, -np.inf], [np.nan, 1.0], [-np.inf, 0.0], [np.inf, -np.inf]])
    for axis in (0, 1):
        (w,) = rates(0.0, x)
        wanted = function(w, axis=axis).predict().run(plain())
        for _ in range(2):
            np.testing.assert_array_equal(function(w, axis=axis).predict().run(executor), wanted)


def test_the_comparison_finds_a_difference() -> None:
    made = []

    def differing() -> tuple[Sequence[Any], Any]:
        (w,) = rates(0.1, [1.0])
        made.append(w)
        return (w,), lambda i: wg.sum(w * float(len(made)))

    with pytest.raises(AssertionError):
        alike(differing)


def test_a_plan_that_gives_up_is_noticed() -> None:
    counted = Counted()
    executor, _ = eager()
    (w,) = rates(0.1, [1.0])
    wg.sum(counted.apply(w)).train().run(executor)
    counted.forward_failure = Boom
    with interruptions() as found, pytest.raises(Boom):
        wg.sum(counted.apply(w)).train().run(executor)
    assert len(found) == 1
    with pytest.raises(AssertionError, match="Boom"), none_interrupted(), pytest.raises(Boom):
        wg.sum(counted.apply(w)).train().run(executor)
