"""An expression of cells that is too long for a plan runs by programs of its parts, and gives the same bits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import wengert as wg
from tests.optimizers import WithAdam
from tests.run.planned import eager, plain, same
from wengert.plugins import SGD
from wengert.run import Parallel, Sequential
from wengert.run.compiled import compiler, plans, segment
from wengert.run.compiled.segment import Segment, SegmentRun

# Any: settings, weights and expressions of every column


@contextmanager
def short(most: int = 40, part: int = 12) -> Generator[Counter[str]]:
    """Plans have so many operations at most, and parts so many; counts what is made of parts, and what runs."""
    counts: Counter[str] = Counter()

    def counted(name: str, usual: Any) -> Any:
        def call(*arguments: Any) -> Any:
            found = usual(*arguments)
            counts[name] += found is not None
            return found

        return call

    with (
        patch.object(plans, "MOST", most),
        patch.object(segment, "MOST", most),
        patch.object(segment, "_PART", part),
        patch.object(compiler, "traced_segment", counted("made", compiler.traced_segment)),
        patch.object(compiler, "traced_backward", counted("made", compiler.traced_backward)),
        patch.object(Segment, "evaluate", counted("forward", Segment.evaluate)),
        patch.object(SegmentRun, "send", counted("backward", SegmentRun.send)),
    ):
        yield counts


class Numbers:
    """A sum of calls of a cell that uses all weights."""

    def __init__(self, settings: Any) -> None:
        self.weights = weights = [settings.double_weight(0.3 + 0.1 * i) for i in range(3)]

        @wg.cell
        def one(x: wg.DoubleLayer) -> wg.DoubleLayer:
            for w in weights:
                x = x * w + w
            return x

        self.one = one

    def loss(self, i: int, calls: int = 9) -> Any:
        y: Any = self.one(wg.lift(0.5 + i))
        for k in range(1, calls):
            y = y + self.one(wg.lift(0.1 * k)) * self.weights[k % 3]
        return y


class Arrays:
    """A chain of calls of a cell with two results; a product whose delta is lazy, and one weight used outside, too."""

    def __init__(self, settings: Any) -> None:
        chance = np.random.default_rng(0)
        self.weights = [settings.array_weight(chance.standard_normal((4, 4)) / 2) for _ in range(2)]
        self.weights.append(settings.double_weight(0.5))
        a, b, c = self.weights

        @wg.cell
        def step(h: Any, x: Any) -> Any:
            z = wg.tanh(h @ a + x * c)
            return z, wg.relu(z @ b) - x

        self.step = step

    def loss(self, i: int, calls: int = 9) -> Any:
        chance = np.random.default_rng(i)
        h: Any = wg.lift(chance.standard_normal((3, 4)))
        total: Any = wg.mean(h)
        for _ in range(calls):
            h, y = self.step(h, chance.standard_normal((3, 4)))
            total = total + wg.mean(y * y) * self.weights[2]
        return total + wg.sum(self.weights[0] * 0.1)


NETWORKS: list[Any] = [Numbers, Arrays]
SETTINGS: list[Any] = [SGD, WithAdam]


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("network", NETWORKS)
def test_training_is_that_of_the_interpreter(network: Any, settings: Any) -> None:
    ours, theirs = (network(settings(learning_rate=0.01)) for _ in range(2))
    executor, plans = eager(worth=2)
    with short() as counts:
        for i in range(24):
            before = counts["made"]
            same(
                [np.array(ours.loss(i).train().run(executor))],
                [np.array(theirs.loss(i).train().run(plain()))],
            )
            assert counts["made"] - before <= 1, "no run stands still for several programs"
            if i in (0, 23):
                assert (counts["forward"] == 0) == (i == 0)
        counts.clear()
        same([np.array(ours.loss(0).train().run(executor))], [np.array(theirs.loss(0).train().run(plain()))])
    same([np.array(w.data) for w in ours.weights], [np.array(w.data) for w in theirs.weights])
    assert counts["forward"] == counts["backward"] > 3, "all of it, there and back"
    assert counts["made"] == plans.made == 0


@pytest.mark.parametrize("network", NETWORKS)
def test_predictions_and_gradients_too(network: Any) -> None:
    net, (executor, _) = network(SGD(learning_rate=0.0)), eager(worth=2)
    with short() as counts:
        for i in range(16):
            x = net.loss(i)
            same([np.array(x.predict().run(executor))], [np.array(x.predict().run(plain()))])
            wrt = (net.weights[0], net.weights[2])
            ours, theirs = wg.gradients(x, wrt).run(executor), wg.gradients(x, wrt).run(plain())
            same(list(map(np.array, ours)), list(map(np.array, theirs)))
        assert counts["forward"] > 0
        assert counts["backward"] > 0


def test_the_default_and_threads_do_so_after_eight_runs() -> None:
    executors: list[Any] = [Sequential(), Parallel(threads=2)]
    for executor in executors:
        ours, theirs = (Numbers(SGD(learning_rate=0.01)) for _ in range(2))
        with short() as counts:
            for i in range(20):
                assert ours.loss(i).train().run(executor) == theirs.loss(i).train().run(plain())
                assert (counts["made"] > 0) == (i >= 7)
        assert counts["backward"] > 0


def test_an_expression_without_cells_is_left_to_the_interpreter() -> None:
    executor, plans = eager()
    w = SGD(learning_rate=0.0).double_weight(0.5)
    with short() as counts:
        for _ in range(4):
            x = w * 1.0
            for _ in range(60):
                x = x * w
            x.train().run(executor)
    assert not counts
    assert plans.made == 0


def test_a_failure_in_a_part_changes_nothing_and_says_where() -> None:
    executor, _ = eager(worth=2)
    net = Numbers(SGD(learning_rate=0.01))
    with short() as counts:
        for i in range(20):
            net.loss(i).train().run(executor)
        assert counts["backward"] > 0
        before = [w.data for w in net.weights]
        failing = patch.object(SegmentRun, "send", side_effect=MemoryError("none left"))
        with failing, pytest.raises(MemoryError):
            net.loss(0).train().run(executor)
        assert [w.data for w in net.weights] == before
        net.loss(0).train().run(executor)
        assert [w.data for w in net.weights] != before


def test_parts_follow_each_other_and_are_as_long_as_said() -> None:
    net = Numbers(SGD(learning_rate=0.0))
    nodes, _ = wg.graph.order.below(net.loss(0), ())
    with patch.object(segment, "_PART", 12):
        parts = [*segment.cut(nodes)]
    assert [node for part in parts for node in part] == nodes
    assert len(parts) > 3
    assert all(segment.operations(part) <= 12 for part in parts)
    assert [len(part) for part in segment.cut(nodes)] == [len(nodes)]
