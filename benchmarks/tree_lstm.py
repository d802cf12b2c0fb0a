"""The Tree-LSTM of the tree workloads: its first weights, what a run is, and the version by hand.

[h_left, h_right] W + b = i, f, k, o, u; c = s(i) tanh(u) + s(f) c_left + s(k) c_right; h = s(o) tanh(c). A leaf
is its word's row, and c = 0. The loss is 0.5 |h|^2 / size of each root, a tree on average. SGD.

Knows: sizes, the mathematics, and numpy level by level.
Refuses to know: any other library.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.forest import Batches, Forest
from benchmarks.levels import Plan, added_by_word, planned
from benchmarks.network import Floats
from benchmarks.workload import Step

RATE = 0.01


@dataclass(frozen=True)
class Task:
    """Sizes, and whether weights are trained or roots only predicted."""

    size: int
    forest: Forest
    train: bool = True
    rate: float = RATE
    warm: int = 3

    def weights(self) -> tuple[Floats, Floats, Floats]:
        """Word rows, gates and bias."""
        chance, size = np.random.default_rng(0), self.size
        gates = chance.standard_normal((2 * size, 5 * size)) / np.sqrt(2 * size)
        words = chance.standard_normal((self.forest.words, size)) / 2
        return words.astype(np.float32), gates.astype(np.float32), np.zeros(5 * size, np.float32)

    def batches(self) -> Batches:
        return self.forest.batches()


@dataclass
class Room:
    """The arrays of a batch that is run again."""

    plan: Plan
    size: int
    h: Floats = field(init=False)
    c: Floats = field(init=False)
    x: Floats = field(init=False)
    dh: Floats = field(init=False)
    dc: Floats = field(init=False)
    dz: Floats = field(init=False)

    def __post_init__(self) -> None:
        rows, size = self.plan.size, self.size
        inner = rows - self.plan.leaves
        self.h, self.c, self.dh, self.dc = (np.empty((rows, size), np.float32) for _ in range(4))
        self.x, self.dz = (np.empty((inner, n * size), np.float32) for n in (2, 5))


class ByHand:
    """Plain numpy, level by level."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.words, self.gates, self.bias = task.weights()

    def step(self, room: Room) -> float:
        plan, size = room.plan, self.task.size
        room.h[: plan.leaves] = self.words[plan.words]
        room.c[: plan.leaves] = 0.0
        saved = [*self.forward(room)]
        roots = room.h[plan.roots]
        scale = 1.0 / (size * len(roots))
        if self.task.train:
            room.dh[plan.roots] = roots * np.float32(scale)
            room.dc[plan.roots] = 0.0
            self.backward(room, saved)
            self.update(room)
        return 0.5 * scale * float(np.vdot(roots, roots))

    def forward(self, room: Room) -> Iterator[tuple[Any, ...]]:
        """What backward needs of each level."""
        h, c, size, leaves = room.h, room.c, self.task.size, room.plan.leaves
        for level in room.plan.levels:
            rows = slice(level.rows.start - leaves, level.rows.stop - leaves)
            x = room.x[rows]
            x[:, :size] = h[level.left]
            x[:, size:] = h[level.right]
            z = x @ self.gates
            z += self.bias
            gates, u = z[:, : 4 * size], z[:, 4 * size :]
            sigmoid(gates)
            np.tanh(u, out=u)
            left, right = c[level.left], c[level.right]
            i, f, k, o = (gates[:, n * size : (n + 1) * size] for n in range(4))
            memory = c[level.rows]
            np.multiply(i, u, out=memory)
            memory += f * left
            memory += k * right
            t = np.tanh(memory)
            np.multiply(o, t, out=h[level.rows])
            yield level, rows, gates, u, left, right, t

    def backward(self, room: Room, saved: list[tuple[Any, ...]]) -> None:
        dh, dc, size, back = room.dh, room.dc, self.task.size, self.gates.T
        for level, rows, gates, u, left, right, t in reversed(saved):
            i, f, k, o = (gates[:, n * size : (n + 1) * size] for n in range(4))
            slope, d = dh[level.rows], room.dz[rows]
            one = 1.0 - t * t
            one *= o
            one *= slope
            one += dc[level.rows]
            for n, other in enumerate((u, left, right)):
                np.multiply(one, other, out=d[:, n * size : (n + 1) * size])
            np.multiply(slope, t, out=d[:, 3 * size : 4 * size])
            d[:, : 4 * size] *= gates
            d[:, : 4 * size] *= 1.0 - gates
            last = d[:, 4 * size :]
            np.multiply(one, i, out=last)
            last *= 1.0 - u * u
            dx = d @ back
            dh[level.left], dh[level.right] = dx[:, :size], dx[:, size:]
            dc[level.left], dc[level.right] = one * f, one * k

    def update(self, room: Room) -> None:
        """One product for all levels; each word's row once."""
        rate, plan = np.float32(self.task.rate), room.plan
        slope = room.x.T @ room.dz
        slope *= rate
        self.gates -= slope
        self.bias -= rate * (np.ones(len(room.dz), np.float32) @ room.dz)
        words, rows = added_by_word(plan.words, room.dh[: plan.leaves])
        self.words[words] -= rate * rows


def sigmoid(x: Floats) -> None:
    """In place."""
    np.negative(x, out=x)
    np.exp(x, out=x)
    x += 1.0
    np.reciprocal(x, out=x)


def prepared(task: Task) -> Step:
    """Plans and arrays are made before anything is timed."""
    model = ByHand(task)
    rooms = [Room(planned(batch), task.size) for batch in task.batches().seen]
    turn = iter(range(1 << 62))
    return lambda: model.step(rooms[next(turn) % len(rooms)])


def planning(task: Task) -> Step:
    """A plan for each batch as it comes."""
    model, coming = ByHand(task), task.batches().new(task.warm)
    return lambda: model.step(Room(planned(next(coming)), task.size))
