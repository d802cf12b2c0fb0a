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
from wengert.run.batching.report import Report
from wengert.run.evaluation import Evaluation
from wengert.run.loops import ONE_THREAD
from wengert.run.own import OWN, RunsOwn
from wengert.run.sequential import Sequential


class Batched:
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
        self._inner, self._predicting = self._sequential(True), self._sequential(False)

    def _sequential(self, keeps: bool) -> Sequential:
        made = Sequential(compiled=False)
        made._evaluations = partial(Batching, self._library, self._kept, keeps)
        made._plans = self._kept
        return made

    @property
    def report(self) -> Report:
        """What all runs so far have been like."""
        return self._library.report

    # Any in the answers: an expression's Data is known to its own type, not here

    def forward(self, expression: object, context: Context, /) -> Steps[Tape[Any, Any]]:
        """As `Sequential`."""
        self._own(context)
        return self._inner.forward(expression, context)

    def value(self, expression: object, context: Context, /) -> Steps[Any]:
        """As `Sequential`."""
        self._own(context)
        return self._inner.value(expression, context)

    def predict(self, expression: object, context: Context, /) -> Steps[Any]:
        """As `Sequential`."""
        if context.whole:
            return self._predicting.predict(expression, context)
        self._own(context)
        return self._inner.predict(expression, context)

    def train(self, loss: object, context: Context, /) -> Steps[Any]:
        """As `Sequential`."""
        if not context.whole:
            self._own(context)
        return self._inner.train(loss, context)

    def gradients(self, loss: object, wrt: object, context: Context, /) -> Steps[Any]:
        """As `Sequential`."""
        if not context.whole:
            self._own(context)
        return self._inner.gradients(loss, wrt, context)

    def gather(self, parts: Sequence[Do[Any]], context: Context, /) -> Steps[tuple[Any, ...]] | None:
        """The values of branches, which wait together; None where they go one after the other."""
        evaluation = self._own(context)
        return evaluation.branches(parts, context) if isinstance(evaluation, Batching) else None

    def _own(self, context: Context) -> Evaluation:
        """The evaluation that this part of the run belongs to; a run without one gets its own, in rounds, too."""
        if isinstance(context.environment, Evaluation):
            return context.environment
        return context.run.local(OWN, partial(_Own, self._library, self._kept, context.run))


class _Own(Batching, RunsOwn):
    """Of a run that nobody trains."""

    def __init__(self, library: ScheduleCache, kept: KeptSchedules, run: Run) -> None:
        RunsOwn.__init__(self, run, ONE_THREAD)
        self.begins(library, kept, True)
