"""`Batched`: the interpreter that runs like parts of expressions together.

Knows: that it is the sequential one, with evaluations that go in rounds.
Refuses to know: schedules and launches.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from wengert.control import Context, Do, Run, Steps
from wengert.differentiable import Tape
from wengert.run.batching.cache import KeptSchedules, ScheduleCache
from wengert.run.batching.evaluation import Batching
from wengert.run.batching.lanes import Lanes
from wengert.run.batching.report import Report
from wengert.run.batching.scheduler import Waves
from wengert.run.fibers import in_turn
from wengert.run.loops import ONE_THREAD, Loops
from wengert.run.own import RunsOwn
from wengert.run.sequential import Engine, Interpreter
from wengert.run.threads.autotune import SpeculationTuner
from wengert.run.threads.loops import ThreadedLoops
from wengert.run.threads.pool import ThreadPool, checked_threads


class Batched(Interpreter):
    """Like parts of an expression run together, whatever its shape: trees, graphs, sequences of any lengths.

    A function for one example, such as a recursion over a tree, is written as it is; a loss of many examples, or
    a tuple of them, runs as one program. A function marked `@cell` is what batches best.
    Results equal those of `Sequential` up to rounding, and have the same bits in every run, the first one too, whatever
    ran before. `report` says what ran together, and what did not. Arrays on a GPU run node by node. Training keeps
    every value for the way back; a prediction only those that are still read.
    With several `threads`, launches that do not need each other, rules of users, binds and branches overlap; launches
    from when they have been timed to be faster so, with the bits of one thread as long as BLAS has one.
    >>> from wengert import lift, run
    >>> batched = run.Batched()
    >>> (lift(2.0) * 3.0 + lift(4.0) * 5.0).predict().run(batched)
    26.0
    """

    def __init__(self, threads: int = 1) -> None:
        pool = ThreadPool(checked_threads(threads, "Batched"))
        self.threads = pool.threads
        loops: Loops = ThreadedLoops(pool) if pool.threads > 1 else ONE_THREAD
        lanes = partial(Lanes, pool) if pool.threads > 1 else None
        self._library = ScheduleCache(lanes)
        self._waves = Waves(pool, SpeculationTuner()) if pool.threads > 1 else None
        self._kept = KeptSchedules()
        evaluations = partial(Batching, self._library, self._kept, self._waves)
        of_run = partial(_RunsBatching, self._library, self._kept, self._waves)
        super().__init__(Engine(self._kept, loops=loops, evaluations=evaluations, of_run=of_run))

    @property
    def report(self) -> Report:
        """The report of all runs so far."""
        return self._library.report

    # Any in the answers: an expression's Data is known to its own type, not here

    def forward(self, expression: object, context: Context, /) -> Steps[Tape[Any, Any]]:
        """As `Sequential`."""
        own, steps = context.environment, super().forward(expression, context)
        alone = self._waves is not None and isinstance(own, RunsOwn) and not own.trains
        return in_turn(steps) if alone else steps

    def train(self, loss: object, context: Context, /) -> Steps[Any]:
        """As `Sequential`."""
        steps = super().train(loss, context)
        return steps if self._waves is None else in_turn(steps)

    def gradients(self, loss: object, wrt: object, context: Context, /) -> Steps[Any]:
        """As `Sequential`."""
        steps = super().gradients(loss, wrt, context)
        return steps if self._waves is None else in_turn(steps)

    def gather(self, parts: Sequence[Do[Any]], context: Context, /) -> Steps[tuple[Any, ...]] | None:
        """The values of branches, which wait together; None where they go one after the other."""
        evaluation = self.engine.evaluation(context)
        return evaluation.branches(parts, context) if isinstance(evaluation, Batching) else None


class _RunsBatching(Batching, RunsOwn):
    """The evaluation of a run that is more than one question."""

    def __init__(
        self, library: ScheduleCache, kept: KeptSchedules, waves: Waves | None, run: Run, engine: Engine
    ) -> None:
        RunsOwn.__init__(self, run, engine.loops)
        self.begins(library, kept, waves)
