"""Binds of every kind, to be drawn in networks, a network that decides, and how often programs run for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

import wengert as wg
from tests.run.attacked import OPTIMIZERS
from tests.run.counting import Boom, Counted, state_of
from tests.run.drawn import Draw, Layer, Maker
from wengert import ArrayLayer, Do, Tape
from wengert.graph.operand import external
from wengert.plugins import SGD
from wengert.run.compiled.compiler import PathProgram
from wengert.run.compiled.segment import Segment, SegmentBackward
from wengert.run.evaluation import SegmentRuns

NAMES = sorted(OPTIMIZERS)


@contextmanager
def programs_counted() -> Iterator[dict[str, int]]:
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
        counting(SegmentBackward, "run", "backward"),
        counting(PathProgram, "back", "way"),
        counting(SegmentRuns, "open", "opened"),
    ):
        yield calls


Two = Callable[[], Layer]


def by_coroutine(x: Layer, asked: Layer, left: Two, right: Two) -> Layer:
    """Stated in full, so that what comes after it is known before the run."""

    async def chosen() -> Layer:
        return left() if float(np.asarray(await asked)) > 0 else right()

    return external(Do.coroutine(chosen).flat_map(lambda layer: layer.forward), x.kind)


def by_flat_map(x: Layer, asked: Layer, left: Two, right: Two) -> Layer:
    """What comes after it has a kind that only the run tells."""
    made: Layer = ArrayLayer(
        asked.forward.flat_map(lambda tape: (left() if float(np.asarray(tape.data)) > 0 else right()).forward)
    )
    return made


def by_gather(x: Layer, asked: Layer, left: Two, right: Two) -> Layer:
    """Both values, and the mean of both."""

    async def both() -> Layer:
        a, b = left(), right()
        u, v = await wg.gather(wg.sum(a), wg.sum(b))
        return (a + b) * 0.5 if u > v else b - a * 0.25

    return external(Do.coroutine(both).flat_map(lambda layer: layer.forward), x.kind)


def a_constant(x: Layer, asked: Layer, left: Two, right: Two) -> Layer:
    """Whose deltas nobody asks for."""

    async def constant() -> Layer:
        value: Any = await x
        return wg.lift(value.copy())

    return external(Do.coroutine(constant).flat_map(lambda layer: layer.forward), x.kind)


def an_own_tape(x: Layer, asked: Layer, left: Two, right: Two) -> Layer:
    """Which sends half of what arrives, twice."""

    def halved(tape: Tape[Any, Any]) -> Tape[Any, Any]:
        def back(delta: Do[Any]) -> wg.UnitContinuation[None]:
            half = delta.map(lambda d: d * x.kind.dtype.type(0.5))
            return tape.backward(half).flat_map(lambda _: tape.backward(half))

        return Tape(tape.data, back)

    return external(left().forward.map(halved), x.kind)


def recovered(x: Layer, asked: Layer, left: Two, right: Two) -> Layer:
    def failing(tape: Tape[Any, Any]) -> Do[Any]:
        if float(np.asarray(tape.data)) > 0:
            return Do.fail(Boom("chosen"))
        tapes: Do[Any] = left().forward
        return tapes

    return external(asked.forward.flat_map(failing).recover(lambda _: right().forward), x.kind)


WAYS = (by_coroutine, by_flat_map, by_gather, a_constant, an_own_tape, recovered)


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
