"""The learning rate: the last factor of a step.

Knows: D74 and the order that it asks for.
Refuses to know: what stands to its left.
"""

from __future__ import annotations

from typing import ClassVar

from wengert.arrays import Value
from wengert.graph.weights import Weight
from wengert.lazy import scaled
from wengert.plugins.optimizer import Optimizer
from wengert.plugins.plugin import Plugin


class Scaled(Optimizer["LearningRate"]):
    """step = learning_rate · d, which stays lazy if d is."""

    def step(self, delta: Value, weight: Weight) -> Value:
        return super().step(scaled(delta, self.settings.learning_rate), weight)


class LearningRate(Plugin):
    """w ← w - learning_rate · d.

    >>> w = LearningRate(learning_rate=0.5).double_weight(2.0)
    >>> (w * w).train().run(), w.data
    (4.0, 0.0)

    Source: H. Robbins, S. Monro, "A Stochastic Approximation Method", 1951.
    """

    learning_rate: float
    optimizer: ClassVar[type[Optimizer]] = Scaled


class SGD(LearningRate):
    """Stochastic gradient descent: the learning rate alone."""
