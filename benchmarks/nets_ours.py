"""Networks as people train them, written with `wengert` and `wengert.nn` as a user writes them.

Knows: layers put together from given weights; an executor, where it is not that of a run which names none.
Refuses to know: sizes, and how time is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle
from typing import Any

import wengert as wg
from benchmarks import nets_data as data
from benchmarks.nets_data import DECAY, EPS, PARTS, RATE, Array, Given, Sizes
from benchmarks.workload import Step
from wengert.control import Executor
from wengert.nn import LSTM, Conv2d, Embedding, LayerNorm, Linear, LSTMCell, MultiHeadAttention, Sequential
from wengert.plugins import SGD, Adam, AdamW, LearningRate, Plugin

Value = Any  # an array or a layer


class _Adam(Adam, LearningRate):
    """Adam with a constant rate."""


class _AdamW(AdamW, LearningRate):
    """AdamW with a constant rate."""


class _Weights:
    """The given weights, with the settings of a training."""

    def __init__(self, given: Given, settings: Plugin) -> None:
        self._weights: dict[str, Value] = {
            name: settings.array_weight(x) for name, x in given.weights.items()
        }

    def __getitem__(self, name: str) -> Value:
        return self._weights[name]

    def linear(self, name: str) -> Linear[Any, Any]:
        return Linear(self[name], self[f"{name} bias"])

    def norm(self, name: str) -> LayerNorm[Any]:
        return LayerNorm(self[name], self[f"{name} bias"], EPS)


def _stepping(given: Given, loss: Callable[..., Value], executor: Executor | None = None) -> Step:
    batches = cycle(given.batches)
    return lambda: float(loss(*next(batches)).train().run(executor))


def _dense(given: Given, settings: Plugin) -> Sequential[Any, Any, Any]:
    of = _Weights(given, settings)
    first, *others = (of.linear(name) for name in given.weights if not name.endswith("bias"))
    return Sequential(first, *(step for layer in others for step in (wg.relu, layer)))


def _classified(given: Given, settings: Plugin, executor: Executor | None) -> Step:
    net = _dense(given, settings)
    return _stepping(given, lambda x, labels: wg.cross_entropy(net(x), labels), executor)


def mlp(sizes: Sizes, executor: Executor | None = None) -> Step:
    return _classified(data.mlp(sizes), _Adam(learning_rate=RATE), executor)


def varying(sizes: Sizes, executor: Executor | None = None) -> Step:
    return _classified(data.varying(sizes), SGD(learning_rate=RATE), executor)


def prediction(sizes: Sizes, executor: Executor | None = None) -> Step:
    given = data.mlp(sizes)
    net, batches = _dense(given, SGD(learning_rate=RATE)), cycle(given.batches)
    return lambda: float(net(next(batches)[0]).predict().run(executor)[0, 0])


def prediction_in_cells(sizes: Sizes, executor: Executor | None = None) -> Step:
    """The network is a cell: a call of it is one node."""
    given = data.mlp(sizes)
    net, batches = _dense(given, SGD(learning_rate=RATE)), cycle(given.batches)

    @wg.cell
    def called(x: Value) -> Value:
        return net(x)

    return lambda: float(called(next(batches)[0]).predict().run(executor)[0, 0])


def kept_prediction(sizes: Sizes, executor: Executor | None = None) -> Step:
    """The expressions are built once, one a batch."""
    given = data.mlp(sizes)
    net = _dense(given, SGD(learning_rate=RATE))
    kept = cycle([net(x).predict() for x, _ in given.batches])
    return lambda: float(next(kept).run(executor)[0, 0])


def images(sizes: Sizes, executor: Executor | None = None) -> Step:
    given = data.images(sizes)
    of = _Weights(given, _Adam(learning_rate=RATE))
    convolutions = [Conv2d(of[name], None, 1, 1) for name in given.weights if name.startswith("kernel")]
    dense, pooled = of.linear("dense"), len(convolutions) - 2

    def loss(x: Value, labels: Array) -> Value:
        for i, layer in enumerate(convolutions):
            x = wg.relu(layer(x))
            x = wg.max_pool2d(x, 2) if i >= pooled else x
        return wg.cross_entropy(dense(wg.reshape(x, (sizes.batch, -1))), labels)

    return _stepping(given, loss, executor)


def lstm(sizes: Sizes, executor: Executor | None = None) -> Step:
    given = data.lstm(sizes)
    of = _Weights(given, _Adam(learning_rate=RATE))
    layer = LSTM(LSTMCell(of["inputs"], of["hidden"], of["inputs bias"]))
    dense = of.linear("dense")

    def loss(words: Value, labels: Array) -> Value:
        _, (h, _) = layer(words)
        return wg.cross_entropy(dense(h), labels)

    return _stepping(given, loss, executor)


def _attention(of: _Weights, i: int, heads: int) -> MultiHeadAttention[Any, Any]:
    query, key, value, output = (of.linear(f"{part} {i}") for part in PARTS)
    return MultiHeadAttention(query, key, value, output, heads)


def transformer(sizes: Sizes, executor: Executor | None = None) -> Step:
    given = data.transformer(sizes)
    of = _Weights(given, _AdamW(learning_rate=RATE, weight_decay=DECAY))
    words, last, dense = Embedding(of["words"]), of.norm("last"), of.linear("dense")
    blocks = [
        (
            of.norm(f"first {i}"),
            _attention(of, i, sizes.heads),
            of.norm(f"second {i}"),
            Sequential(of.linear(f"wide {i}"), wg.gelu, of.linear(f"narrow {i}")),
        )
        for i in range(sizes.layers)
    ]

    def loss(x: Value, labels: Array) -> Value:
        h: Value = words(x)
        for first, attention, second, dense_part in blocks:
            h = h + attention(first(h))
            h = h + dense_part(second(h))
        classes = wg.reshape(dense(last(h)), (-1, sizes.classes))
        return wg.cross_entropy(classes, labels.reshape(-1))

    return _stepping(given, loss, executor)


def vae(sizes: Sizes, executor: Executor | None = None) -> Step:
    given = data.vae(sizes)
    of = _Weights(given, _Adam(learning_rate=RATE))
    encoder, mean, variance, decoder, pixels = (
        of.linear(name) for name in ("encoder", "mean", "variance", "decoder", "pixels")
    )

    def loss(x: Value, noise: Value) -> Value:
        h = wg.relu(encoder(x))
        m, v = mean(h), variance(h)
        seen: Value = pixels(wg.relu(decoder(m + wg.exp(0.5 * v) * noise)))
        entropy = wg.sum(wg.softplus(seen) - seen * x)
        divergence = -0.5 * wg.sum(1.0 + v - wg.square(m) - wg.exp(v))
        return (entropy + divergence) / sizes.batch

    return _stepping(given, loss, executor)


def dag(sizes: Sizes) -> Step:
    given = data.dag(sizes)
    of = _Weights(given, SGD(learning_rate=RATE))
    matrix, start = of["matrix"], of["start"]

    def loss(kinds: Array, left: Array, right: Array) -> Value:
        nodes: list[Value] = [start]
        for kind, i, j in zip(kinds.tolist(), left.tolist(), right.tolist(), strict=True):
            a, b = nodes[i], nodes[j]
            match kind:
                case 0:
                    node = a @ matrix
                case 1:
                    node = wg.tanh(a)
                case 2:
                    node = (a + b) * 0.5
                case _:
                    node = wg.tanh(a * b + start)
            nodes.append(node)
        return wg.mean(wg.square(nodes[-1]))

    return _stepping(given, loss)


def _numbers(given: Given) -> Callable[[Value, Value], Value]:
    """The network of one point, each weight a number of its own."""
    settings = SGD(learning_rate=RATE)
    weights = {
        name: [settings.double_weight(float(value)) for value in x.reshape(-1)]
        for name, x in given.weights.items()
    }
    names = [name for name in given.weights if not name.endswith("bias")]

    def score(x: Value, y: Value) -> Value:
        units: list[Value] = [x, y]
        for name in names:
            biases = weights[f"{name} bias"]
            found = []
            for column, total in enumerate(biases):
                for row, unit in enumerate(units):
                    total = total + unit * weights[name][row * len(biases) + column]
                found.append(total if name == names[-1] else wg.relu(total))
            units = found
        return units[0]

    return score


def moons(sizes: Sizes) -> Step:
    return _of_points(data.moons(sizes), _numbers(data.moons(sizes)), wg.run.Sequential())


def moons_in_cells(sizes: Sizes) -> Step:
    """The network of a point is a cell, and all points run at once."""
    score = _numbers(data.moons(sizes))

    @wg.cell
    def one(x: wg.DoubleLayer, y: wg.DoubleLayer) -> wg.DoubleLayer:
        layer: wg.DoubleLayer = score(x, y)
        return layer

    def lifted(x: float, y: float) -> Value:
        return one(wg.lift(x), wg.lift(y))

    return _of_points(data.moons(sizes), lifted, wg.run.Batched())


def _of_points(given: Given, score: Callable[[Value, Value], Value], executor: Any) -> Step:
    ((points, labels),) = given.batches
    rows = [(x, y, label) for (x, y), label in zip(points.tolist(), labels.tolist(), strict=True)]

    def step() -> float:
        total: Value = 0.0
        for x, y, label in rows:
            total = total + wg.relu(1.0 - label * score(x, y))
        return float((total / len(rows)).train().run(executor))

    return step
