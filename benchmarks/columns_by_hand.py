"""The network of `columns`, forward and backward written out in numpy: what a library is measured against.

Knows: the derivative, and two ways to update: a product and a subtraction, or one product that adds in place.
Refuses to know: where weights and batches come from. The plain update is also the reference for correctness,
so it uses nothing of Wengert.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from wengert.arrays.host import fused_update

Floats = np.ndarray[Any, np.dtype[np.float32]]
Integers = np.ndarray[Any, np.dtype[np.int64]]
Parameters = list[tuple[Floats, Floats]]


class BatchLike(Protocol):
    """What a step is given."""

    @property
    def x(self) -> Floats: ...
    @property
    def coarse(self) -> int: ...
    @property
    def labels(self) -> Integers: ...
    @property
    def fine(self) -> Integers: ...


class ByHand:
    """Weights, and one step of SGD on them; every update comes after the last derivative."""

    def __init__(
        self, dense: Parameters, columns: int, rate: float, column_rate: float, *, fused: bool
    ) -> None:
        self.dense = dense
        self.columns = columns
        self.rate = rate
        self.column_rate = column_rate
        self.fused = fused
        self.ones = np.ones(len(dense[0][0]), np.float32)

    def weights(self) -> Parameters:
        return self.dense

    def step(self, batch: BatchLike) -> float:
        dense, columns, x = self.dense, self.columns, batch.x
        updates: list[tuple[int, Floats, Floats]] = []  # (layer, its input, the delta of its output)
        hidden = []
        h: Any = 0.0
        for i in range(columns):
            first = _relu(x, dense[2 * i])
            second = _relu(first, dense[2 * i + 1])
            hidden.append((first, second))
            h = second if i == 0 else h + second
        head, fine = 2 * columns, 2 * columns + 1 + 3 * batch.coarse
        w, b = dense[head]
        coarse_loss, d = _entropy(np.dot(h, w) + b, batch.labels)
        updates.append((head, h, d))
        dh = np.dot(d, w.T)

        p = _relu(h, dense[fine])
        q = _relu(p, dense[fine + 1])
        w, b = dense[fine + 2]
        fine_loss, d = _entropy(np.dot(q, w) + b, batch.fine)
        updates.append((fine + 2, q, d))
        d = np.dot(d, w.T) * np.sign(q)
        updates.append((fine + 1, p, d))
        d = np.dot(d, dense[fine + 1][0].T) * np.sign(p)
        updates.append((fine, h, d))
        dh += np.dot(d, dense[fine][0].T)

        for i, (first, second) in enumerate(hidden):
            d = dh * np.sign(second)
            updates.append((2 * i + 1, first, d))
            d = np.dot(d, dense[2 * i + 1][0].T) * np.sign(first)
            updates.append((2 * i, x, d))
        self._update(updates)
        return coarse_loss + fine_loss

    def _update(self, updates: list[tuple[int, Floats, Floats]]) -> None:
        ones = self.ones[: len(updates[0][1])]
        for index, x, d in updates:
            w, b = self.dense[index]
            rate = self.column_rate if index < 2 * self.columns else self.rate
            if self.fused:
                fused_update(w, x, d, rate)
            else:
                w -= rate * np.dot(x.T, d)
            b -= rate * np.dot(ones, d)

    def living_units(self, batch: BatchLike) -> float:
        """The share of the first layer's units above 0: where they die, a time is of a dead network."""
        return float((_relu(batch.x, self.dense[0]) > 0).mean())


def _relu(x: Floats, dense: tuple[Floats, Floats]) -> Floats:
    w, b = dense
    h: Floats = np.dot(x, w)
    h += b
    np.maximum(h, 0.0, out=h)
    return h


def _entropy(logits: Floats, labels: Integers) -> tuple[float, Floats]:
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
