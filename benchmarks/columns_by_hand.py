"""The network of `network`, forward and backward written out in numpy: what a library is measured against.

Knows: the derivative, and two ways to update: a product and a subtraction, or one product that adds in place.
Refuses to know: other ways to hold the weights, which `columns_stacked` has. The plain update is also the
reference for correctness, so it uses nothing of Wengert.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, Protocol

import numpy as np

from benchmarks.network import RATE, Batch, Dense, Floats, Integers, Network, Parameters
from wengert.arrays.changes import carry_out
from wengert.arrays.host import fused_update

Change = tuple[Dense, Floats, Floats]  # a layer, its input, the delta of its output


class Heads(Protocol):
    """The fine heads; a step asks for the derivative first and for the update when all are known."""

    def there_and_back(self, h: Floats, batch: Batch, dh: Floats) -> float:
        """The loss of all heads; its derivative by their input `h` is added to `dh`."""

    def update(self) -> None:
        """One step with the deltas of the last call."""

    def weights(self) -> Parameters:
        """All their layers."""


class OneByOne:
    """Head after head, as many as the network builds."""

    def __init__(self, network: Network, dense: Parameters, fused: bool) -> None:
        self.network = network
        self.dense = dense
        self.fused = fused
        self.changes: list[Change] = []

    def there_and_back(self, h: Floats, batch: Batch, dh: Floats) -> float:
        total = 0.0
        for head in self.network.heads(batch):
            first, second, third = self.dense[3 * head : 3 * head + 3]
            p = relu(h, first)
            q = relu(p, second)
            loss, d = entropy(np.dot(q, third[0]) + third[1], batch.fine)
            if not self.network.skip:
                loss *= batch.counts[head]
                d *= batch.counts[head]
            total += loss
            self.changes.append((third, q, d))
            d = np.dot(d, third[0].T) * np.sign(q)
            self.changes.append((second, p, d))
            d = np.dot(d, second[0].T) * np.sign(p)
            self.changes.append((first, h, d))
            dh += np.dot(d, first[0].T)
        return total

    def update(self) -> None:
        update(self.changes, RATE, self.fused)
        self.changes.clear()

    def weights(self) -> Parameters:
        return self.dense


class ByHand:
    """Weights, and one step of SGD on them; every update comes after the last derivative."""

    def __init__(
        self, network: Network, heads: Heads, *, fused: bool = True, column_rate: float = RATE
    ) -> None:
        self.columns = network.columns
        self.dense = network.parameters()[: network.coarse + 1]
        self.heads = heads
        self.fused = fused
        self.column_rate = column_rate

    def given(self, batch: Batch) -> Batch:
        return batch

    def weights(self) -> Parameters:
        return [*self.dense, *self.heads.weights()]

    def step(self, batch: Batch) -> float:
        dense, x = self.dense, batch.x
        hidden: list[tuple[Floats, Floats]] = []
        h: Any = 0.0  # Any: nothing yet, then an array
        for i in range(self.columns):
            first = relu(x, dense[2 * i])
            second = relu(first, dense[2 * i + 1])
            hidden.append((first, second))
            h = second if i == 0 else h + second
        w, b = dense[-1]
        coarse_loss, d = entropy(np.dot(h, w) + b, batch.labels)
        coarse: Change = (dense[-1], h, d)
        dh = np.dot(d, w.T)
        fine_loss = self.heads.there_and_back(h, batch, dh)

        changes: list[Change] = []
        for i, (first, second) in enumerate(hidden):
            d = dh * np.sign(second)
            changes.append((dense[2 * i + 1], first, d))
            d = np.dot(d, dense[2 * i + 1][0].T) * np.sign(first)
            changes.append((dense[2 * i], x, d))
        update([coarse], RATE, self.fused)
        update(changes, self.column_rate, self.fused)
        self.heads.update()
        return coarse_loss + fine_loss

    def living_units(self, batch: Batch) -> float:
        """The share of the first layer's units above 0: where they die, a time is of a dead network."""
        return float((relu(batch.x, self.dense[0]) > 0).mean())


def one_by_one(network: Network, *, fused: bool, column_rate: float = RATE) -> ByHand:
    """The network with a fine head after another."""
    heads = OneByOne(network, network.parameters()[network.coarse + 1 :], fused)
    return ByHand(network, heads, fused=fused, column_rate=column_rate)


def relu(x: Floats, dense: Dense) -> Floats:
    """A dense layer and its unit."""
    w, b = dense
    h: Floats = np.dot(x, w)
    h += b
    np.maximum(h, 0.0, out=h)
    return h


def entropy(logits: Floats, labels: Integers) -> tuple[float, Floats]:
    """The mean of -log softmax at the labels, and its derivative."""
    n = len(labels)
    logits -= logits.max(axis=1, keepdims=True)
    p = np.exp(logits)
    total = p.sum(axis=1, keepdims=True)
    lines = np.arange(n)
    loss = float((np.log(total[:, 0]) - logits[lines, labels]).sum()) / n
    p /= total
    p[lines, labels] -= 1.0
    p /= n
    return loss, p


@cache
def ones(n: int) -> Floats:
    """A product with them takes a third of the time of a sum."""
    return np.ones(n, np.float32)


def update(changes: Iterable[Change], rate: float, fused: bool) -> None:
    """Every layer's step."""
    for (w, b), x, d in changes:
        if fused:
            carry_out(fused_update(w, x, d, rate))
        else:
            w -= rate * np.dot(x.T, d)
        b -= rate * np.dot(ones(len(d)), d)
