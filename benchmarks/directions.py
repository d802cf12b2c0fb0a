"""Workloads of sequences that are read forth and back, by two cells with weights of their own: launches in pairs.

Ours reads one sequence at a time; `Batched` puts those of a batch together, and with two threads both directions, which
do not need each other.

Knows: sizes, the mathematics, the variants and bars.
Refuses to know: how time is taken.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

import wengert as wg
from benchmarks.agreement import check_losses
from benchmarks.network import Floats
from benchmarks.workload import BY_HAND, OURS, Step, Variant, Workload
from wengert.plugins import SGD
from wengert.run import Batched

MS = 1e-3
CORES, RATE, WARM = 2, 0.05, 40  # steps: by then launches have been timed, and tried on lanes and in a line
THREADS = f"{OURS}, {CORES} threads"
NEVER_SLOWER = 1.05
Layer = wg.ArrayLayer[Any, np.float32]  # Any: shapes, which differ from task to task


@dataclass(frozen=True)
class Task:
    """Sizes. The loss is the mean of the products of both last states, h' = tanh(h U + x V + b)."""

    size: int
    batch: int
    time: int = 12

    def data(self) -> tuple[Floats, list[list[Floats]]]:
        """Words by time, and the weights of both directions."""
        chance, size = np.random.default_rng(0), self.size
        words = chance.standard_normal((self.time, self.batch, size)).astype(np.float32)
        matrices = [
            [(chance.standard_normal((size, size)) / np.sqrt(size)).astype(np.float32) for _ in range(2)]
            for _ in range(2)
        ]
        return words, [[*pair, np.zeros(size, np.float32)] for pair in matrices]


def ours(task: Task, threads: int) -> Step:
    """A loss of single sequences, built once."""
    words, weights = task.data()
    settings = SGD(learning_rate=RATE)

    def cell(u: Any, v: Any, b: Any) -> Any:  # Any: weights, and a cell
        @wg.cell
        def step(h: Layer, x: Layer) -> Layer:
            made: Layer = wg.tanh(h @ u + x @ v + b)
            return made

        return step

    forth, back = (cell(*map(settings.array_weight, some)) for some in weights)
    losses = []
    for i in range(task.batch):
        h = k = wg.lift(np.zeros((1, task.size), np.float32))
        for x in words[:, i : i + 1]:
            h = forth(h, wg.lift(x))
        for x in words[::-1, i : i + 1]:
            k = back(k, wg.lift(x))
        losses.append(wg.sum(h * k))
    loss, executor = wg.mean(wg.stack(losses)), Batched(threads=threads)
    return lambda: float(loss.train().run(executor))


def by_hand(task: Task) -> Step:
    """Plain numpy, all sequences at once."""
    words, weights = task.data()

    def forward(way: list[Floats], order: Floats) -> list[Floats]:
        u, v, b = way
        states = [np.zeros((task.batch, task.size), np.float32)]
        for x in order:
            states.append(np.tanh(states[-1] @ u + x @ v + b))
        return states

    def backward(way: list[Floats], order: Floats, states: list[Floats], g: Floats) -> None:
        u, *_ = way
        deltas = [np.zeros_like(w) for w in way]
        for t in range(task.time - 1, -1, -1):
            g = g * (1 - states[t + 1] ** 2)
            deltas[0] += states[t].T @ g
            deltas[1] += order[t].T @ g
            deltas[2] += g.sum(axis=0)
            g = np.asarray(g @ u.T, np.float32)
        for w, delta in zip(way, deltas, strict=True):
            w -= RATE * delta

    def step() -> float:
        ways = list(zip(weights, (words, words[::-1]), strict=True))
        h, k = (forward(*way) for way in ways)
        for way, states, other in ((ways[0], h, k), (ways[1], k, h)):
            backward(*way, states, other[-1] * np.float32(1 / task.batch))
        return float((h[-1] * k[-1]).sum() / task.batch)

    return step


def _variants(task: Task) -> tuple[Variant, ...]:
    return (
        Variant(THREADS, partial(ours, task, CORES)),
        Variant(OURS, partial(ours, task, 1)),
        Variant(BY_HAND, partial(by_hand, task)),
    )


def _workload(size: int, batch: int, bar: float) -> Workload:
    task, small, name = Task(size, batch), Task(8, 4, 3), f"directions-{size}-{batch}"
    makers = {OURS: partial(ours, small, 1), THREADS: partial(ours, small, CORES)}
    made = Workload(
        name,
        f"states of {size} forth and back over {task.time} words, batch {batch}; wall time on two cores",
        unit="ms a step",
        seconds_in_unit=MS,
        parts=1,
        variants=_variants(task),
        bars={(THREADS, OURS): bar},
        cores=CORES,
        warm=WARM,
        check=partial(check_losses, name, partial(by_hand, small), makers),
    )
    return replace(made, small=replace(made, variants=_variants(small), warm=3))


WORKLOADS = (_workload(16, 4, NEVER_SLOWER), _workload(256, 64, 1 / 1.2), _workload(512, 128, 1 / 1.3))
