"""Networks of equal branches for tests of stacking, and a look at what a plan has stacked.

Knows: how many branches there are, and what they share.
Refuses to know: who runs them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import add
from typing import Any

import numpy as np

import wengert as wg
from tests.run.drawn import Draw
from tests.run.planned import Watched
from wengert.plugins import SGD
from wengert.run import Sequential

# Any in all: weights and expressions of every column

BATCH, WIDTH, CLASSES = 4, 6, 3


class Heads:
    """A trunk and so many classifiers on it, each loss times a number."""

    def __init__(self, settings: Any, branches: int = 6, dtype: Any = np.float32, seed: int = 0) -> None:
        chance = np.random.default_rng(seed)

        def array(*shape: int) -> Any:
            return chance.uniform(-1, 1, shape).astype(dtype)

        self.dtype = dtype
        self.trunk = settings.array_weight(array(5, WIDTH))
        self.heads = [
            [settings.array_weight(array(*shape)) for shape in ((WIDTH, WIDTH), (WIDTH,), (WIDTH, CLASSES))]
            for _ in range(branches)
        ]

    @property
    def weights(self) -> list[Any]:
        return [self.trunk, *(w for head in self.heads for w in head)]

    def hidden(self, step: int) -> Any:
        x = np.random.default_rng(step).uniform(-1, 1, (BATCH, 5)).astype(self.dtype)
        return wg.relu(x @ self.trunk)

    def loss_of(self, head: Sequence[Any], h: Any, step: int, at: int) -> Any:
        w, b, v = head
        labels = np.random.default_rng((step, at)).integers(0, CLASSES, BATCH)
        return wg.cross_entropy(wg.tanh(h @ w + b) @ v, labels)

    def loss(self, step: int) -> Any:
        h = self.hidden(step)
        losses = [
            self.loss_of(head, h, step, at) * float((at + step) % 3) for at, head in enumerate(self.heads)
        ]
        return reduce(add, losses)


def heads(settings: Callable[[], Any] = lambda: SGD(learning_rate=0.1), **sizes: Any) -> Any:
    """A network of heads, made anew each time it is asked for."""

    def network() -> Any:
        made = Heads(settings(), **sizes)
        return made.weights, made.loss

    return network


def repeated(seed: int, branches: int, settings: Callable[[], Any]) -> Any:
    """A random network several times, each with weights of its own, on one that all share."""

    def network() -> Any:
        one = settings()
        drawn = [Draw(seed, one) for _ in range(branches)]
        shared = one.double_weight(0.25) if drawn[0].dtype is np.float64 else one.float_weight(0.25)
        weights = [w for d in drawn for w in (*d.weights, *d.tables, d.double)]

        def loss(step: int) -> Any:
            return reduce(add, [d.loss(10 * step + at) * shared for at, d in enumerate(drawn)])

        return [*weights, shared], loss

    return network


def stacks(plans: Watched) -> int:
    """How many arrays with the data of several weights the plans have."""
    return sum(len(plan.homes) for plan in plans._plans.items())


def single() -> tuple[Sequential, Watched]:
    """An interpreter whose plans leave each call to itself."""
    executor, plans = Sequential(), Watched(1)
    plans._stacked = False
    executor.engine = executor.engine._replace(plans=plans)
    return executor, plans
