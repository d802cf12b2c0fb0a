"""A training with two parts elsewhere, on the engine in this process, with faults at will, and what it leaves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np

import wengert as wg
from wengert import nn
from wengert.cluster.local import Fault, Local, Message
from wengert.cluster.nodes import Nodes
from wengert.cluster.part import digest_of
from wengert.plugins import Adam, LearningRate

Matrix: TypeAlias = wg.ArrayLayer[tuple[int, int], np.float32]
Rows: TypeAlias = wg.ArrayExpression[tuple[int, int], np.float32]
At: TypeAlias = tuple[str, int]  # of a node, the how many-th message to it


class Settings(Adam, LearningRate): ...


class Expert:
    """A layer with state: Adam's."""

    def __init__(self, seed: int) -> None:
        self.inner = nn.Linear.make(Settings(learning_rate=0.01), 2, 2, seed=seed)

    def __call__(self, x: Rows, scale: float = 1.0) -> Matrix:
        return wg.tanh(self.inner(x)) * scale


class Left(NamedTuple):
    """What a training leaves: losses, versions, and a digest of all weights and states."""

    losses: tuple[float, ...]
    versions: tuple[int, ...]
    digest: str


def loss_of(
    first: nn.Linear[Any, Any, Any], a: Callable[..., Matrix], b: Callable[..., Matrix], k: int
) -> Any:
    x = np.full((1, 2), 0.5 + k, np.float32)
    h = first(x)
    return wg.mean(wg.square(a(h) + b(h * 2.0, 0.5)))


def here(steps: int) -> Left:
    """The training with both parts in this process."""
    first, a, b = nn.Linear.make(Settings(learning_rate=0.01), 2, 2, seed=9), Expert(1), Expert(2)
    losses = tuple(float(loss_of(first, a, b, k).train().run()) for k in range(steps))
    return Left(losses, (steps, steps), digest_of(first) + digest_of(a) + digest_of(b))


def there(
    steps: int,
    faults: Mapping[At, Fault] | None = None,
    *,
    folder: str | None = None,
    restarts: int = 3,
    sent: list[At] | None = None,
    engine: Local | None = None,
) -> Left:
    """The training with both parts on nodes, the first of which writes checkpoints if there is a folder."""
    seen: Counter[str] = Counter()

    def fault(message: Message) -> Fault | None:
        at = message.to, seen[message.to]
        seen[message.to] += 1
        if sent is not None:
            sent.append(at)
        return (faults or {}).get(at)

    nodes = Nodes(engine or Local(workers=0, faults=fault))
    try:
        first = nn.Linear.make(Settings(learning_rate=0.01), 2, 2, seed=9)
        a = nodes.node("a", restarts=restarts, checkpoint=folder, checkpoint_every=1).place(Expert, 1)
        b = nodes.node("b", restarts=restarts).place(Expert, 2)
        losses = tuple(float(loss_of(first, a, b, k).train().run()) for k in range(steps))
        return Left(losses, (a.version, b.version), digest_of(first) + a.digest() + b.digest())
    finally:
        nodes.close()
