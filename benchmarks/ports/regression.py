"""A polynomial of degree 4 found by one linear layer and the smooth L1 loss.

Knows: fresh points in each step.
Refuses to know: anything deep.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, Literal

import numpy as np

import wengert as wg
from benchmarks.ports.port import TORCH, Port, stepped, tensors, torch
from benchmarks.workload import Step
from wengert.nn import Linear
from wengert.plugins import SGD

DEGREE: Final = 4
Rows = np.ndarray[tuple[int, int], np.dtype[np.float32]]


class Batch(int):
    """How many points."""


def batches(size: int = 32) -> Iterator[tuple[Rows, Rows]]:
    """Powers of random points, and the polynomial of them."""
    chance = np.random.default_rng(0)
    weights, bias = 5.0 * chance.standard_normal((DEGREE, 1)), 5.0 * chance.standard_normal()
    while True:
        x = chance.standard_normal((size, 1)) ** np.arange(1, DEGREE + 1)
        yield x.astype(np.float32), (x @ weights + bias).astype(np.float32)


def line() -> Linear[Literal[4], Literal[1]]:
    return Linear.make(SGD(learning_rate=0.1), 4, 1, seed=0)


def ours() -> Step:
    model, data = line(), batches()

    def step() -> float:
        x, y = next(data)
        loss = wg.smooth_l1_loss(model(wg.literal(x, Batch, 4)), wg.literal(y, Batch, 1))
        return loss.train().run().item()

    return step


def theirs() -> Step:
    library, weights, data = torch(), tensors(line()), batches()
    f: Any = library.nn.functional
    optimizer = library.optim.SGD(weights.values(), lr=0.1)

    def step() -> float:
        x, y = map(library.from_numpy, next(data))
        return stepped(optimizer, f.smooth_l1_loss(x @ weights["weight"] + weights["bias"], y))

    return step


PORT: Final = Port(
    "regression",
    "pytorch/examples, regression",
    "a polynomial of degree 4, batch 32, smooth L1, SGD",
    TORCH,
    ours,
    theirs,
    (Batch, line, ours),
)
