"""The cell of `table_one`: its first weights, batches of one shape, and the version by hand.

h = relu([l, r] V + v); f, k, i, g = h W + b; y = s(f) l + s(k) r + s(i) tanh(g). A leaf is a row of a table. The loss
is 0.5 |y|^2 / size of each root, a tree on average; SGD with rate 1e-5. (Added up, it would soon drive the weights to
where gates are too small for a normal number, and times are those of such numbers.)

Knows: sizes, the mathematics, and numpy node after node, a row a tree.
Refuses to know: any other library.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import numpy as np

from benchmarks.forest import Forest, Trees, below
from benchmarks.levels import Places, added_by_word
from benchmarks.network import Floats
from benchmarks.tree_lstm import sigmoid
from benchmarks.workload import Step


@dataclass(frozen=True)
class Cell:
    """Sizes, and whether weights are trained."""

    size: int
    forest: Forest
    train: bool = True
    rate: float = 1e-5
    warm: int = 3

    @property
    def scale(self) -> float:
        """What a square counts."""
        return 1.0 / (self.size * self.forest.batch)

    def weights(self) -> list[Floats]:
        """Word rows, V, v, W, b."""
        chance, n = np.random.default_rng(0), self.size

        def uniform(factor: float, rows: int, columns: int) -> Floats:
            most = factor * np.sqrt(3 / rows)
            return chance.uniform(-most, most, (rows, columns)).astype(np.float32)

        words = chance.random((self.forest.words, n)).astype(np.float32)
        first, second = uniform(1.43, 2 * n, n), uniform(1.0, n, 4 * n)
        return [words, first, np.zeros(n, np.float32), second, np.zeros(4 * n, np.float32)]


@dataclass(frozen=True)
class Stacked:
    """A batch of trees of one shape: each leaf's words, and the nodes as places in a list of states."""

    words: Places  # a line a leaf
    parts: list[tuple[int, int]]


def stacked(trees: Trees) -> Stacked:
    """States of leaves come first in the list, then those of nodes."""
    columns = [[node.word for node in below((tree,)) if not node.parts] for tree in trees]
    leaves, done = iter(range(len(columns[0]))), list[int]()
    parts: list[tuple[int, int]] = []
    for node in below(trees[:1]):
        if node.parts:
            b, a = done.pop(), done.pop()
            parts.append((a, b))
            done.append(len(columns[0]) + len(parts) - 1)
        else:
            done.append(next(leaves))
    return Stacked(np.array(columns).T, parts)


class ByHand:
    """Plain numpy, node after node."""

    def __init__(self, task: Cell) -> None:
        self.task = task
        self.weights = task.weights()

    def step(self, given: Stacked) -> float:
        leaves = len(given.words)
        states = [*self.weights[0][given.words]]
        saved = [*self._forward(given, states)]
        y = states[-1]
        if self.task.train:
            self._backward(given, saved, leaves, y * np.float32(self.task.scale))
        return 0.5 * self.task.scale * float(np.vdot(y, y))

    def _forward(self, given: Stacked, states: list[Floats]) -> Iterator[tuple[Any, ...]]:
        size, (_, first, first_bias, second, second_bias) = self.task.size, self.weights
        for a, b in given.parts:
            x = np.concatenate((states[a], states[b]), 1)
            h = x @ first
            h += first_bias
            np.maximum(h, 0.0, out=h)
            z: Any = h @ second  # Any: the stubs see float64
            z += second_bias
            sigmoid(z[:, : 3 * size])
            g = z[:, 3 * size :]
            np.tanh(g, out=g)
            f, k, i = (z[:, n * size : (n + 1) * size] for n in range(3))
            y = f * states[a]
            y += k * states[b]
            y += i * g
            states.append(y)
            yield x, h, z

    def _backward(self, given: Stacked, saved: list[tuple[Any, ...]], leaves: int, root: Floats) -> None:
        size, (words, first, first_bias, second, second_bias) = self.task.size, self.weights
        deltas: list[Floats] = [root] * (leaves + len(saved))
        inner = [np.empty((len(saved), *root.shape[:-1], n * size), np.float32) for n in (2, 1, 1, 4)]
        for n in reversed(range(len(saved))):
            (a, b), (x, h, z), d = given.parts[n], saved[n], deltas[leaves + n]
            xs, dhs, hs, dzs = (rows[n] for rows in inner)
            xs[:], hs[:] = x, h
            f, k, i, g = (z[:, m * size : (m + 1) * size] for m in range(4))
            for m, other in enumerate((x[:, :size], x[:, size:], g)):
                np.multiply(d, other, out=dzs[:, m * size : (m + 1) * size])
            dzs[:, : 3 * size] *= z[:, : 3 * size]
            dzs[:, : 3 * size] *= 1.0 - z[:, : 3 * size]
            np.multiply(d * i, 1.0 - g * g, out=dzs[:, 3 * size :])
            np.matmul(dzs, second.T, out=dhs)
            dhs *= h > 0
            dx = dhs @ first.T
            deltas[a], deltas[b] = d * f + dx[:, :size], d * k + dx[:, size:]
        rate = np.float32(self.task.rate)
        x, dh, h, dz = (rows.reshape(-1, rows.shape[-1]) for rows in inner)
        ones = np.ones(len(x), np.float32)
        first -= rate * (x.T @ dh)
        first_bias -= rate * (ones @ dh)
        second -= rate * (h.T @ dz)
        second_bias -= rate * (ones @ dz)
        places, rows = added_by_word(given.words.reshape(-1), np.concatenate(deltas[:leaves]))
        words[places] -= rate * rows


def by_hand(task: Cell) -> Step:
    """A kept program for one shape."""
    model, around = ByHand(task), cycle(map(stacked, task.forest.batches().seen))
    return lambda: model.step(next(around))
