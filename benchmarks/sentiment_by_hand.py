"""The network of `sentiment` by hand.

Knows: the mathematics, and numpy level by level.
Refuses to know: any other library.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.levels import Plan, added_by_word, planned
from benchmarks.network import Floats
from benchmarks.sentiment import EPS, WORD_RATE, Sentiment
from benchmarks.tree_lstm import sigmoid
from benchmarks.workload import Step


class ByHand:
    """Plain numpy, level by level."""

    def __init__(self, task: Sentiment) -> None:
        self.task = task
        self.weights = task.weights()
        self.squares = [np.zeros_like(w) for w in self.weights]

    def step(self, plan: Plan) -> float:
        words, leaf, leaf_bias, _, _, _, scores, score_bias = self.weights
        n, size, leaves = plan.size, self.task.size, plan.leaves
        h, c, dh, dc = (np.empty((n, size), np.float32) for _ in range(4))
        x = words[plan.words]
        z = x @ leaf
        z += leaf_bias
        i, o, u = activated(z, 3)
        c[:leaves] = i * u
        t = np.tanh(c[:leaves])
        h[:leaves] = o * t
        saved = [*self._forward(plan, h, c)]
        p = h @ scores
        p += score_bias
        loss = self._entropy(p, plan.labels)
        p /= np.float32(len(plan.roots))
        np.matmul(p, scores.T, out=dh)
        dc[plan.roots] = 0.0
        inner = [np.empty((n - leaves, k * size), np.float32) for k in (5, 1, 1)]
        self._backward(plan, saved, dh, dc, inner)
        dz, below, beside = inner
        dleaf = np.empty_like(z)
        one = dh[:leaves] * o * (1 - t * t) + dc[:leaves]
        dleaf[:, :size] = one * u * i * (1 - i)
        dleaf[:, size : 2 * size] = dh[:leaves] * t * o * (1 - o)
        dleaf[:, 2 * size :] = one * i * (1 - u * u)
        slopes: list[Any] = [
            x.T @ dleaf,
            dleaf.sum(0),
            below.T @ dz,
            beside.T @ dz,
            dz.sum(0),
            h.T @ p,
            p.sum(0),
        ]
        self._adagrad(slopes, *added_by_word(plan.words, dleaf @ leaf.T))
        return loss / len(plan.roots)

    def _forward(self, plan: Plan, h: Floats, c: Floats) -> Iterator[tuple[Any, ...]]:
        left, right, bias = self.weights[3:6]
        for level in plan.levels:
            a, b = h[level.left], h[level.right]
            z = a @ left
            z += b @ right
            z += bias
            i, f, k, o, u = gates = activated(z, 5)
            parts = c[level.left], c[level.right]
            memory = c[level.rows]
            np.multiply(i, u, out=memory)
            memory += f * parts[0]
            memory += k * parts[1]
            t = np.tanh(memory)
            np.multiply(o, t, out=h[level.rows])
            yield level, (a, b), gates, z, parts, t

    def _backward(
        self, plan: Plan, saved: list[tuple[Any, ...]], dh: Floats, dc: Floats, inner: list[Floats]
    ) -> None:
        size, leaves = self.task.size, plan.leaves
        back_left, back_right = self.weights[3].T, self.weights[4].T
        for level, (a, b), (i, f, k, o, u), z, parts, t in reversed(saved):
            rows = slice(level.rows.start - leaves, level.rows.stop - leaves)
            d, inner[1][rows], inner[2][rows] = inner[0][rows], a, b
            slope = dh[level.rows]
            one = 1.0 - t * t
            one *= o
            one *= slope
            one += dc[level.rows]
            for place, other in enumerate((u, *parts)):
                np.multiply(one, other, out=d[:, place * size : (place + 1) * size])
            np.multiply(slope, t, out=d[:, 3 * size : 4 * size])
            four = z[:, : 4 * size]
            d[:, : 4 * size] *= four
            d[:, : 4 * size] *= 1.0 - four
            last = d[:, 4 * size :]
            np.multiply(one, i, out=last)
            last *= 1.0 - u * u
            dh[level.left] += d @ back_left
            dh[level.right] += d @ back_right
            dc[level.left], dc[level.right] = one * f, one * k

    @staticmethod
    def _entropy(p: Floats, labels: Any) -> float:
        """The loss; `p` becomes its slope."""
        p -= p.max(1, keepdims=True)
        rows = np.arange(len(p))
        right = p[rows, labels].sum()
        np.exp(p, out=p)
        sums = p.sum(1, keepdims=True)
        p /= sums
        p[rows, labels] -= 1.0
        return float(np.log(sums).sum() - right)

    def _adagrad(self, slopes: list[Any], words: Any, rows: Floats) -> None:
        rate = np.float32(self.task.rate)
        for w, squares, d in zip(self.weights[1:], self.squares[1:], slopes, strict=True):
            squares += d * d
            d *= rate
            d /= np.sqrt(squares) + np.float32(EPS)
            w -= d
        squares = self.squares[0][words] + rows * rows
        self.squares[0][words] = squares
        self.weights[0][words] -= np.float32(WORD_RATE) * rows / (np.sqrt(squares) + np.float32(EPS))


def activated(z: Floats, gates: int) -> list[Floats]:
    """Sigmoids, and last a tangent, in place; as parts."""
    size = z.shape[1] // gates
    sigmoid(z[:, : (gates - 1) * size])
    last = z[:, (gates - 1) * size :]
    np.tanh(last, out=last)
    return [z[:, n * size : (n + 1) * size] for n in range(gates)]


def prepared(task: Sentiment) -> Step:
    """Plans are made before anything is timed."""
    model = ByHand(task)
    plans = [planned(batch) for batch in task.batches().seen]
    turn = iter(range(1 << 62))
    return lambda: model.step(plans[next(turn) % len(plans)])


def planning(task: Sentiment) -> Step:
    """A plan for each batch as it comes."""
    model, coming = ByHand(task), task.batches().new(task.warm)
    return lambda: model.step(planned(next(coming)))
