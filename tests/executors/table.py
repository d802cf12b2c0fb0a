"""Programs by name: what every executor has to run as the interpreter does.

Knows: each kind of operation, shapes without axes and without elements, views, weights used in several ways, deltas
that are lazy, rules of users, cells, binds, and branches that are alike.
Refuses to know: who runs them, and with which optimizer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import reduce
from operator import add
from typing import Any, Final

import numpy as np

import wengert as wg
from tests.executors import binds
from tests.run.counting import unregistered
from wengert import nn
from wengert.extend import Column

Array = np.ndarray[Any, np.dtype[Any]]  # Any: shapes and element types are what varies
Layer = Any  # an expression of any kind


class Step:
    """The data of one step: of every step the same shapes, other numbers."""

    def __init__(self, number: int, dtype: Any, factor: float = 1.0) -> None:  # Any: either element type
        self.chance = np.random.default_rng(number)
        self.number, self.dtype, self.factor = number, dtype, factor

    def array(self, *shape: int) -> Layer:
        data: Any = (self.chance.uniform(-1, 1, shape) * self.factor).astype(self.dtype)  # Any: either type
        return wg.lift(data)

    def labels(self, classes: int, *shape: int) -> Array:
        return self.chance.integers(0, classes, shape)

    def scalar(self) -> float:
        return float(self.chance.uniform(0.5, 2))


Graph = Callable[[Step], Sequence[Layer] | Layer]


class Weights:
    """The weights of one network, made with one class of settings."""

    def __init__(self, settings: Any, dtype: Any) -> None:  # Any: settings have no common type
        self.settings, self.dtype = settings, dtype
        self.chance = np.random.default_rng(7)
        self.made: list[Layer] = []

    def _kept(self, weight: Layer) -> Layer:
        self.made.append(weight)
        return weight

    def __call__(
        self, *shape: int, dtype: Any = None, layout: Callable[[Array], Array] = np.asarray
    ) -> Layer:
        data = self.chance.uniform(-1, 1, shape).astype(dtype or self.dtype)
        return self.given(np.asarray(layout(data)))

    def given(self, data: Any) -> Layer:  # Any: an array of any shape
        return self._kept(self.settings.array_weight(np.asarray(data)))

    def buffer(self, *shape: int) -> Layer:
        return self.settings.buffer(np.zeros(shape, self.dtype))

    def number(self) -> Layer:
        """A weight that is a number of the network's element type."""
        make = self.settings.double_weight if self.dtype is np.float64 else self.settings.float_weight
        return self._kept(make(float(self.chance.uniform(0.5, 1))))


Network = Callable[[Weights], Graph]
PROGRAMS: Final[dict[str, Network]] = {}
ONCE: Final[set[str]] = set()  # names of programs that have no derivatives as layers


def program(network: Network) -> Network:
    """Put a network into the table, under its function's name."""
    PROGRAMS[network.__name__.replace("_", " ")] = network
    return network


def once(network: Network) -> Network:
    """A network without derivatives as layers."""
    ONCE.add(network.__name__.replace("_", " "))
    return program(network)


def outputs_of(made: Sequence[Layer] | Layer) -> list[Layer]:
    """What a graph gives, one output or several."""
    return list(made) if isinstance(made, (tuple, list)) else [made]


def loss_of(outputs: Sequence[Layer], step: Step) -> Layer:
    """A scalar in which each element counts, in every step with another factor."""
    parts: list[Layer] = []
    for y in outputs:
        if y.kind.column is not Column.ARRAY:
            parts.append(y * step.scalar())
        elif y.kind.shape is None or not all(y.shape):  # what only the run knows, or nothing
            parts.append(wg.sum(y * step.dtype(step.scalar())))
        else:
            factors = np.linspace(0.5, 1.5, np.prod(y.shape, dtype=int)) + 0.1 * step.number
            parts.append(wg.sum(y * factors.reshape(y.shape).astype(step.dtype)))
    return reduce(add, parts)


# -- operations ---------------------------------------------------------------------------------------------


@program
def one_operand(w: Weights) -> Graph:
    a = w(2, 3)
    smooth = (
        wg.tanh,
        wg.sigmoid,
        wg.sin,
        wg.cos,
        wg.square,
        wg.softplus,
        wg.silu,
        wg.gelu,
        wg.erf,
        wg.expm1,
        wg.mish,
        wg.log_sigmoid,
    )
    return lambda s: [f(a * s.array(2, 3)) for f in smooth]


@program
def one_operand_with_a_kink(w: Weights) -> Graph:
    a = w(4)
    kinked = (wg.relu, wg.abs, wg.sign, wg.negative, wg.leaky_relu, wg.elu, wg.celu, wg.selu, wg.hardswish)
    return lambda s: [f(a * s.array(4)) for f in (*kinked, wg.softsign)]


@program
def roots_and_logarithms(w: Weights) -> Graph:
    a = w(3)
    return lambda s: [f(wg.square(a) + s.scalar()) for f in (wg.sqrt, wg.log, wg.log1p, wg.exp)]


@program
def two_operands(w: Weights) -> Graph:
    a, b = w(2, 3), w(2, 3)
    return lambda s: wg.tanh(a + b * s.array(2, 3)) - a / (wg.square(b) + 0.5)


@program
def numbers_beside_arrays(w: Weights) -> Graph:
    a = w(3)

    def graph(s: Step) -> Layer:
        c = s.scalar()
        left = 1.0 - (c * a + 2) * True
        return left / (np.float64(c) + wg.square(a)) + wg.maximum(0.1, a) - wg.minimum(a, 1)

    return graph


@program
def numbers_alone(w: Weights) -> Graph:
    a, b = w.number(), w.number()
    return lambda s: (wg.exp(a) * b / (1.0 + a * a), wg.tanh(b * s.scalar()) ** 2.0)


@program
def numbers_and_arrays(w: Weights) -> Graph:
    a, b = w.number(), w(3)
    return lambda s: (b * a + s.array(3), a * a * 0.5)


@program
def stretched_operands(w: Weights) -> Graph:
    a, b, c = w(3, 1), w(1, 4), w(4)
    return lambda s: ((a * b + c) * s.array(1, 4), wg.expand_dims(a * b, axis=0) * s.array(2, 1, 1))


@program
def no_axes(w: Weights) -> Graph:
    a, b = w(), w(3)
    return lambda s: (wg.tanh(a * s.array()), wg.sum(b) * a, wg.reshape(a, (1,)) + b)


@program
def one_element(w: Weights) -> Graph:
    a, b = w(1), w(1, 1)
    return lambda s: (a * s.array(1), wg.reshape(b @ b, (1,)) - a, wg.squeeze(b, axis=0))


@program
def no_elements(w: Weights) -> Graph:
    a, b, c = w(0, 3), w(3, 2), w(2, 0)
    return lambda s: (wg.sum(a @ b), wg.sum(wg.tanh(a) * 2.0), b @ c, c @ (a * s.scalar()) + wg.sum(b))


@program
def powers(w: Weights) -> Graph:
    a, b = w(3), w(3)

    def graph(s: Step) -> Sequence[Layer]:
        base = wg.square(a) + 0.5
        return base**3.0, wg.pow(base, b), wg.pow(s.scalar(), a), base**-0.5

    return graph


@program
def limits_with_ties(w: Weights) -> Graph:
    a = w.given(np.array([1.0, 1.0, -2.0, 0.5], w.dtype))
    return lambda s: (wg.maximum(a, 1.0), wg.clip(a * s.scalar(), -0.5, 0.5), wg.minimum(a, a), wg.max(a))


@program
def choices(w: Weights) -> Graph:
    a, b = w(2, 3), w(2, 3)
    compare = (wg.less, wg.less_equal, wg.greater, wg.greater_equal, wg.equal, wg.not_equal)

    def graph(s: Step) -> Sequence[Layer]:
        test = wg.logical_or(wg.logical_and(wg.greater(a, b), wg.less_equal(a, 0.5)), wg.equal(a, 1.0))
        both = wg.where(test, a * b, 0.25) + wg.where(wg.logical_not(test), s.array(2, 3), b)
        return both, *[wg.where(f(a, s.array(2, 3)), a, 0.5) for f in compare]

    return graph


@program
def sums_along_axes(w: Weights) -> Graph:
    a = w(2, 3, 4)
    ways: list[dict[str, Any]] = [{}, {"axis": 0}, {"axis": -1, "keepdims": True}, {"axis": (0, 2)}]
    return lambda s: [f(a * s.array(4), **way) for f in (wg.sum, wg.mean) for way in ways]


@program
def sums_that_differ_in_an_option(w: Weights) -> Graph:
    """Or in the type of a constant: calls that nothing else tells apart."""
    a = w(3, 3)

    def graph(s: Step) -> Sequence[Layer]:
        h = wg.tanh(a * s.scalar())
        edges = (((0, 1), (0, 1)), 1.0), (((1, 0), (1, 0)), 0.5), (((0, 1), (0, 1)), 1)
        along = [
            f(h, axis=axis, keepdims=keep)
            for f in (wg.sum, wg.max)
            for axis in (0, 1, (0, 1))
            for keep in (False, True)
        ]
        return [*along, *[wg.pad(h, around, value=value) for around, value in edges]]

    return graph


@program
def moments(w: Weights) -> Graph:
    a = w(3, 4)
    return lambda s: (wg.var(a * s.array(4), axis=0), wg.std(a, axis=1, correction=1), wg.var(a))


@program
def extrema_and_products(w: Weights) -> Graph:
    a = w(3, 4)
    return lambda s: [f(a * s.array(4), axis=axis) for f in (wg.max, wg.min, wg.prod) for axis in (0, 1)]


@program
def a_product_with_zeros(w: Weights) -> Graph:
    a = w.given(np.array([[0.0, 2.0, 3.0], [0.0, 0.0, 1.0]], w.dtype))
    return lambda s: wg.prod(a + 0.0, axis=1) * s.array(2)


@program
def lines(w: Weights) -> Graph:
    a = w(3, 4)
    every = (wg.softmax, wg.log_softmax, wg.logsumexp)
    return lambda s: [f(a * s.scalar(), axis=axis) for f in every for axis in (0, -1)]


@program
def classes(w: Weights) -> Graph:
    a = w(4, 3)

    def graph(s: Step) -> Sequence[Layer]:
        labels = s.labels(3, 4)
        ways: list[Any] = ["mean", "sum", "none"]  # Any: overloads by literal
        return [wg.cross_entropy(a * s.scalar(), labels, reduction=way) for way in ways]

    return graph


@program
def running_sums(w: Weights) -> Graph:
    a = w(2, 3)
    return lambda s: (wg.cumulative_sum(a * s.array(2, 3), axis=1), wg.cumulative_sum(a, axis=0))


@program
def matrices(w: Weights) -> Graph:
    a, b = w(3, 4), w(4, 2)
    return lambda s: wg.tanh(s.array(5, 3) @ a) @ b


@program
def vectors_and_matrices(w: Weights) -> Graph:
    a, b = w(3), w(3, 4)
    return lambda s: (a @ b, b @ s.array(4), a @ s.array(3), s.array(1, 3) @ b)


@program
def stacks_of_matrices(w: Weights) -> Graph:
    a, b = w(2, 3, 4), w(4, 3)
    return lambda s: (a @ b, a @ s.array(2, 4, 1), b @ a)


@program
def contractions(w: Weights) -> Graph:
    a, b = w(2, 3), w(3, 4)
    return lambda s: (wg.einsum("ij,jk->ik", a * s.array(3), b), wg.tensordot(a, b, axes=1))


@program
def images(w: Weights) -> Graph:
    kernel, a = w(2, 1, 2, 2), w(1, 1, 4, 4)

    def graph(s: Step) -> Sequence[Layer]:
        seen = wg.conv2d(s.array(2, 1, 4, 4), kernel)
        return wg.max_pool2d(seen, 2), wg.avg_pool2d(a, 2), wg.conv2d(a, kernel, padding=1)

    return graph


@program
def views(w: Weights) -> Graph:
    a = w(2, 3)

    def graph(s: Step) -> Sequence[Layer]:
        h = wg.tanh(a)
        turned = wg.permute_dims(h, (1, 0))
        several = (wg.reshape(h, (6,)), turned[1:], wg.flip(h), h[..., ::-1], wg.expand_dims(turned, axis=0))
        return [*several, wg.broadcast_to(h, (2, 2, 3)) * s.scalar(), wg.reshape(turned, (2, 3))]

    return graph


@program
def sums_in_place_with_a_view(w: Weights) -> Graph:
    a = w(3, 3)

    def graph(s: Step) -> Layer:
        h = wg.exp(a)
        h = h + wg.permute_dims(h, (1, 0))
        h = h * h[::-1] + wg.reshape(h[1:, :], (2, 3))[0]
        return wg.softmax(h) * h[:, ::-1] * s.scalar()

    return graph


@program
def joined_and_parted(w: Weights) -> Graph:
    a, b = w(2, 3), w(2, 3)

    def graph(s: Step) -> Sequence[Layer]:
        first, second = wg.split(wg.concat((a, b * s.array(2, 3), a), axis=0), 2, axis=0)
        return first * second, wg.stack((a, b))[1], wg.concat((a, b), axis=1)[:, 2:4]

    return graph


@program
def rolled_and_padded(w: Weights) -> Graph:
    a = w(3, 3)
    return lambda s: (
        wg.roll(a, 1, axis=0) * s.array(3, 3),
        wg.pad(a, ((0, 1), (1, 0)), value=1.0) * wg.pad(a, ((1, 0), (0, 1)), value=0.5),
    )


@program
def keys(w: Weights) -> Graph:
    a = w(4, 3)
    return lambda s: (a[1:3], a[::-2], a[None, 0], a[..., -1], a[s.labels(4, 3)], a[s.labels(4, 2), 1:])


@program
def elements_taken(w: Weights) -> Graph:
    a = w(4, 3)

    def graph(s: Step) -> Sequence[Layer]:
        along = wg.take_along_axis(a, s.labels(3, 4, 1), axis=1)
        sums = wg.segment_sum(a, s.labels(5, 4), num_segments=5)
        best, (top, places) = wg.argmax(a, axis=0), wg.top_k(a * a, 2, axis=0)
        chosen = wg.take(a, best, axis=0) * wg.astype(places, w.dtype)[0], top
        loss = wg.cross_entropy(a, wg.argmax(a, axis=1))
        taken = wg.take(a, s.labels(4, 5), axis=0), wg.take(a * 2.0, s.labels(3, 2), axis=1)
        return *chosen, loss, *taken, along, sums

    return graph


@program
def both_element_types(w: Weights) -> Graph:
    other = np.float32 if w.dtype is np.float64 else np.float64
    a, b = w(3), w(3, dtype=other)
    return lambda s: wg.astype(wg.astype(a, other) * b * 0.5, w.dtype) + a * s.array(3)


@program
def dropped(w: Weights) -> Graph:
    a = w(3, 4)
    return lambda s: wg.dropout(a * s.scalar(), 0.5, seed=(s.number, 1))


@program
def stopped(w: Weights) -> Graph:
    a, b = w(3), w(3)
    return lambda s: wg.stop_gradient(a * b) * b + wg.stop_gradient(a) * s.array(3)


@program
def infinities(w: Weights) -> Graph:
    a = w.given(np.array([[1.0, 2.0], [np.inf, 0.0], [-np.inf, -np.inf], [np.nan, 1.0]], w.dtype))
    finite = np.array([[True], [False], [False], [False]])

    def graph(s: Step) -> Layer:
        return wg.where(
            finite, wg.softmax(a) * wg.log_softmax(a) + wg.logsumexp(a, axis=1, keepdims=True), 0.0
        )

    return graph


# -- weights ------------------------------------------------------------------------------------------------


@program
def averages_that_are_buffers(w: Weights) -> Graph:
    """Of what three uses of a weight find, in cells too, as one step; of a weight; and one that no loss depends on."""
    a, seen, followed, silent = w(3, 2), w.buffer(2), w.buffer(3, 2), w.buffer(2)

    def normal(x: Layer) -> Layer:
        h = x @ a
        average = wg.mean(h, axis=0)
        return wg.with_update(wg.tanh(h - average) + seen, seen, average, rate=0.25)

    celled = wg.cell(normal)

    def graph(s: Step) -> Sequence[Layer]:
        y = normal(s.array(4, 3)) - celled(s.array(4, 3)) * celled(s.array(4, 3))
        stopped = wg.stop_gradient(wg.with_update(y, silent, wg.mean(y, axis=0)))
        return [wg.with_update(y, followed, a), wg.sum(followed), y + stopped, y - silent]

    return graph


@program
def a_weight_used_twice(w: Weights) -> Graph:
    a = w(3, 3)
    return lambda s: (a @ wg.permute_dims(a, (1, 0)) @ a, a * a, a + a * s.scalar())


@program
def a_weight_alone(w: Weights) -> Graph:
    a, b = w(1), w()
    return lambda s: (wg.squeeze(a, axis=0), b)


@program
def steps_that_are_other_weights(w: Weights) -> Graph:
    a, b, c, d = w(2), w(2), w(1, 2), w(2, 1)
    turned = (1, 0)
    return lambda s: (a @ b, wg.squeeze(wg.permute_dims(d, turned) @ wg.permute_dims(c, turned), axis=(0, 1)))


@program
def weights_that_nothing_reaches(w: Weights) -> Graph:
    a, b, c = w(3), w(3), w(3)
    return lambda s: a * s.array(3) + wg.stop_gradient(b) + wg.sign(c)


@program
def weights_in_any_layout(w: Weights) -> Graph:
    a, b = w(3, 4, layout=np.asfortranarray), w(4, 3, layout=lambda x: x[::-1, ::-1])
    c = w(4, 3, layout=lambda x: np.repeat(x, 2, axis=-1)[..., ::2])
    return lambda s: (a @ b, wg.sum(c * s.array(4, 3), axis=1), wg.tanh(a) * 0.5)


@program
def rows_of_a_table(w: Weights) -> Graph:
    """A delta that is rows, with some of them more than once."""
    table = w(6, 3)
    return lambda s: wg.tanh(wg.take(table, s.labels(6, 8), axis=0)) * s.array(8, 3)


@program
def rows_of_two_tables(w: Weights) -> Graph:
    """The rows of one are changed after those of the other have been computed."""
    a, b = w(5, 3), w(5, 3)

    def graph(s: Step) -> Layer:
        x, rows = s.array(2, 3), [0, 1]
        chosen = wg.where(wg.greater(x, 0.0), wg.take(a, rows, axis=0), 0.0) * x
        return chosen + wg.take(b, rows, axis=0) * (x * 10.0 + 1.0)

    return graph


@program
def a_table_used_in_every_way(w: Weights) -> Graph:
    """Its delta is a sum of rows, of something dense, and of a product."""
    table = w(4, 3)

    def graph(s: Step) -> Sequence[Layer]:
        rows = s.labels(4, 3)
        ways = (wg.take(table, rows, axis=0), table[1:3], table[rows], wg.take(table, rows % 3, axis=1))
        return *ways, s.array(2, 4) @ table, table * 0.5, wg.where(wg.greater(table, 0.0), table, 0.25)

    return graph


@program
def a_product_in_many_uses(w: Weights) -> Graph:
    """Deltas that are products, added up before they are made."""
    a = w(3, 3)

    def graph(s: Step) -> Layer:
        h = s.array(2, 3)
        for _ in range(4):
            h = wg.tanh(h @ a + s.array(2, 3) @ a)
        return h

    return graph


# -- rules of users -----------------------------------------------------------------------------------------


class Rules:
    """Rules of somebody else: they keep what they are given, try to change it, and give it on."""

    def __init__(self) -> None:
        kept: list[Any] = []  # Any: data of every kind

        def keeping(case: Any, x: Any) -> Any:  # Any: as above
            kept.append(x)
            return x * 2.0

        def kept_too(case: Any, g: Any, y: Any, x: Any) -> Any:  # Any: as above
            kept.extend((g, y, x))
            return g * 2.0

        def changing(case: Any, x: Any) -> Any:  # Any: as above
            own = np.array(x)
            own *= 3.0
            spoil(x)
            return own

        def changing_too(case: Any, g: Any, y: Any, x: Any) -> Any:  # Any: as above
            own = np.array(g)
            own *= 3.0
            for each in (g, y, x, *kept):
                spoil(each)
            kept.clear()
            return own

        self.keeping = unregistered("keeping", keeping, kept_too)
        self.changing = unregistered("changing", changing, changing_too)
        self.passing = unregistered("passing", lambda case, x: x, lambda case, g, y, x: g)


def spoil(x: Any) -> None:  # Any: as above
    """Write into what is not one's own, which numpy refuses."""
    with suppress(ValueError, TypeError):
        x[...] = 7.0


@once
def a_rule_that_keeps_what_it_gets(w: Weights) -> Graph:
    a, rules = w(2, 3), Rules()
    return lambda s: wg.tanh(rules.keeping(wg.tanh(a) + s.array(2, 3))) * rules.keeping(a)


@once
def a_rule_that_gives_what_it_gets(w: Weights) -> Graph:
    a, rules = w(2, 3), Rules()
    return lambda s: rules.passing(rules.passing(a * 2.0) + rules.passing(a)) * s.array(2, 3)


@once
def a_rule_that_tries_to_change_what_it_gets(w: Weights) -> Graph:
    a, rules = w(2, 3), Rules()
    return lambda s: rules.changing(wg.tanh(a) * s.array(2, 3)) + rules.keeping(a * 0.5)


# -- cells --------------------------------------------------------------------------------------------------


@program
def a_cell_in_a_chain(w: Weights) -> Graph:
    a, b = w(3, 3), w(3)

    @wg.cell
    def node(h: Layer, x: Layer) -> Layer:
        return wg.tanh(h @ a + x * b)

    def graph(s: Step) -> Layer:
        h: Layer = s.array(3)
        for _ in range(5):
            h = node(h, s.array(3))
        return h

    return graph


@program
def recurrent_layers_of_rows_that_end(w: Weights) -> Graph:
    lstm = nn.LSTM(tuple(nn.LSTMCell(w(n, 8), w(2, 8), w(8)) for n in (3, 3)), bidirectional=True)
    gru = nn.GRU(nn.GRUCell(w(4, 6), w(2, 6), w(6), w(2)))

    def graph(s: Step) -> Sequence[Layer]:
        lengths = [3, 1 + s.number % 3]
        y, (h, c) = lstm(s.array(3, 2, 3), lengths=lengths)
        z, last = gru(y, lengths=lengths)
        return [h, c, z, last]

    return graph


@program
def bags_of_embeddings_and_pairs(w: Weights) -> Graph:
    bags = [nn.EmbeddingBag(w(5, 3), mode) for mode in ("sum", "mean", "max")]
    pair = nn.Bilinear(w(2, 3, 3), w(2))

    def graph(s: Step) -> Sequence[Layer]:
        padded, flat = s.labels(5, 2, 3), s.labels(5, 4)
        found = [bag(padded, lengths=[3, 1]) + bag(flat, offsets=[0, 1]) for bag in bags]
        return [pair(found[0], found[1]), found[2]]

    return graph


@program
def steps_of_an_attention(w: Weights) -> Graph:
    maps = [nn.Linear(w(4, 4), w(4)) for _ in range(4)]
    attention = nn.MultiHeadAttention(maps[0], maps[1], maps[2], maps[3], 2, rotary=True)

    def graph(s: Step) -> Sequence[Layer]:
        first, past = attention.step(s.array(2, 2, 4))
        second, past = attention.step(s.array(2, 1, 4), past)
        return [first, second, past.keys]

    return graph


@program
def cells_that_compute_once_more(w: Weights) -> Graph:
    weights = [w(3, 3) for _ in range(3)]
    b = w(3)

    @wg.cell(remat=True)
    def inner(h: Layer) -> Layer:
        return wg.sigmoid(h * b) * h

    @wg.cell(remat=True)
    def node(a: Layer, h: Layer) -> tuple[Layer, Layer]:
        g = wg.tanh(h @ a)
        return g * inner(h @ a), wg.mean(g)

    def graph(s: Step) -> Sequence[Layer]:
        h, means = s.array(4, 3), []
        for a in weights:
            h, m = node(a, h)
            means.append(m)
        return [h, means[0] * means[2]]

    return graph


@program
def two_cells_in_a_tree(w: Weights) -> Graph:
    a, b, table = w(6, 3), w(3, 3), w(5, 3)

    @wg.cell
    def leaf(x: Layer) -> Layer:
        return wg.tanh(x @ b)

    @wg.cell
    def node(left: Layer, right: Layer) -> Layer:
        return wg.tanh(wg.concat((left, right), axis=0) @ a) + left * 0.5

    def graph(s: Step) -> Layer:
        leaves = [leaf(wg.take(table, int(i))) for i in s.labels(5, 5)]
        return node(node(leaves[0], leaves[1]), node(leaves[2], node(leaves[3], leaves[4])))

    return graph


@program
def three_cells_of_several_results(w: Weights) -> Graph:
    a, b = w(3, 3), w(3)

    @wg.cell
    def gate(h: Layer) -> tuple[Layer, Layer]:
        return wg.sigmoid(h @ a), wg.tanh(h * b)

    @wg.cell
    def mixed(z: Layer, h: Layer, c: Layer) -> Layer:
        return z * h + (1.0 - z) * c

    @wg.cell
    def scored(h: Layer) -> Layer:
        return wg.softmax(h) * h

    def graph(s: Step) -> Sequence[Layer]:
        h: Layer = s.array(3)
        seen = []
        for _ in range(3):
            z, c = gate(h)
            h = mixed(z, h, c)
            seen.append(scored(h))
        return seen

    return graph


@program
def cells_of_which_a_result_is_a_constant(w: Weights) -> Graph:
    a, b = w(3), w(3)
    pair = wg.cell(lambda x: (wg.stop_gradient(wg.tanh(x) * a), x * b))

    def graph(s: Step) -> Sequence[Layer]:
        (c, x), (d, y), (e, z) = (pair(s.array(3) * b) for _ in range(3))
        return [wg.square(c), x * y, d * e, z, e]

    return graph


@program
def cells_that_give_a_weight(w: Weights) -> Graph:
    """What such a call gives is read as any other layer."""
    a, b = w(3), w(3, 3)
    same, one, two = wg.cell(lambda x: x), wg.cell(lambda x: b), wg.cell(lambda x: (x, a))

    def graph(s: Step) -> Sequence[Layer]:
        x = s.array(2, 3)
        c, d = two(b)
        return [wg.square(same(a)), x @ one(x), x @ one(x) + wg.square(same(a)), same(wg.tanh(a)), x @ c * d]

    return graph


@program
def a_cell_that_gets_one_operand_twice(w: Weights) -> Graph:
    """Three deltas arrive at the operand: the order in which they are added up is told by the last bit."""
    a, table = w(6, 3), w(5, 3)

    @wg.cell
    def node(left: Layer, right: Layer) -> Layer:
        return wg.tanh(wg.concat((left, right), axis=0) @ a) * right - left

    def graph(s: Step) -> Sequence[Layer]:
        seen = []
        for i in s.labels(5, 8):
            x = wg.take(table, int(i))
            seen.append(node(x, x) * s.array(3) + x * 0.3)
        return seen

    return graph


# -- binds --------------------------------------------------------------------------------------------------


def bound(way: Callable[..., Layer]) -> Network:
    """A network around one bind: what is before it, both branches, and what comes after."""

    def network(w: Weights) -> Graph:
        a, b = w(2, 3), w(2, 3)

        def graph(s: Step) -> Layer:
            h = wg.tanh(a * s.array(2, 3))
            found = way(h, wg.sum(h), lambda: wg.tanh(h * b), lambda: wg.tanh(b + h) * a)
            return wg.tanh(found * 0.5) + h

        return graph

    return network


for _way in binds.WAYS:
    PROGRAMS[_name := f"bind {_way.__name__.replace('_', ' ')}"] = bound(_way)
    ONCE.add(_name)


@once
def binds_in_turn(w: Weights) -> Graph:
    """Each reads what the one before it has chosen."""
    a, b = w(3), w(3)

    def chosen(h: Layer) -> Layer:
        return binds.by_coroutine(h, wg.sum(h), lambda: wg.tanh(h * b), lambda: wg.sin(h) + a)

    def graph(s: Step) -> Layer:
        h: Layer = wg.tanh(a * s.array(3))
        for _ in range(3):
            h = chosen(h)
        return h

    return graph


@once
def a_bind_in_a_bind(w: Weights) -> Graph:
    a, b = w(3), w(3)

    def graph(s: Step) -> Layer:
        h = wg.tanh(a * s.array(3))

        def inner() -> Layer:
            return binds.by_coroutine(h, wg.sum(h * b), lambda: h + b, lambda: h * b)

        return binds.by_coroutine(h, wg.sum(h), inner, lambda: wg.tanh(h - a)) * b

    return graph


@once
def a_score_that_decides(w: Weights) -> Graph:
    """One of two branches is computed; the score stays in what is trained."""
    below, score, head = w(4, 5), w(5, 2), w(5, 3)
    branches = w(5, 5), w(5, 5)

    def graph(s: Step) -> Layer:
        h = wg.tanh(s.array(5, 4) @ below)
        scores = wg.mean(h @ score, axis=0)

        def choose(tape: Any) -> Any:  # Any: a tape of an array, and the `Do` of another
            which = int(tape.data.argmax())
            return (wg.tanh(h @ branches[which]) * scores[which]).forward

        chosen: Layer = wg.ArrayLayer(scores.forward.flat_map(choose))
        return wg.cross_entropy(chosen @ head, s.labels(3, 5))

    return graph


# -- many ---------------------------------------------------------------------------------------------------


@program
def heads_on_a_trunk(w: Weights) -> Graph:
    """Branches that are alike, on weights of their own."""
    trunk, heads = w(4, 5), [(w(5, 5), w(5), w(5, 3)) for _ in range(5)]

    def graph(s: Step) -> Layer:
        h = wg.relu(s.array(3, 4) @ trunk)
        losses = [wg.cross_entropy(wg.tanh(h @ a + b) @ c, s.labels(3, 3)) * s.scalar() for a, b, c in heads]
        return reduce(add, losses)

    return graph


@program
def columns_that_are_added(w: Weights) -> Graph:
    columns, out = [(w(4, 4), w(4)) for _ in range(4)], w(4, 2)

    def graph(s: Step) -> Layer:
        x = s.array(3, 4)
        return reduce(add, [wg.relu(wg.relu(x @ a + b) @ a) for a, b in columns]) @ out

    return graph


@program
def a_long_chain(w: Weights) -> Graph:
    a = w(3)

    def graph(s: Step) -> Layer:
        h = s.array(3)
        for i in range(40):
            h = wg.tanh(h * a + 0.01 * i)
        return h

    return graph


@program
def a_long_chain_of_numbers(w: Weights) -> Graph:
    a, b = w.number(), w.number()

    def graph(s: Step) -> Layer:
        x = a * s.scalar()
        for i in range(30):
            x = x * (a, b)[i % 2] + 0.01 * i
        return wg.tanh(x)

    return graph


@program
def functions_of_one_number(w: Weights) -> Graph:
    """The rest of the standard's, each where it is defined."""
    a, b = w(3), w(3)

    def graph(s: Step) -> Sequence[Layer]:
        x = wg.tanh(s.array(3) * a)  # between -1 and 1
        smooth = [f(x) for f in (wg.sinh, wg.cosh, wg.tan, wg.asinh, wg.atan, wg.exp2, wg.positive)]
        inner = [f(x * 0.9) for f in (wg.asin, wg.acos, wg.atanh)]
        above = [f(wg.abs(x) + 1.5) for f in (wg.acosh, wg.log2, wg.log10, wg.reciprocal)]
        return [reduce(add, smooth), reduce(add, inner) * b, reduce(add, above)]

    return graph


@program
def functions_of_two_numbers(w: Weights) -> Graph:
    a, b = w(3), w(3)

    def graph(s: Step) -> Sequence[Layer]:
        x, y = s.array(3) * a, s.array(3) + b * 0.1
        far = y * 0.25 + 2.0
        return [
            wg.hypot(x, far),
            wg.atan2(x, far),
            wg.logaddexp(x, y),
            wg.copysign(far, y),
            wg.remainder(x, far),
        ]

    return graph


@program
def steps_and_tests(w: Weights) -> Graph:
    """Whose derivatives are zero, or none."""
    a = w(4)

    def graph(s: Step) -> Sequence[Layer]:
        x = s.array(4) * a
        whole = [f(x * 3.0) for f in (wg.floor, wg.ceil, wg.trunc, wg.round)]
        whole.append(wg.floor_divide(x, wg.abs(a) + 0.5))
        tests = [f(x) for f in (wg.isnan, wg.isinf, wg.isfinite, wg.signbit)]
        tests.append(wg.logical_xor(wg.greater(x, 0.0), wg.less(a, 0.0)))
        counts = [wg.where(t, x, 0.0) for t in tests]
        every = [wg.where(f(wg.greater(x, -9.0)), a, 0.0) for f in (wg.all, wg.any)]
        ones = [wg.ones_like(a), wg.zeros_like(a), wg.full_like(a, 2.0)]
        return [reduce(add, whole) * a, reduce(add, counts), reduce(add, every), reduce(add, ones) * a]

    return graph


@program
def places_in_order(w: Weights) -> Graph:
    a, table = w(5), w(5, 3)

    def graph(s: Step) -> Sequence[Layer]:
        x = a + s.array(5) * 0.01
        order = wg.argsort(x)
        bounds: Any = np.linspace(-1, 1, 4).astype(s.dtype)
        places = wg.searchsorted(bounds, x)
        some = wg.segment_max(wg.take(table, order), [0, 0, 1, 1, 1], num_segments=2)
        counted = wg.astype(wg.count_nonzero(wg.floor(x * 3.0)), s.dtype)
        spread = wg.one_hot([1, 0, 2], 3) @ wg.astype(table[:3], np.float32)
        two = wg.nonzero(wg.greater(x, wg.take(x, order)[2]), size=2)[0]
        return [wg.take(x, order), wg.take(table, places), some, counted * x, spread, x[two]]

    return graph


@program
def the_same_in_several_places(w: Weights) -> Graph:
    """Built again, and one that several read."""
    a, b = w(3, 3), w(3)

    def graph(s: Step) -> Sequence[Layer]:
        x = s.array(2, 3)
        once, again = wg.tanh(x @ a), wg.tanh(x @ a)
        return once * again, once + b, wg.sum(once) * b, again - once

    return graph


@once
def shards_of_a_batch(w: Weights) -> Graph:
    """Losses of parts, each an evaluation of its own, beside uses of the same weights; some part waits for a value."""
    table, a, b, seen = w(60, 3), w(3, 3), w(3), w.buffer(3)

    def graph(s: Step) -> Sequence[Layer]:
        x: Any = s.array(7, 3)

        def loss(places: Array, seed: object) -> Layer:
            h = wg.tanh(wg.take(table, places) @ a + b)
            asked = binds.by_coroutine(b, wg.sum(h), lambda: b * 2.0, lambda: wg.square(b))
            h = wg.with_update(wg.dropout(h, 0.2, seed=(s.number, len(places))), seen, b, rate=0.5)
            return wg.mean(wg.square(h - asked))

        return [wg.shards(loss, s.labels(60, 7), 3, seed=s.number), wg.tanh(x @ a) * b]

    return graph
