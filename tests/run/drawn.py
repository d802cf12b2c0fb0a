"""Networks drawn at random: DAGs over shared weights of a few shapes and both element types.

Knows: which operations fit which operands, and that all values stay small, so that rounding stays small.
Refuses to know: who runs them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import wengert as wg

Array = np.ndarray[Any, np.dtype[Any]]  # Any: shapes and element types are what varies
SHAPES = ((), (1,), (3,), (2, 3), (3, 3), (4, 1, 3), (3, 2))
Layer = Any  # an array expression of any shape
Maker = Callable[["Draw", list[Layer]], Layer]


def small(x: Layer) -> Layer:
    """Elements between -1 and 1."""
    return wg.tanh(x)


class Draw:
    """One network: what is drawn with a seed is drawn again in the same way."""

    def __init__(
        self, seed: int, settings: Any, makers: Sequence[Maker] | None = None, dtype: Any = None
    ) -> None:  # Any: settings classes have no common type; an element type, drawn where none is given
        self.makers = MAKERS if makers is None else makers
        self.chance = np.random.default_rng(seed)
        self.dtype = self.pick((np.float64, np.float64, np.float32)) if dtype is None else dtype
        self.weights = [self.weight(settings, shape) for shape in SHAPES[2:] if self.chance.random() < 0.7]
        self.weights += [self.weight(settings, (3,)), self.weight(settings, (2, 3))]
        self.tables = [self.weight(settings, (4, 3)) for _ in range(self.chance.integers(0, 3))]
        self.double = settings.double_weight(0.5) if self.dtype is np.float64 else settings.float_weight(0.5)
        self.size = int(self.chance.integers(5, 60))
        self.structure = int(self.chance.integers(2**32))

    def weight(self, settings: Any, shape: tuple[int, ...]) -> Layer:  # Any: as above
        return settings.array_weight(self.array(self.chance, shape))

    def array(self, chance: np.random.Generator, shape: tuple[int, ...]) -> Array:
        """Numbers in any layout."""
        x = chance.uniform(-1, 1, shape).astype(self.dtype)
        layout = chance.integers(4)
        if not x.ndim or layout == 0:
            return np.asarray(x)
        flip = (slice(None, None, -1),) * x.ndim
        return [np.asfortranarray(x), x[flip], np.repeat(x, 2, axis=-1)[..., ::2]][layout - 1]

    def pick(self, things: Sequence[Any]) -> Any:  # Any: of every type
        return things[int(self.chance.integers(len(things)))]

    def loss(self, step: int) -> Layer:
        """The loss of one step: always the same structure, other literals."""
        self.chance = np.random.default_rng(self.structure)
        numbers = np.random.default_rng((self.structure, step))
        self.numbers = numbers
        stated: Any = self.array(numbers, (2, 3))  # Any: of either element type
        pool: list[Layer] = [*self.weights, wg.lift(stated)]
        for table in self.tables:
            pool += self.rows(table)
        for _ in range(self.size):
            pool.append(self.pick(self.makers)(self, pool))
        kept = [self.pick(pool) for _ in range(4)] + pool[-3:]
        total: Layer = wg.square(self.double) * 0.1
        for x in kept:
            weight = self.array(numbers, x.shape)
            total = total + (wg.sum(x * weight) if self.chance.random() < 0.5 else wg.mean(wg.square(x)))
        return total

    def rows(self, table: Layer) -> list[Layer]:
        """A table used in several ways: its delta is a sum of rows, of something dense, and of a product."""
        indices = self.numbers.integers(-4, 4, 3)
        ways: list[Callable[[], Layer]] = [
            lambda: wg.take(table, indices, axis=0),
            lambda: wg.take(table, indices[:2], axis=1 if table.shape[1] == 4 else 0),
            lambda: table[1:3],
            lambda: table[indices],
            lambda: self.array(self.numbers, (2, 4)) @ table,
            lambda: table * 0.5,
            lambda: wg.where(wg.greater(table[:3], 0.0), table[:3], 0.25),
        ]
        return [self.pick(ways)() for _ in range(self.chance.integers(1, 4))]

    def fitting(self, pool: list[Layer], test: Callable[[tuple[int, ...]], bool]) -> Layer:
        """One of those with such a shape; there always is one."""
        return self.pick([x for x in pool if test(x.shape)])


def matrix(shape: tuple[int, ...]) -> bool:
    return len(shape) == 2


def vector(shape: tuple[int, ...]) -> bool:
    return len(shape) >= 1


def unary(d: Draw, pool: list[Layer]) -> Layer:
    f = d.pick(
        (wg.tanh, wg.sigmoid, wg.relu, wg.sin, wg.cos, wg.negative, wg.abs, wg.square, wg.softplus, wg.silu)
    )
    return small(f(d.pick(pool)))


def binary(d: Draw, pool: list[Layer]) -> Layer:
    a = d.pick(pool)
    fits = [x for x in pool if broadcasts(a.shape, x.shape)]
    b = d.pick([*fits, a, d.double, float(d.numbers.uniform(-1, 1)), d.array(d.numbers, a.shape)])
    f = d.pick((wg.add, wg.subtract, wg.multiply, wg.maximum, wg.minimum))
    return f(b, a) if d.chance.random() < 0.3 else f(a, b)


def broadcasts(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """Of one rank, or to a shape that one of them has."""
    try:
        shape = np.broadcast_shapes(a, b)
    except ValueError:
        return False
    return len(shape) <= 3 and (len(a) == len(b) or shape in (a, b))


def divided(d: Draw, pool: list[Layer]) -> Layer:
    x = d.pick(pool)
    return x / (1.5 + wg.square(d.pick([y for y in pool if y.shape == x.shape])))


def product(d: Draw, pool: list[Layer]) -> Layer:
    a = d.fitting(pool, matrix)
    fits = [x for x in pool if matrix(x.shape) and x.shape[0] == a.shape[1]]
    return small(a @ (d.pick(fits) if fits else wg.permute_dims(a, (1, 0))))


def view(d: Draw, pool: list[Layer]) -> Layer:
    x = d.pick(pool)
    rank = len(x.shape)
    ways: list[Callable[[], Layer]] = [
        lambda: wg.reshape(x, (-1,))[:3] if np.prod(x.shape) >= 3 else x,
        lambda: wg.permute_dims(x, tuple(reversed(range(rank)))),
        lambda: wg.flip(x),
        lambda: wg.stop_gradient(x),
        lambda: x[..., ::-1] if rank else x,
        lambda: wg.expand_dims(x, axis=0) if rank < 3 else x[0],
        lambda: wg.broadcast_to(x, (2, *x.shape)) if rank < 3 else x[:, 0],
        lambda: wg.reshape(x, x.shape),
    ]
    return d.pick(ways)()


def reduced(d: Draw, pool: list[Layer]) -> Layer:
    x = d.fitting(pool, vector)
    f = d.pick((wg.sum, wg.mean, wg.max, wg.min, wg.logsumexp, wg.var))
    return small(f(x, axis=d.pick((0, -1)), keepdims=bool(d.chance.random() < 0.5)))


def joined(d: Draw, pool: list[Layer]) -> Layer:
    x = d.fitting(pool, vector)
    y = d.pick([z for z in pool if z.shape == x.shape])
    return (
        wg.concat((x, y, x), axis=0)[1 : x.shape[0] + 1]
        if d.chance.random() < 0.5
        else wg.stack((x, y))[d.pick((0, 1))]
    )


def lines(d: Draw, pool: list[Layer]) -> Layer:
    x = d.fitting(pool, vector)
    return d.pick((wg.softmax, wg.log_softmax))(x, axis=d.pick((0, -1))) * 0.5


def classified(d: Draw, pool: list[Layer]) -> Layer:
    x = d.fitting(pool, vector)
    labels = d.numbers.integers(0, x.shape[-1], x.shape[:-1])
    return small(wg.cross_entropy(x, labels, reduction=d.pick(("mean", "sum", "none"))))


def chosen(d: Draw, pool: list[Layer]) -> Layer:
    x = d.pick(pool)
    y = d.pick([z for z in pool if z.shape == x.shape])
    test = d.pick((wg.greater, wg.less_equal, wg.not_equal))
    return wg.where(test(x, d.pick((y, 0.1))), x, d.pick((y, -0.5)))


def indexed(d: Draw, pool: list[Layer]) -> Layer:
    x = d.fitting(pool, vector)
    indices = d.numbers.integers(0, x.shape[0], d.pick(((2,), (3,), ())))
    return d.pick((lambda: wg.take(x, indices, axis=0), lambda: x[indices], lambda: x[..., 0]))()


def cut(x: Layer, axis: int) -> tuple[Layer, Layer]:
    """The first element of each line along an axis, and the rest."""
    before = (slice(None),) * axis
    return x[(*before, slice(1))], x[(*before, slice(1, None))]


def parts(d: Draw, pool: list[Layer]) -> Layer:
    """A value cut along an axis, and a part along another one; that part has its delta in common with something."""
    x = d.fitting(pool, lambda shape: len(shape) > 1 and shape[0] > 1 < shape[-1])
    axis, other = d.pick(((0, -1), (-1, 0)))
    first, second = cut(x, axis % len(x.shape))
    fits = [y for y in pool if np.prod(y.shape) == np.prod(second.shape)]
    second = second + wg.reshape(d.pick(fits), second.shape) if fits else second
    begin, end = cut(second, other % len(x.shape))
    second = wg.concat((small(begin), small(end) * 0.5), axis=other)
    return wg.concat((first, second), axis=axis) if d.chance.random() < 0.5 else second


MAKERS: tuple[Maker, ...] = (
    *(unary, unary, binary, binary, binary, divided, product, product, view, view, reduced),
    *(joined, lines, classified, chosen, indexed, parts, parts),
)


def network(
    seed: int, settings: Callable[[], Any], makers: Sequence[Maker] | None = None
) -> Callable[[], tuple[list[Layer], Callable[[int], Layer]]]:
    """The network of a seed, made anew each time it is asked for."""

    def made() -> tuple[list[Layer], Callable[[int], Layer]]:
        draw = Draw(seed, settings(), makers)
        return [*draw.weights, *draw.tables, draw.double], draw.loss

    return made
