"""The 20 fine heads by hand in three products: every layer of theirs stands in one array for all heads.

Knows: the derivative of all heads at once, and that weights which live in one array need no copying.
Refuses to know: columns, and a step that builds some heads only.
"""

from __future__ import annotations

import numpy as np

from benchmarks.columns_by_hand import ByHand
from benchmarks.network import CLASSES, LAYERS, RATE, Batch, Floats, Network, Parameters


class Stacked:
    """The weights of all heads, layer by layer: matrices (20, inputs, outputs), biases (20, 1, outputs)."""

    def __init__(self, network: Network) -> None:
        dense = network.parameters()[network.coarse + 1 :]
        self.matrices = [np.stack([w for w, _ in dense[i::LAYERS]]) for i in range(LAYERS)]
        self.biases = [np.stack([b for _, b in dense[i::LAYERS]])[:, None] for i in range(LAYERS)]
        self.scratch = [np.empty_like(w) for w in self.matrices]
        self.lines = np.arange(network.lines)
        self.heads = np.arange(CLASSES)[:, None]
        self.ones = np.ones((1, network.lines), np.float32)
        self.changes: list[tuple[Floats, Floats]] = []  # the input of each layer and the delta of its output

    def there_and_back(self, h: Floats, batch: Batch, dh: Floats) -> float:
        first, second, third = self.matrices
        p = self._relu(h, 0)
        q = self._relu(p, 1)
        logits = np.matmul(q, third)
        logits += self.biases[2]
        losses, d3 = self._entropy(logits, batch)
        d2 = np.matmul(d3, third.transpose(0, 2, 1))
        d2 *= np.sign(q)
        d1 = np.matmul(d2, second.transpose(0, 2, 1))
        d1 *= np.sign(p)
        dh += np.matmul(d1, first.transpose(0, 2, 1)).sum(axis=0)
        self.changes = [(h, d1), (p, d2), (q, d3)]
        return losses

    def _relu(self, x: Floats, layer: int) -> Floats:
        h: Floats = np.matmul(x, self.matrices[layer])
        h += self.biases[layer]
        np.maximum(h, 0.0, out=h)
        return h

    def _entropy(self, logits: Floats, batch: Batch) -> tuple[float, Floats]:
        """The losses of all heads, each as often as it counts, added up; and the derivative."""
        n = len(self.lines)
        counts = np.asarray(batch.counts, np.float32)
        logits -= logits.max(axis=2, keepdims=True)
        p = np.exp(logits)
        total = p.sum(axis=2, keepdims=True)
        losses = (np.log(total[:, :, 0]) - logits[self.heads, self.lines, batch.fine]).sum(axis=1)
        p /= total
        p[self.heads, self.lines, batch.fine] -= 1.0
        p *= (counts / np.float32(n))[:, None, None]
        return float(np.dot(counts, losses)) / n, p

    def update(self) -> None:
        for w, b, scratch, (x, d) in zip(self.matrices, self.biases, self.scratch, self.changes, strict=True):
            d *= RATE
            b -= np.matmul(self.ones, d)
            w -= np.matmul(x.swapaxes(-1, -2), d, out=scratch)

    def weights(self) -> Parameters:
        layers = [list(zip(w, b[:, 0], strict=True)) for w, b in zip(self.matrices, self.biases, strict=True)]
        return [dense for head in zip(*layers, strict=True) for dense in head]


def stacked(network: Network) -> ByHand:
    """The network with all fine heads at once; the rest is the fused version's."""
    return ByHand(network, Stacked(network), fused=True)
