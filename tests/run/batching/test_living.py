"""Nodes that get no delta run apart from others of their signature, and are what they are one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import run
from wengert.plugins import SGD

Made = Any  # expressions of every kind


def _scaled(a: Made, b: Made) -> Made:
    return wg.tanh(a * b)


CELL: Made = wg.cell(_scaled)
OPERATIONS: dict[str, Callable[[Made, int], Made]] = {
    "take": lambda x, i: wg.take(x, np.array([i % 3, 2, 1])),
    "clip": lambda x, i: wg.clip(x, -0.5, 0.25 * (i + 1)),
    "roll": lambda x, i: wg.roll(x, i),
    "number": lambda x, i: x * (i + 1.0),
    "array": lambda x, i: x + np.full(3, i + 1.0),
    "cell": lambda x, i: CELL(x, np.full(3, i - 1.0)),
    "where": lambda x, i: wg.where(wg.greater(x, 0.1 * i), x, x * 0.5),
    "detached": lambda x, i: wg.stop_gradient(x) * x,
}


def agree(loss: Callable[[], Made], weight: Made) -> None:
    one, many = run.Sequential(compiled=False), run.Batched()
    np.testing.assert_allclose(loss().predict().run(many), loss().predict().run(one), rtol=1e-12)
    (expected,), (found,) = (wg.gradients(loss(), (weight,)).run(executor) for executor in (one, many))
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


def table() -> Made:
    return SGD(learning_rate=0.1).array_weight(np.arange(6.0).reshape(2, 3) / 7)


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
@pytest.mark.parametrize("turn", [1, -1])
def test_they_keep_their_literals(operation: Callable[[Made, int], Made], turn: int) -> None:
    w = table()

    def loss() -> Made:
        got, apart = (operation(w[i], i) for i in (0, 1))
        parts = [wg.sum(got * 3.0), wg.sum(wg.stop_gradient(apart) * w[1])]
        return wg.sum(wg.stack(parts[::turn]))

    agree(loss, w)


@pytest.mark.parametrize("seed", range(30))
def test_random_graphs_agree(seed: int) -> None:
    w = table()

    def loss() -> Made:
        chance = np.random.default_rng(seed)
        examples = []
        for _ in range(chance.integers(2, 6)):
            pool = [wg.lift(chance.normal(size=3)), w[0], w[1]]
            for _ in range(chance.integers(2, 12)):
                operation = [*OPERATIONS.values()][chance.integers(len(OPERATIONS))]
                a, b = (pool[int(i)] for i in chance.integers(0, len(pool), 2))
                pool.append(operation(a, int(chance.integers(4))) * 0.5 + b)
            examples.append(wg.sum(pool[-1] * pool[int(chance.integers(len(pool)))]))
        return wg.sum(wg.stack(examples))

    agree(loss, w)
