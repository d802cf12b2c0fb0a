"""Cells drawn at random for examples of unlike sizes, among them one row: values and derivatives of each by itself.

Knows: that a batch which has to go one by one without a failure of its own says so in the report.
Refuses to know: which cells have a common table.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import run
from wengert.graph.kinds import Column
from wengert.plugins import SGD

Layer = Any  # an array expression of any shape
SIZES = (1, 1, 2, 3, 4)


class Drawn:
    """One cell, made of steps that each take what fits of the values before, and examples for it."""

    def __init__(self, seed: int) -> None:
        self.chance, self.numbers = random.Random(seed), np.random.default_rng(seed)
        self.width = self.chance.choice((1, 2, 3))
        d, settings = self.width, SGD(learning_rate=0.1)
        shapes = ((d, d), (d,), (4, d), (1, d), (d, 1))
        self.weights: tuple[Layer, ...] = tuple([settings.array_weight(self.array(*s)) for s in shapes])
        self.literals = [self.array(*shape) for shape in ((d,), (1, d), (2, d), ())]
        steps = self.chance.randrange(1, 9)
        self.steps = [(self.chance.choice(STEPS), *self.places()) for _ in range(steps)]
        self.results = self.chance.randrange(1, 4)
        self.tables = self.chance.randrange(1, 4)

    def array(self, *shape: int) -> Any:  # Any: of any shape
        return np.asarray(self.numbers.normal(size=shape))

    def places(self) -> tuple[float, float, float]:
        return self.chance.random(), self.chance.random(), self.chance.random()

    def body(self, *given: Layer) -> Layer:
        pool = list(given)
        for step, u, v, w in self.steps:
            arrays = [x for x in pool if x.kind.column is Column.ARRAY]
            indices = [x for x in pool if x.kind.column is Column.INDEX]
            x, y, i = (some[int(u * len(some))] for some, u in ((arrays, u), (arrays, v), (indices, w)))
            try:
                made = step(self, x, y, i, w)
            except (wg.errors.WengertError, IndexError):  # for such shapes it has no meaning
                continue
            pool.append(wg.tanh(made) if w < 0.4 else made)
        found = [x for x in pool if x.kind.column is Column.ARRAY][: -self.results - 1 : -1]
        return tuple(found) if len(found) > 1 else found[0]

    def example(self) -> list[Any]:  # Any: expressions and integers
        sizes = [self.chance.choice(SIZES) for _ in range(self.tables)]
        tables = [wg.lift(self.array(n, self.width)) * self.weights[1] for n in sizes]
        ends = self.numbers.integers(min(*sizes, self.width), size=self.chance.choice(sizes))
        return [*tables, ends]

    def values(self) -> list[Layer]:
        cell = wg.cell(self.body)
        made = [cell(*self.example()) for _ in range(self.chance.randrange(2, 7))]
        return [x for several in made for x in (several if isinstance(several, tuple) else (several,))]


Step = Callable[[Drawn, Layer, Layer, Layer, float], Layer]


def axis(w: float, rank: int = 2) -> int:
    return int(w * (rank + 1)) - 1


STEPS: tuple[Step, ...] = (
    lambda d, x, y, i, w: wg.tanh(x @ d.weights[0]),
    lambda d, x, y, i, w: wg.tanh(x) + d.weights[1],
    lambda d, x, y, i, w: x + d.weights[3],
    lambda d, x, y, i, w: x @ d.weights[4],
    lambda d, x, y, i, w: x + y,
    lambda d, x, y, i, w: x * y,
    lambda d, x, y, i, w: wg.where(wg.greater(x, y), x, y * 0.5),
    lambda d, x, y, i, w: wg.sum(x, axis=axis(w), keepdims=w < 0.5),
    lambda d, x, y, i, w: wg.mean(x, axis=axis(w), keepdims=w < 0.5),
    lambda d, x, y, i, w: wg.max(x, axis=axis(w)),
    lambda d, x, y, i, w: wg.logsumexp(x, axis=axis(w)),
    lambda d, x, y, i, w: wg.softmax(x, axis=0 if w < 0.5 else -1),
    lambda d, x, y, i, w: wg.log_softmax(x, axis=0) * 0.2,
    lambda d, x, y, i, w: wg.square(x) - wg.mean(x),
    lambda d, x, y, i, w: wg.take(x, i),
    lambda d, x, y, i, w: wg.take(d.weights[2], i),
    lambda d, x, y, i, w: wg.segment_sum(x, i, num_segments=y.shape[0]),
    lambda d, x, y, i, w: wg.segment_max(x, i, num_segments=y.shape[0]),
    lambda d, x, y, i, w: wg.cross_entropy(x, i, reduction=("mean", "sum", "none")[int(w * 3)]),
    lambda d, x, y, i, w: x[axis(w, 1)],
    lambda d, x, y, i, w: x[int(w * 3) :],
    lambda d, x, y, i, w: x[::2],
    lambda d, x, y, i, w: wg.concat((x, y), axis=axis(w, 1)),
    lambda d, x, y, i, w: wg.stack((x, y), axis=axis(w)),
    lambda d, x, y, i, w: wg.clip(x, -0.5, 0.5),
    lambda d, x, y, i, w: x * d.literals[int(w * 4)],
)


def told(asked: wg.Do[Any], executor: Any) -> Any:  # Any: what is asked, executors, the name of a failure
    try:
        return asked.run(executor)
    except Exception as failure:
        return type(failure).__name__


def agrees(seed: int) -> None:
    values = (drawn := Drawn(seed)).values()
    total: Layer = wg.sum(drawn.weights[1])
    for number, x in enumerate(values):
        total = total + wg.sum(wg.square(x)) * (0.3 + 0.1 * (number % 3))
    slopes, batched = wg.gradients(total, drawn.weights), run.Batched()
    failed = False
    for asked in (wg.predict(tuple(values)), wg.predict((total,)), slopes):
        right, ours = told(asked, run.Sequential()), told(asked, batched)
        if isinstance(right, str):
            failed = True
            assert isinstance(ours, str)
            continue
        for a, b in zip(right, ours, strict=True):
            assert np.shape(a) == np.shape(b)
            np.testing.assert_allclose(b, a, rtol=1e-9, atol=1e-9)
    assert failed or "one by one" not in str(batched.report)


@pytest.mark.parametrize("seeds", [range(start, start + 20) for start in range(0, 100, 20)])
def test_drawn_cells_of_unlike_sizes(seeds: range) -> None:
    for seed in seeds:
        agrees(seed)


@pytest.mark.nightly
def test_many_drawn_cells_of_unlike_sizes() -> None:
    for seed in range(100, 3000):
        agrees(seed)
