"""A small network for tests of clusters: a table, dropout, a mean over examples, and how a training is told apart.

Knows: what a training leaves behind, as one digest.
Refuses to know: who computes a step.
"""

from __future__ import annotations

import hashlib
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

import wengert as wg
from tests.optimizers import WithAdam, WithMomentum
from wengert.control import Executor
from wengert.plugins import SGD

SETTINGS: dict[str, Any] = {  # Any: settings have no common type
    "SGD": lambda: SGD(learning_rate=0.1),
    "Adam": lambda: WithAdam(learning_rate=0.01),
    "Momentum": lambda: WithMomentum(learning_rate=0.05),
}
Batch = tuple[np.ndarray[Any, np.dtype[np.int64]], np.ndarray[Any, np.dtype[np.int64]]]


class Model:
    """Weights, and the loss of a batch of places in a table and labels."""

    def __init__(self, optimizer: str, rows: int = 300) -> None:
        settings, chance = SETTINGS[optimizer](), np.random.default_rng(0)

        def array(*shape: int) -> Any:  # Any: of any shape
            return chance.standard_normal(shape).astype(np.float32)

        self.table = settings.array_weight(array(rows, 8), name="table")
        self.w = settings.array_weight(array(8, 8), name="w")
        self.u = settings.array_weight(array(8, 4), name="u")
        self.seen = settings.buffer(array(8), name="seen")

    def loss(self, batch: Batch, seed: Any) -> Any:  # Any: the seed of a layer, a scalar expression
        places, labels = batch
        h = wg.tanh(wg.take(self.table, places) @ self.w)
        if seed is not None:
            h = wg.with_update(wg.dropout(h, 0.2, seed=seed), self.seen, wg.mean(h, axis=0), rate=0.1)
        return wg.cross_entropy(h @ self.u, labels)


def batch_of(step: int, size: int = 9) -> Batch:
    """The batch of a step."""
    chance = np.random.default_rng(step)
    return chance.integers(0, 300, size), chance.integers(0, 4, size)


def trained(
    executor: Executor | None,
    steps: int,
    count: int,
    optimizer: str = "Adam",
    before: Callable[[int], object] = lambda step: None,
) -> str:
    """Digest of all losses, weights, and states of optimizers."""
    model, digest = Model(optimizer), hashlib.sha256()
    for step in range(steps):
        before(step)
        loss = wg.shards(model.loss, batch_of(step), count, seed=step)
        digest.update(np.float64(loss.train().run(executor)).tobytes())
    for weight in (model.table, model.w, model.u, model.seen):
        digest.update(weight.data.tobytes())
        state = weight.optimizer.state() or {}
        for name in sorted(state):
            digest.update(np.asarray(state[name]).tobytes())
    return digest.hexdigest()


W = SGD(learning_rate=0.1).double_weight(1.0, name="w")


def failing(part: Any, seed: object) -> Any:  # Any: a batch, and a loss
    """A loss that fails in the run where the part has a number above 1."""

    @wg.differentiable
    async def checked(x: wg.DoubleLayer) -> wg.DoubleLayer:
        if await x > 1.0:
            raise LookupError("above 1")
        return x

    return checked(W * float(part[0]))


def stopping(path: str, part: Any, seed: object) -> Any:  # Any: as above
    """A loss whose first process stops in the run, once it has written its number to a file."""

    @wg.differentiable
    async def seen(x: wg.DoubleLayer) -> wg.DoubleLayer:
        await x
        with suppress(FileExistsError):
            with Path(path).open("x") as file:
                file.write(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGSTOP)
        return x

    return seen(W * float(part[0]))
