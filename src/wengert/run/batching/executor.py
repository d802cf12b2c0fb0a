"""`Batched`: the interpreter that runs like parts of expressions together.

Knows: that it is the sequential one, with evaluations that go in rounds.
Refuses to know: schedules and launches.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from wengert.control import Context, Do, Run, Steps
from wengert.run.batching.cache import KeptSchedules, ScheduleCache
from wengert.run.batching.evaluation import Batching
from wengert.run.batching.report import Report
from wengert.run.own import RunsOwn
from wengert.run.sequential import Engine, Interpreter


class Batched(Interpreter):
    """Like parts of an expression run together, whatever its shape: trees, graphs, sequences of any lengths.

    A function for one example, such as a recursion over a tree, is written as it is; a loss of many examples, or
    a tuple of them, runs as one program. A function marked `@cell` is what batches best.
    Results equal those of `Sequential` up to rounding, and have the same bits in every run, the first one too, whatever
    ran before. `report` says what ran together, and what did not. Arrays on a GPU run node by node. Training keeps
    every value for the way back; a prediction only those that are still read.
    >>> from wengert import lift, run
    >>> batched = run.Batched()
    >>> (lift(2.0) * 3.0 + lift(4.0) * 5.0).predict().run(batched)
    26.0
    """

    def __init__(self) -> None:
        self._library = ScheduleCache()
        self._kept = KeptSchedules()
        super().__init__(self._engine(keeps=True))
        self._predicting = Interpreter(self._engine(keeps=False))

    def _engine(self, keeps: bool) -> Engine:
        evaluations = partial(Batching, self._library, self._kept, keeps)
        return Engine(
            self._kept, evaluations=evaluations, of_run=partial(_RunsBatching, self._library, self._kept)
        )

    @property
    def report(self) -> Report:
        """The report of all runs so far."""
        return self._library.report

    # Any in the answers: an expression's Data is known to its own type, not here

    def predict(self, expression: object, context: Context, /) -> Steps[Any]:
        """As `Sequential`."""
        if context.whole:
            return self._predicting.predict(expression, context)
        return super().predict(expression, context)

    def gather(self, parts: Sequence[Do[Any]], context: Context, /) -> Steps[tuple[Any, ...]] | None:
        """The values of branches, which wait together; None where they go one after the other."""
        evaluation = self.engine.evaluation(context)
        return evaluation.branches(parts, context) if isinstance(evaluation, Batching) else None


class _RunsBatching(Batching, RunsOwn):
    """The evaluation of a run that is more than one question."""

    def __init__(self, library: ScheduleCache, kept: KeptSchedules, run: Run, engine: Engine) -> None:
        RunsOwn.__init__(self, run, engine.loops)
        self.begins(library, kept, True)
