"""The data of networks as people train them: sizes, first weights and batches, the same for every library.

Knows: names and shapes of weights, and what a batch is made of.
Refuses to know: any library, and how a step computes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]  # Any: of every shape and type
RATE, DECAY, EPS = 1e-3, 0.01, 1e-5


@dataclass(frozen=True)
class Sizes:
    """Of a network; a network reads those that it has."""

    batch: int = 0
    widths: tuple[int, ...] = ()  # of dense layers, or channels
    side: int = 0  # of an image
    time: int = 0
    heads: int = 0
    layers: int = 0
    classes: int = 10


@dataclass(frozen=True)
class Given:
    """First weights by name, and batches."""

    weights: Mapping[str, Any]  # Any: arrays, as a library takes them
    batches: Sequence[tuple[Array, ...]]


class _Drawn:
    """Weights of float32, drawn in turn."""

    def __init__(self) -> None:
        self.chance = np.random.default_rng(0)
        self.weights: dict[str, Array] = {}

    def dense(self, name: str, rows: int, columns: int) -> None:
        self.weights[name] = self.normal(rows, columns) * np.float32(rows**-0.5)
        self.weights[f"{name} bias"] = np.zeros(columns, np.float32)

    def kernel(self, name: str, out: int, into: int) -> None:
        self.weights[name] = self.normal(out, into, 3, 3) * np.float32((9 * into) ** -0.5)

    def normal(self, *shape: int) -> Array:
        return self.chance.standard_normal(shape, np.float32)

    def labels(self, classes: int, *shape: int) -> Array:
        return self.chance.integers(0, classes, shape)


def mlp(sizes: Sizes) -> Given:
    """Dense layers with ReLU between them."""
    drawn = _Drawn()
    for i, (n, m) in enumerate(zip(sizes.widths, sizes.widths[1:], strict=False)):
        drawn.dense(f"dense {i}", n, m)
    first, classes = sizes.widths[0], sizes.widths[-1]
    batches = [(drawn.normal(sizes.batch, first), drawn.labels(classes, sizes.batch)) for _ in range(4)]
    return Given(drawn.weights, batches)


def varying(sizes: Sizes) -> Given:
    """The same, with batches of all sizes up to `batch`, in no order."""
    longest = mlp(sizes)
    x, labels = longest.batches[0]
    lengths = np.random.default_rng(1).permutation(sizes.batch) + 1
    return Given(longest.weights, [(x[:n], labels[:n]) for n in lengths])


def images(sizes: Sizes) -> Given:
    """Convolutions of 3x3 with padding 1 and ReLU, and a dense layer; the last two end with pooling by 2."""
    drawn = _Drawn()
    for i, (n, m) in enumerate(zip(sizes.widths, sizes.widths[1:], strict=False)):
        drawn.kernel(f"kernel {i}", m, n)
    drawn.dense("dense", sizes.widths[-1] * (sizes.side // 4) ** 2, sizes.classes)
    shape = (sizes.batch, sizes.widths[0], sizes.side, sizes.side)
    batches = [(drawn.normal(*shape), drawn.labels(sizes.classes, sizes.batch)) for _ in range(2)]
    return Given(drawn.weights, batches)


def lstm(sizes: Sizes) -> Given:
    """One LSTM over time, and a dense layer on the last output; batches are (time, batch, features)."""
    drawn = _Drawn()
    (size,) = sizes.widths
    drawn.dense("inputs", size, 4 * size)
    drawn.weights["hidden"] = drawn.normal(size, 4 * size) * np.float32(size**-0.5)
    drawn.dense("dense", size, sizes.classes)
    shape = (sizes.time, sizes.batch, size)
    batches = [(drawn.normal(*shape), drawn.labels(sizes.classes, sizes.batch)) for _ in range(2)]
    return Given(drawn.weights, batches)


PARTS: Final = ("query", "key", "value", "output")


def transformer(sizes: Sizes) -> Given:
    """Blocks of attention and of a dense layer four times as wide, normalized before; words to classes."""
    drawn = _Drawn()
    (width,) = sizes.widths
    drawn.weights["words"] = drawn.normal(sizes.classes, width)
    for i in range(sizes.layers):
        for part in PARTS:
            drawn.dense(f"{part} {i}", width, width)
        drawn.dense(f"wide {i}", width, 4 * width)
        drawn.dense(f"narrow {i}", 4 * width, width)
        _norms(drawn, width, f"first {i}", f"second {i}")
    _norms(drawn, width, "last")
    drawn.dense("dense", width, sizes.classes)
    shape = (sizes.batch, sizes.time)
    batches = [(drawn.labels(sizes.classes, *shape), drawn.labels(sizes.classes, *shape)) for _ in range(2)]
    return Given(drawn.weights, batches)


def _norms(drawn: _Drawn, width: int, *names: str) -> None:
    for name in names:
        drawn.weights[name] = np.ones(width, np.float32)
        drawn.weights[f"{name} bias"] = np.zeros(width, np.float32)


def vae(sizes: Sizes) -> Given:
    """A dense encoder and decoder of Bernoulli pixels; a batch has its noise."""
    drawn = _Drawn()
    pixels, wide, code = sizes.widths
    for name, n, m in (
        ("encoder", pixels, wide),
        ("mean", wide, code),
        ("variance", wide, code),
        ("decoder", code, wide),
        ("pixels", wide, pixels),
    ):
        drawn.dense(name, n, m)
    batches = [
        (drawn.chance.random((sizes.batch, pixels), np.float32), drawn.normal(sizes.batch, code))
        for _ in range(4)
    ]
    return Given(drawn.weights, batches)


def dag(sizes: Sizes) -> Given:
    """A matrix and a start; a batch is the nodes of a graph: for each its kind and the two that it reads."""
    drawn = _Drawn()
    side = sizes.side
    drawn.weights["matrix"] = drawn.normal(side, side) * np.float32(side**-0.5)
    drawn.weights["start"] = drawn.normal(side, side)
    graphs = np.random.default_rng(1)
    earlier = np.arange(1, sizes.layers + 1)
    batches = [
        (
            graphs.integers(0, 4, sizes.layers),
            graphs.integers(np.maximum(earlier - 8, 0), earlier),
            graphs.integers(0, earlier),
        )
        for _ in range(200)
    ]
    return Given(drawn.weights, batches)


def moons(sizes: Sizes) -> Given:
    """Two half circles with labels -1 and 1, and a dense network whose weights are numbers."""
    drawn = _Drawn()
    for i, (n, m) in enumerate(zip(sizes.widths, sizes.widths[1:], strict=False)):
        drawn.dense(f"dense {i}", n, m)
    angle = np.linspace(0.0, np.pi, sizes.batch // 2)
    upper, lower = (np.cos(angle), np.sin(angle)), (1.0 - np.cos(angle), 0.5 - np.sin(angle))
    points = np.concatenate([np.stack(upper, 1), np.stack(lower, 1)])
    labels = np.repeat((1.0, -1.0), sizes.batch // 2)
    weights = {name: x.astype(np.float64) for name, x in drawn.weights.items()}
    return Given(weights, [(points, labels)])
