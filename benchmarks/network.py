"""The network of columns and heads: its sizes, its first weights and its batches, the same for every library.

Columns: dense 3072-64, ReLU, dense 64-64, ReLU, added up. Coarse head: dense 64-20, softmax cross-entropy.
20 fine heads, one a coarse class: dense 64-64, ReLU, 64-64, ReLU, 64-5, softmax cross-entropy. A batch holds
one coarse class. With `skip` a step builds the fine head of that class only; without, all 20, and each loss
counts 1 or 0 times. Batch 16, float32, SGD with rate 0.01.

Knows: which dense layer stands where, weights and batches from a seed, and how far two sets of weights lie
apart.
Refuses to know: any library, and how a step computes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

PIXELS, CLASSES, FINE, HEAD = 3072, 20, 5, 64
LAYERS = 3  # of a fine head
RATE = 0.01

Floats = np.ndarray[Any, np.dtype[np.float32]]
Integers = np.ndarray[Any, np.dtype[np.int64]]
Dense = tuple[Floats, Floats]  # matrix and bias
Parameters = list[Dense]
G = TypeVar("G")


class Batch(NamedTuple):
    """Images of one coarse class."""

    x: Floats
    coarse: int
    labels: Integers  # the coarse class, once a line
    fine: Integers
    counts: tuple[float, ...]  # of each fine head's loss: 1 for the class, 0 for all others


class Model(Protocol[G]):
    """The network in one library."""

    def given(self, batch: Batch, /) -> G:
        """The batch as this library likes it, made before anything is timed."""

    def step(self, given: G, /) -> float:
        """Forward, backward, update; the loss before the update."""

    def weights(self) -> Parameters:
        """All layers as they are now."""


@dataclass(frozen=True)
class Network:
    """Sizes; the layers stand in the order columns, coarse head, fine heads."""

    columns: int
    skip: bool = True
    width: int = 64
    lines: int = 16

    @property
    def coarse(self) -> int:
        """The place of the coarse head's layer."""
        return 2 * self.columns

    def heads(self, batch: Batch) -> Sequence[int]:
        """The fine heads that a step on this batch builds."""
        return (batch.coarse,) if self.skip else range(CLASSES)

    def fine(self, head: int) -> int:
        """The place of the first layer of a fine head."""
        return self.coarse + 1 + LAYERS * head

    def used(self, batch: Batch) -> list[int]:
        """The places of all layers that a step on this batch updates."""
        fine = [self.fine(head) + i for head in self.heads(batch) for i in range(LAYERS)]
        return [*range(self.coarse + 1), *fine]

    def parameters(self, seed: int = 0) -> Parameters:
        """Matrices from N(0, 1) / sqrt(inputs), and no bias."""
        chance = np.random.default_rng(seed)
        sizes = [(PIXELS, self.width), (self.width, self.width)] * self.columns + [(self.width, CLASSES)]
        sizes += [(self.width, HEAD), (HEAD, HEAD), (HEAD, FINE)] * CLASSES
        return [
            ((chance.standard_normal((n, m)) / np.sqrt(n)).astype(np.float32), np.zeros(m, np.float32))
            for n, m in sizes
        ]

    def batches(self, count: int = CLASSES, seed: int = 1) -> list[Batch]:
        """Random images around 0: with all pixels positive the first layer's units would die."""
        chance = np.random.default_rng(seed)
        made = []
        for i in range(count):
            x = (chance.random((self.lines, PIXELS)) - 0.5).astype(np.float32)
            coarse = i % CLASSES
            labels, fine = np.full(self.lines, coarse), chance.integers(0, FINE, self.lines)
            counts = tuple(float(head == coarse) for head in range(CLASSES))
            made.append(Batch(x, coarse, labels, fine, counts))
        return made


def trained(model: Model[Any], steps: int, batches: Sequence[Batch]) -> list[float]:
    """The losses of `steps` steps."""
    around = cycle([model.given(batch) for batch in batches])
    return [model.step(next(around)) for _ in range(steps)]


def distance(a: Iterable[Dense], b: Iterable[Dense]) -> float:
    """The greatest difference between any two elements."""
    pairs = ((p, q) for left, right in zip(a, b, strict=True) for p, q in zip(left, right, strict=True))
    return max(float(np.abs(p - q).max()) for p, q in pairs)
