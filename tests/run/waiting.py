"""Binds of every kind, to be drawn in networks, a network that decides, and how often programs run for them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

import wengert as wg
from tests.executors.binds import WAYS, by_coroutine, by_flat_map
from tests.run.attacked import OPTIMIZERS
from tests.run.counting import Counted, state_of
from tests.run.drawn import Draw, Layer, Maker
from wengert import ArrayLayer, Do, Tape
from wengert.graph.operand import external
from wengert.plugins import SGD
from wengert.run.compiled.plans import BackwardProgram
from wengert.run.compiled.segment import BackwardCase, Segment
from wengert.run.evaluation import SegmentRuns

NAMES = sorted(OPTIMIZERS)


@contextmanager
def programs_counted() -> Generator[dict[str, int]]:
    """How often programs ran inside: of segments, each way, and of whole ways back; how often they were given up."""
    calls = {"forward": 0, "backward": 0, "way": 0, "opened": 0}

    def counting(owner: type, name: str, what: str) -> Any:  # Any: a patch
        usual = getattr(owner, name)

        def method(*arguments: Any) -> Any:  # Any: as the usual one
            found = usual(*arguments)
            calls[what] += found is not None or what == "opened"
            return found

        return patch.object(owner, name, method)

    with (
        counting(Segment, "evaluate", "forward"),
        counting(BackwardCase, "run", "backward"),
        counting(BackwardProgram, "back", "way"),
        counting(SegmentRuns, "open", "opened"),
    ):
        yield calls


def small(x: Layer) -> Layer:
    return wg.tanh(x)


def bind(d: Draw, pool: list[Layer], ways: Sequence[Any] = WAYS) -> Layer:  # Any: functions as above
    """One of two expressions, chosen in the run; both read what has been built before."""
    way = d.pick(ways)
    x = d.pick(pool)
    y, z = (d.pick([other for other in pool if other.shape == x.shape]) for _ in range(2))
    asked = wg.sum(d.pick(pool))
    waits = by_coroutine if d.chance.random() < 0.3 else None

    def left() -> Layer:
        inner = small(x * y)
        return inner if waits is None else waits(x, wg.sum(inner), lambda: inner + z, lambda: inner * z)

    if way is by_flat_map:  # its shape is open: what is made of it is stated for the rest of the drawing
        found = way(x, asked, left, lambda: small(z) * 0.5)
        return external(small(found * 0.5 + z).forward, x.kind)
    return way(x, asked, left, lambda: small(z + x) * y)


def counting_maker(counted: Counted) -> Maker:
    return lambda d, pool: small(counted.apply(d.pick(pool)))


class Gated:
    """A score decides which of two branches is computed; the score stays in what is trained."""

    def __init__(self, settings: Any = None, size: int = 6) -> None:  # Any: settings have no common type
        settings = settings or SGD(learning_rate=0.05)
        chance = np.random.default_rng(0)

        def make(*shape: int) -> Any:
            return settings.array_weight(chance.standard_normal(shape) / 2)

        self.below, self.score, self.head = make(4, size), make(size, 2), make(size, 3)
        self.branches = [make(size, size) for _ in range(2)]
        self.weights: list[Any] = [self.below, self.score, self.head, *self.branches]
        self.xs, self.labels = chance.standard_normal((30, 5, 4)), chance.integers(0, 3, (30, 5))
        self.chosen: list[int] = []
        self.before: Callable[[Any], Any] = lambda x: x
        self.inside: Callable[[Any], Any] = lambda x: x

    def loss(self, i: int) -> Any:
        """Of one batch."""
        h = self.before(wg.tanh(wg.matmul(self.xs[i % 30], self.below)))
        scores = wg.mean(h @ self.score, axis=0)

        def choose(tape: Tape[Any, Any]) -> Do[Any]:
            self.chosen.append(which := int(tape.data.argmax()))
            found: Do[Any] = self.inside(wg.tanh(h @ self.branches[which]) * scores[which]).forward
            return found

        layer: Any = ArrayLayer(scores.forward.flat_map(choose))
        return wg.cross_entropy(layer @ self.head, self.labels[i % 30])

    def step(self, i: int, executor: Any) -> Any:
        """One step of training."""
        return self.loss(i).train().run(executor)

    def data(self) -> list[Any]:
        return [np.array(w.data) for w in self.weights]

    def state(self) -> list[object]:
        return [state_of(w) for w in self.weights]
