"""A recursive model over random trees, written for one example, and what compares interpreters on it.

Knows: trees as nested tuples with words at the leaves.
Refuses to know: who runs the model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import wengert as wg
from wengert import run
from wengert.control import Executor
from wengert.plugins import SGD

Tree = Any  # a word, or a pair of trees
Layer = Any  # an array expression of any shape
WORDS = 7


def grown(chance: np.random.Generator, leaves: int) -> Tree:
    """A tree whose halves are of any sizes."""
    if leaves == 1:
        return int(chance.integers(WORDS))
    left = int(chance.integers(1, leaves))
    return grown(chance, left), grown(chance, leaves - left)


def trees(seed: int, count: int, most: int = 9) -> list[Tree]:
    """Trees of 1 to `most` leaves."""
    chance = np.random.default_rng(seed)
    return [grown(chance, int(chance.integers(1, most + 1))) for _ in range(count)]


class TreeLSTM:
    """Two states a node; a leaf begins with a memory of zeros."""

    def __init__(self, size: int = 4, dtype: Any = np.float64, settings: Any = None) -> None:
        chance = np.random.default_rng(3)
        settings = settings or SGD(learning_rate=0.1)

        def weight(*shape: int) -> Layer:
            return settings.array_weight(chance.normal(size=shape).astype(dtype) * 0.5)

        self.words, self.gates, self.bias = (
            weight(WORDS, size),
            weight(2 * size, 5 * size),
            weight(5 * size),
        )
        self.zero = np.zeros(size, dtype)
        gates, bias = self.gates, self.bias

        @wg.cell
        def node(h: Layer, c: Layer, k: Layer, d: Layer) -> tuple[Layer, Layer]:
            i, f, g, o, u = wg.split(wg.concat((h, k), axis=0) @ gates + bias, 5, axis=-1)
            memory = wg.sigmoid(i) * wg.tanh(u) + wg.sigmoid(f) * c + wg.sigmoid(g) * d
            return wg.sigmoid(o) * wg.tanh(memory), memory

        self.node = node

    @property
    def weights(self) -> tuple[Layer, ...]:
        return self.words, self.gates, self.bias

    def state(self, tree: Tree) -> tuple[Layer, Layer]:
        """The two states of a tree's root."""
        if isinstance(tree, int):
            return wg.take(self.words, tree), self.zero
        return self.node(*self.state(tree[0]), *self.state(tree[1]))

    def loss(self, examples: Sequence[Tree]) -> Layer:
        """A loss of all examples."""
        total: Layer = 0.0
        for tree in examples:
            total = total + wg.mean(wg.square(self.state(tree)[0]))
        return total


def trained(model: Any, losses: Callable[[int], Layer], executor: Executor, steps: int = 3) -> list[Any]:
    """The losses of some steps, and the weights after them. Any: models and numbers of every type."""
    seen = [losses(step).train().run(executor) for step in range(steps)]
    return [*map(float, seen), *(w.data for w in model.weights)]


def close(a: Sequence[Any], b: Sequence[Any], tolerance: float = 1e-12) -> None:
    """Equal up to rounding, in the size of the larger numbers (S9)."""
    assert len(a) == len(b)
    for x, y in zip(a, b, strict=True):
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance * max(1.0, float(np.abs(x).max())))


def sequential() -> run.Sequential:
    return run.Sequential(compiled=False)
