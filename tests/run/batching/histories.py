"""Losses drawn at random, and what an executor gives for one of them after this and that has run before.

Knows: that to begin anew is to forget all signatures, on which hangs what was made for later runs.
Refuses to know: what the results ought to be.
"""

from __future__ import annotations

import gc
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import wengert as wg
from tests.run.batching.trees import Tree, grown
from tests.run.drawn import Draw
from wengert.control import Executor
from wengert.graph.operation import OPERATIONS
from wengert.plugins import SGD, Adam, LearningRate

Layer = Any  # an array expression of any shape
KINDS = ("network", "trees", "chains", "cells", "binds", "mixed")
SIZES = (2, 3, 4, 8, 16, 17, 33, 64)
WORDS = 7


class Moments(Adam, LearningRate):
    """An optimizer that remembers."""


def forget() -> None:
    """Have no operation know what it has met, as in a new process."""
    gc.collect()
    for operation in OPERATIONS.values():
        operation.signatures.clear()


class Model:
    """Weights, and a loss for each number of a batch; drawn with a seed in the same way each time."""

    def __init__(self, seed: int, settings: Any = None) -> None:  # Any: settings have no common type
        self.seed = seed
        chance = random.Random(seed)
        self.weights: list[Layer]
        self.kind = chance.choice(KINDS)
        self.dtype: Any = chance.choice((np.float32, np.float64))  # Any: either
        self.size = size = chance.choice(SIZES)
        settings = settings or chance.choice((SGD(learning_rate=0.1), Moments(learning_rate=0.01)))
        if self.kind == "network":
            self.draw = Draw(seed, settings)
            self.weights = [*self.draw.weights, *self.draw.tables, self.draw.double]
            return
        numbers = np.random.default_rng(seed)
        shapes = ((WORDS, size), (2 * size, size), (size,), (size, 3), (size, size))
        self.weights = [
            settings.array_weight((numbers.normal(size=shape) * 0.5).astype(self.dtype)) for shape in shapes
        ]
        self.words, self.joining, self.bias, self.classes, self.square = self.weights
        self.ways = [chance.randrange(5) for _ in range(chance.randrange(1, 6))]
        self.node: Callable[[Layer, Layer], Layer] = (
            wg.cell(self.body) if chance.random() < 0.5 else self.body
        )

    def body(self, a: Layer, b: Layer) -> Layer:
        """One node of a structure."""
        h = wg.tanh(wg.concat((a, b), axis=0) @ self.joining + self.bias)
        ways: tuple[Callable[[Layer], Layer], ...] = (
            lambda h: h * wg.sigmoid(a),
            lambda h: wg.tanh(h @ self.square),
            lambda h: h + wg.softmax(b, axis=0),
            lambda h: wg.maximum(h, a) - wg.mean(h),
            lambda h: wg.exp(-wg.square(h)) + wg.logsumexp(b),
        )
        for way in self.ways:
            h = ways[way](h)
        return h

    def word(self, chance: np.random.Generator) -> Layer:
        return wg.take(self.words, int(chance.integers(WORDS)))

    def tree(self, of: Tree) -> Layer:
        if isinstance(of, int):
            return wg.take(self.words, of)
        return self.node(self.tree(of[0]), self.tree(of[1]))

    def chain(self, chance: np.random.Generator) -> Layer:
        h: Layer = np.zeros(self.size, self.dtype)
        for _ in range(int(chance.integers(1, 12))):
            h = self.node(self.word(chance), h)
        return h

    def graph(self, chance: np.random.Generator) -> Layer:
        several = [self.word(chance) for _ in range(int(chance.integers(2, 6)))]
        for _ in range(int(chance.integers(5))):
            i, j = chance.integers(len(several), size=2)
            several.append(self.node(several[i], several[j]))
        together = wg.stack(several)
        h = wg.sum(together, axis=0) * 0.3 if chance.integers(2) else wg.max(together, axis=0)
        return wg.tanh(h @ self.square)

    def example(self, chance: np.random.Generator) -> Layer:
        """The loss of one example."""
        kind = KINDS[1 + int(chance.integers(3))] if self.kind == "mixed" else self.kind
        if kind == "chains":
            h = self.chain(chance)
        elif kind == "cells":
            h = self.graph(chance)
        else:
            h = self.tree(grown(chance, int(chance.integers(1, 10))))
        return wg.cross_entropy(h @ self.classes, int(chance.integers(3)))

    def loss(self, batch: int) -> Layer:
        """The loss of a batch: other structures for another number, and other numbers of rows."""
        chance = np.random.default_rng((self.seed, batch))
        count = int(chance.integers(1, 9))
        if self.kind == "network":
            parts = [self.draw.loss(10 * batch + i) for i in range(count)]
        else:
            parts = [self.example(chance) for _ in range(count)]
        if self.kind == "binds":
            choose = chosen(self.dtype)
            parts = [choose(x, self.example(chance)) if chance.integers(2) else x for x in parts]
        total = parts[0]
        for x in parts[1:]:
            total = total + x
        return total


def chosen(dtype: Any) -> Callable[[Layer, Layer], Layer]:  # Any: either element type
    """A layer that waits for the value of the first."""
    number = wg.ArrayLayer[Any, dtype]

    async def either(x: Layer, y: Layer) -> Layer:
        return y if float(await x) < 1.2 else y * 2.0

    either.__annotations__ = {"x": number, "y": number, "return": number}
    found: Callable[[Layer, Layer], Layer] = wg.differentiable(either)
    return found


Bits = tuple[tuple[str, bytes], ...]


def bits(x: object) -> Bits:
    """Dtype, shape and bytes of numbers and arrays."""
    several = x if isinstance(x, (tuple, list)) else (x,)
    arrays = [np.asarray(part) for part in several]
    return tuple((f"{a.dtype} {a.shape}", a.tobytes()) for a in arrays)


def after(seed: int, acts: str, executor: Callable[[], Executor]) -> list[tuple[str, Bits]]:
    """What the acts give that are told: `p`redict, `g`radients and `t`rain, of one loss.

    The others: `r`ebuild the loss, take a `n`ew executor, or have other losses run `b`efore.
    """
    forget()
    model, interpreter, others = Model(seed), executor(), 0
    weights: tuple[Layer, ...] = tuple(model.weights)
    loss, told = model.loss(0), list[tuple[str, Bits]]()
    for act in acts:
        if act == "p":
            told.append((act, bits(loss.predict().run(interpreter))))
        elif act == "g":
            told.append((act, bits(wg.gradients(loss, weights).run(interpreter))))
        elif act == "t":
            value = loss.train().run(interpreter)
            told.append((act, bits((value, *(w.data for w in weights)))))
        elif act == "r":
            loss = model.loss(0)
        elif act == "n":
            interpreter = executor()
        else:
            others += 1
            other = model.loss(others)
            other.predict().run(interpreter)
            wg.gradients(other, weights).run(interpreter)
    return told


def differing(seed: int, histories: Sequence[str], executor: Callable[[], Executor]) -> list[str]:
    """The histories after which something has other bits than after those before them.

    Training comes last in each, for it changes the weights.
    """
    first: dict[str, Bits] = {}
    found = []
    for acts in histories:
        assert "t" not in acts[:-1]
        if any(first.setdefault(act, made) != made for act, made in after(seed, acts, executor)):
            found.append(acts)
    return found
