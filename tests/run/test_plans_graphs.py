"""Random graphs by a plan and by the interpreter, and the small ones in which a plan has been wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.often import few
from tests.run.attacked import OPTIMIZERS, alike, interruptions, none_interrupted
from tests.run.counting import Boom, Counted
from tests.run.drawn import network
from tests.run.planned import eager, plain, same
from wengert.graph.order import below
from wengert.plugins import SGD

NAMES = sorted(OPTIMIZERS)


@pytest.mark.parametrize("seed", few(range(160), 8, 60))
def test_random_graphs_train_alike(seed: int) -> None:
    """Literals of any layout have one plan, and those in C order, if all are, another one."""
    plans = alike(network(seed, OPTIMIZERS[NAMES[seed % len(NAMES)]]), steps=5, plans=None)
    assert 1 <= plans.made <= 2


@pytest.mark.nightly
@pytest.mark.parametrize("hundred", range(2, 30))
def test_thousands_of_random_graphs_train_alike(hundred: int) -> None:
    for seed in range(hundred * 100, hundred * 100 + 100):
        alike(network(seed, OPTIMIZERS[NAMES[seed % len(NAMES)]]), steps=5, plans=None)


@pytest.mark.parametrize("seed", few(range(1000, 1060), 4, 20))
def test_random_graphs_have_the_same_data_and_gradients(seed: int) -> None:
    executor, plans = eager()
    _, loss = network(seed, OPTIMIZERS["SGD"])()
    with none_interrupted():
        for step in range(4):
            x = loss(step)
            same([np.array(x.predict().run(executor))], [np.array(x.predict().run(plain()))])
            nodes, used = below(x, {})
            inner = [node for node in nodes if node.kind.trainable][seed % 5 :: 7]
            for wrt in ([*used, x, *inner], used[:2]):
                found, wanted = (wg.gradients(x, wrt).run(by) for by in (executor, plain()))
                same([*map(np.array, found)], [*map(np.array, wanted)])
    assert 3 <= plans.made <= 6


# Any in all: networks are weights and a loss of every column


def rates(rate: float, *data: Any) -> list[Any]:
    settings = SGD(learning_rate=rate)
    return [settings.array_weight(np.asarray(x, np.float64)) for x in data]


@pytest.mark.parametrize("function", [wg.softmax, wg.log_softmax, wg.logsumexp])
def test_infinities_are_those_of_the_interpreter(function: Any) -> None:
    executor, _ = eager()
    x = np.array([[np.inf, 0.0], [-np.inf, -np.inf], [np.nan, 1.0], [-np.inf, 0.0], [np.inf, -np.inf]])
    for axis in (0, 1):
        (w,) = rates(0.0, x)
        wanted = function(w, axis=axis).predict().run(plain())
        for _ in range(2):
            np.testing.assert_array_equal(function(w, axis=axis).predict().run(executor), wanted)


def test_literals_of_another_layout_have_a_plan_of_their_own() -> None:
    """Where the axes of a literal lie decides how sums of what is made of it are rounded."""
    chance = np.random.default_rng(0)
    given = [chance.standard_normal((40, 30)).astype(np.float32) for _ in range(12)]
    layouts = [np.asfortranarray(x) if i % 3 == 2 else x for i, x in enumerate(given)]

    def trained(executor: Any) -> list[bytes]:
        (a,) = [SGD(learning_rate=0.01).array_weight(np.ones(30, np.float32))]
        return [wg.sum(wg.square(a + x)).train().run(executor).tobytes() for x in layouts]

    def predicted(executor: Any) -> list[bytes]:
        a = SGD(learning_rate=0.01).array_weight(given[0])
        loss = wg.sum(wg.square(a + 1.5))
        return [loss.predict(at={a: x}).run(executor).tobytes() for x in layouts]

    executor, plans = eager()
    assert trained(executor) == trained(plain())
    assert plans.made == 2
    assert predicted(executor) == predicted(plain())
    assert plans.made == 3


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_column_times_the_delta_of_a_loss_is_no_column(dtype: Any) -> None:
    """A product by 1 is left out of plans where it changes nothing: a column has gaps, its product has none."""

    def trained(executor: Any) -> list[bytes]:
        settings, chance = SGD(learning_rate=0.01), np.random.default_rng(0)
        data: list[Any] = [chance.standard_normal(n).astype(dtype) for n in ((4000, 3), (4000,))]
        w, x = map(settings.array_weight, data)
        shift = settings.float_weight(0.5) if dtype is np.float32 else settings.double_weight(0.5)
        for _ in range(4):
            ((x + shift) @ w[:, 0]).train().run(executor)
        return [w.data.tobytes(), x.data.tobytes(), np.array(shift.data).tobytes()]

    assert trained(eager()[0]) == trained(plain())


def test_a_product_of_stacks_is_in_c_order_whoever_computes_it() -> None:
    """numpy would lay it out as the axes of its operands lie, and sums of it would be rounded in that order."""

    def trained(executor: Any) -> list[bytes]:
        settings, chance = SGD(learning_rate=0.01), np.random.default_rng(0)
        a, b = (
            settings.array_weight(chance.standard_normal(shape).astype(np.float32))
            for shape in ((7, 6, 11, 5), (5, 9))
        )
        losses = []
        for _ in range(6):
            y = wg.permute_dims(a, (1, 0, 2, 3)) @ b
            losses.append(
                (wg.mean(wg.square(y - wg.mean(y))) + 0.01 * wg.sum(y)).train().run(executor).tobytes()
            )
        return [*losses, a.data.tobytes(), b.data.tobytes()]

    assert trained(eager()[0]) == trained(plain())


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
    for _ in range(2):  # by the interpreter, and by the plan, which goes where its first run fails
        wg.sum(counted.apply(w)).train().run(executor)
    counted.forward_failure = Boom
    with interruptions() as found, pytest.raises(Boom):
        wg.sum(counted.apply(w)).train().run(executor)
    assert len(found) == 1
    with pytest.raises(AssertionError, match="Boom"), none_interrupted(), pytest.raises(Boom):
        wg.sum(counted.apply(w)).train().run(executor)
