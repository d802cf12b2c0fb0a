"""Networks with numbers among their operands, drawn at random: every way to write a number, at many depths.

Knows: which operations take numbers, and that steps of one structure differ in their numbers only.
Refuses to know: who runs them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import wengert as wg
from tests.run.drawn import MAKERS, Draw, Layer, Maker, indexed, joined, small, unary, vector
from wengert.plugins import SGD

OTHER: dict[Any, Any] = {np.float32: np.float64, np.float64: np.float32}
BOUNDS = (wg.add, wg.subtract, wg.multiply, wg.divide, wg.maximum, wg.minimum)
TESTS = (wg.greater, wg.less_equal, wg.equal, wg.not_equal)


@wg.cell
def step(h: Layer, x: Layer) -> Layer:
    """Numbers within a cell, at two depths."""
    return wg.tanh(h * 0.3 + wg.maximum(x * 0.7, 0.1) - 1)


@wg.cell
def pair(h: Layer, x: Layer) -> tuple[Layer, Layer]:
    """A cell of two results, in which a number is both."""
    bounded = wg.clip(h, -0.4, 0.6)
    return wg.tanh(bounded + x * 0.2), wg.where(wg.greater(x, 0.2), bounded, 0.2)


def positive(d: Draw) -> Any:  # Any: a number of one of many types
    """A number between 0.5 and 2, which one node of a column may write as a float, and another as an integer."""
    x = float(d.numbers.uniform(0.5, 2))
    weak = (x, 1, 1.0, True, 2, np.float64(x))[int(d.numbers.integers(6))]
    other: tuple[Any, ...] = (d.dtype(x), np.array(x, d.dtype), wg.lift(d.dtype(x)), d.double)
    return weak if d.chance.random() < 0.7 else d.pick(other)


def number(d: Draw) -> Any:  # Any: as above
    """A number between -2 and 2."""
    x = positive(d)
    return x if d.chance.random() < 0.5 else -x


def beside(d: Draw, pool: list[Layer]) -> Layer:
    f, x, c = d.pick(BOUNDS), d.pick(pool), positive(d)
    if f is wg.divide:
        return small(wg.divide(x, c) if d.chance.random() < 0.5 else wg.divide(c, wg.square(x) + 0.5))
    return f(-c, x) if d.chance.random() < 0.4 else f(x, c)


def powered(d: Draw, pool: list[Layer]) -> Layer:
    base, c = wg.square(d.pick(pool)) + 0.5, positive(d)
    return small(wg.pow(base, c) if d.chance.random() < 0.7 else wg.pow(c, base))


def bounded(d: Draw, pool: list[Layer]) -> Layer:
    return wg.clip(d.pick(pool), -positive(d), d.pick((None, 0.5)))


def chosen(d: Draw, pool: list[Layer]) -> Layer:
    x = d.pick(pool)
    test = (
        d.pick(TESTS)(x, number(d))
        if d.chance.random() < 0.8
        else np.asarray(d.numbers.random(x.shape) < 0.5)
    )
    a, b = (x, number(d)) if d.chance.random() < 0.6 else (number(d), wg.tanh(x))
    return wg.where(test, a, b)


def reduced(d: Draw, pool: list[Layer]) -> Layer:
    f, x = d.pick((wg.sum, wg.mean, wg.max, wg.min, wg.prod, wg.logsumexp, wg.var, wg.std)), d.pick(pool)
    axis = d.pick((None, 0, -1)) if x.shape else None
    options = {"correction": 0.5} if f in (wg.var, wg.std) and d.chance.random() < 0.3 else {}
    return small(f(x, axis=axis, **options))


def together(d: Draw, pool: list[Layer]) -> Layer:
    """Parts that numbers have gone into."""
    x = d.fitting(pool, vector)
    parts = (x, x * number(d), wg.tanh(x + number(d)))
    return wg.concat(parts, axis=0)[1:3] if d.chance.random() < 0.5 else wg.stack(parts)[d.pick((0, 2))]


def padded(d: Draw, pool: list[Layer]) -> Layer:
    x = d.fitting(pool, vector)
    return wg.pad(x, ((1, 0),) * len(x.shape), value=d.pick((0.3, 1, 0.0)))[..., 1:]


def celled(d: Draw, pool: list[Layer]) -> Layer:
    """A call of a cell; a number is an operand of it where it has an element type of its own."""
    x = d.pick(pool)
    stated: tuple[Any, ...] = (d.array(d.numbers, x.shape), d.dtype(d.numbers.uniform(-1, 1)))
    y = d.pick([y for y in pool if y.shape == x.shape] if d.chance.random() < 0.7 else stated)
    return step(x, y) if d.chance.random() < 0.5 else d.pick(pair(x, y))


def converted(d: Draw, pool: list[Layer]) -> Layer:
    """A number met in the other element type."""
    other = wg.astype(d.pick(pool), OTHER[d.dtype])
    return wg.astype(wg.tanh(other * float(d.numbers.uniform(-1, 1))), d.dtype)


def alone(d: Draw, _: list[Layer]) -> Layer:
    """A scalar weight beside numbers, down to where nothing has a shape."""
    return d.pick(BOUNDS[:3])(wg.tanh(d.double * number(d)), number(d))


NUMBERED: tuple[Maker, ...] = (
    *(unary, beside, beside, beside, beside, powered, bounded, chosen, reduced, reduced, together, padded),
    *(celled, alone, joined, indexed, *MAKERS[2:8]),
)


class Numbered:
    """The graphs of one seed: of each step the same structure, with other numbers."""

    def __init__(self, seed: int, settings: Any = None) -> None:
        self.dtype = (np.float32, np.float64)[seed % 2]
        makers = NUMBERED if seed % 4 < 2 else (*NUMBERED, converted, converted)
        # a float64 graph that converts to float32 and back has the rounding of float32
        self.tolerance = 1e-12 if seed % 4 == 1 else 1e-5
        self.draw = Draw(seed, settings or SGD(learning_rate=0.1), makers, self.dtype)
        self.weights = [*self.draw.weights, self.draw.double]
        self.size = 2 + self.draw.size % 6
        self.examples = (1, 1, 2)[seed % 3]

    def nodes(self, step: int) -> list[Layer]:
        """All layers of one example."""
        draw = self.draw
        draw.chance = np.random.default_rng(draw.structure)
        draw.numbers = np.random.default_rng((draw.structure, step))
        pool: list[Layer] = [*draw.weights, wg.sum(draw.weights[0])]
        for _ in range(self.size):
            pool.append(draw.pick(draw.makers)(draw, pool))
        return pool

    def graph(self, step: int) -> tuple[Layer, tuple[Layer, ...], tuple[Layer, ...]]:
        """The loss of some examples, some of their nodes, and what to differentiate it by."""
        pools = [self.nodes(10 * step + i) for i in range(self.examples)]
        total: Layer = wg.square(self.draw.double) * 0.1
        for pool in pools:
            for x in pool[-3:]:
                total = total + wg.sum(x * number(self.draw))
        inner = tuple(pool[-1] for pool in pools)
        return total, (*inner, pools[0][-2]), (*self.weights, *inner)
