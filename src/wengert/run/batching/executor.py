"""`Batched`: the sequential interpreter with evaluations that go in rounds, on one thread or several.

Knows: that of several threads a fiber which lasts may wait for another one, so that the others go on without it.
Refuses to know: what a round is.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Final, TypeVar

from wengert.arrays import keep_workspaces
from wengert.control import Context, Do, Steps
from wengert.differentiable import Tape
from wengert.run.batching.bound import Lanes
from wengert.run.batching.cache import ScheduleCache
from wengert.run.batching.report import Report
from wengert.run.batching.rounds import STOPS, TURNS, Batching, Moving, Onward
from wengert.run.compiled.steps import steps
from wengert.run.evaluation import Evaluation
from wengert.run.fibers import Fiber, in_turn
from wengert.run.loops import ONE_THREAD, Loops
from wengert.run.own import Choice
from wengert.run.sequential import Engine, Interpreter
from wengert.run.shards import Shard
from wengert.run.threads.pool import ONE_TASK, Spawned, ThreadPool, checked_threads
from wengert.run.threads.speculation import SpeculationTuner, functions_of
from wengert.run.threads.tasks import ThreadedLoops

A = TypeVar("A")
_PATIENCE: Final = 0.05  # seconds for which fibers that have stopped wait for one that lasts


class Waves:
    """Fibers that can go on, on several threads: each to its next stop, or to what has its turn only."""

    def __init__(self, pool: ThreadPool, tuner: SpeculationTuner) -> None:
        self._pool = pool
        self._tuner = tuner

    def run(
        self,
        fibers: Sequence[Fiber],
        sources: Sequence[object],
        onward: Onward,
    ) -> Collection[Fiber]:
        """Run fibers, and give those that have stopped: none, and none has moved, where they gain too little from it.

        `sources` are what such fibers come from; `onward` is that of a `Wave`.
        """
        of = functions_of(sources)
        if sources and not self._tuner.pays(of):
            return ()
        wave = Wave(fibers, onward)
        alone = self._pool.run([wave.begin], ONE_TASK, deferred=True)
        if sources:
            self._tuner.learn(of, alone)
        return wave.end()


class Wave:
    """Fibers on the threads of a pool; where one lasts, the others go on with what they have stopped for.

    `onward` is called with fibers that have stopped, and gives those that can go on; one of them, or another thread's,
    may be what a fiber that lasts is waiting for.
    """

    def __init__(self, fibers: Sequence[Fiber], onward: Onward) -> None:
        self._fibers = [*fibers]  # all that have taken part
        self._onward = onward
        self._lasting = {*fibers}
        self._stopped: dict[Fiber, None] = {}  # and have not been given to `onward`
        self._bell: SimpleQueue[None] = SimpleQueue()  # rings when one stops

    def begin(self) -> Spawned:
        """The works of a job."""
        return self._works(self._fibers)

    def end(self) -> Collection[Fiber]:
        """The fibers that nobody has gone on with."""
        for fiber in self._fibers:
            fiber.stops = STOPS
        return self._stopped.keys()

    def _works(self, fibers: Sequence[Fiber]) -> Spawned:
        for fiber in fibers:
            fiber.stops = STOPS | TURNS
        return Spawned([*(partial(self._go, fiber) for fiber in fibers), self._watch])

    def _go(self, fiber: Fiber) -> None:
        try:
            fiber.go()
        finally:
            self._stopped[fiber] = None
            self._lasting.discard(fiber)
            self._bell.put(None)

    def _watch(self) -> Spawned | None:
        """Look after all have begun: as long as one lasts, and none has stopped for a while, the others go on."""
        while self._lasting:
            try:
                self._bell.get(timeout=_PATIENCE)
                continue
            except Empty:
                stopped = [x for x in [*self._stopped] if x.asked.__class__ not in TURNS]
            for fiber in stopped:
                del self._stopped[fiber]
            more = self._onward(stopped)
            if more:
                self._fibers += more
                self._lasting.update(more)
                return self._works(more)
            self._bell.get()
        return None


def batching_engine(
    schedules: ScheduleCache, loops: Loops = ONE_THREAD, waves: Moving | None = None
) -> Engine:
    """The parts of an executor that batches."""
    return Engine(schedules, loops=loops, evaluations=partial(Batching, schedules, waves))


class Batched(Interpreter):
    """Like parts of an expression run together, whatever its shape: trees, graphs, sequences of any lengths.

    A function for one example, such as a recursion over a tree, is written as it is; a loss of many examples, or
    a tuple of them, runs as one program. A function marked `@cell` is what batches best.
    Results equal those of `Sequential` up to rounding, and have the same bits in every run, the first one too, whatever
    ran before. `report` says what ran together, and what did not. Arrays on a GPU stay there. Training keeps
    every value for the way back; a prediction only those that are still read.
    With several `threads`, launches that do not need each other, rules of users, binds and branches overlap; launches
    from when they have been timed to be faster so, with the bits of one thread as long as BLAS has one. Of branches of
    which one lasts 50 ms longer the others go on, and what it asks for later is a batch of its own.
    >>> from wengert import lift, run
    >>> batched = run.Batched()
    >>> (lift(2.0) * 3.0 + lift(4.0) * 5.0).predict().run(batched)
    26.0
    """

    def __init__(self, threads: int = 1) -> None:
        pool = ThreadPool(checked_threads(threads, "Batched"))
        self.threads = pool.threads
        loops = ThreadedLoops(pool) if pool.threads > 1 else Loops()
        loops.step = steps(True).stepped
        lanes = partial(Lanes, pool) if pool.threads > 1 else None
        self._schedules = ScheduleCache(loops, lanes=lanes)
        self._waves = Waves(pool, SpeculationTuner()).run if pool.threads > 1 else None
        super().__init__(batching_engine(self._schedules, loops, self._waves))
        keep_workspaces()

    @property
    def report(self) -> Report:
        """The report of all runs so far."""
        return self._schedules.report

    # Any in the answers: an expression's Data is known to its own type, not here

    def forward(self, expression: object, context: Context, /) -> Steps[Tape[Any, Any]]:
        """As `Sequential`."""
        own, steps = context.environment, super().forward(expression, context)
        waits = isinstance(own, Evaluation) and own.executor is not None and not own.trains
        return self._in_turn(steps) if waits else steps

    def train(self, loss: object, context: Context, /) -> Steps[Any]:
        """As `Sequential`."""
        return self._in_turn(super().train(loss, context))

    def gradients(self, loss: object, wrt: object, context: Context, /) -> Steps[Any]:
        """As `Sequential`."""
        return self._in_turn(super().gradients(loss, wrt, context))

    def resolved(self, expression: object, context: Context, /) -> Steps[Choice]:
        """As `Sequential`."""
        return self._in_turn(super().resolved(expression, context))

    def shards(self, losses: object, back: bool, context: Context, /) -> Steps[list[Shard]]:
        """As `Sequential`."""
        return self._in_turn(super().shards(losses, back, context))

    def _in_turn(self, steps: Steps[A]) -> Steps[A]:
        return steps if self._waves is None else in_turn(steps)

    def gather(self, parts: Sequence[Do[Any]], context: Context, /) -> Steps[tuple[Any, ...]] | None:
        """The values of branches, which wait together; None where they go one after the other."""
        evaluation = self.engine.evaluation(context)
        return evaluation.branches(parts, context) if isinstance(evaluation, Batching) else None
