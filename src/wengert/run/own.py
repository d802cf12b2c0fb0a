"""Runs that nobody trains, and the tapes that they give: a `backward` by hand makes a run a training (D6).

Knows: how long a tape lives, and that what was sent to tapes is on its way when the last of them is let go.
Refuses to know: how an evaluation computes.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import partial
from types import TracebackType
from typing import Any, Final

from wengert.control import Do, Run, UnitContinuation
from wengert.errors import TapeReleasedError
from wengert.graph.node import Expression
from wengert.graph.store import STORE
from wengert.run.evaluation import Evaluation
from wengert.run.loops import Loops

OWN: Final = "the evaluation of a run"


class RunsOwn(Evaluation):
    """The evaluation of a run that nobody trains: a `backward` by hand makes it a training (D6)."""

    __slots__ = ("executor", "live", "trains")

    def __init__(self, run: Run, loops: Loops) -> None:
        run.on_close(partial(STORE.end, self))
        super().__init__(STORE.begin(self), loops)
        run.on_close(self.__exit__)
        run.on_success(self.finish)
        self.executor = run.executor
        self.live = 0
        self.trains = False

    def finish(self) -> None:
        """The commit; before it, what was sent below a bind after the last tape's release is on its way."""
        if self.pending:
            Do.program(self.backward).run(self.executor)
        self.loops.commit(self.deltas, self.snapshot)

    def may_train(self, run: Run) -> None:
        """A tape is asked for, which may be sent a delta: from now on to its end the run is alone (S10)."""
        if not self.trains:
            self.trains = self.passages.goes_back = True
            STORE.hold(run.on_close)
            if not self.buffers:  # no weight has been read: begin where the training before this one ended
                self.snapshot = STORE.begin(self)


class Hold(AbstractContextManager["Hold"]):
    """One living tape; what was sent to it is on its way when the last of a run's own is released (D5)."""

    __slots__ = ("evaluation", "x")

    def __init__(self, evaluation: Evaluation, x: Expression) -> None:
        self.evaluation: Evaluation | None = evaluation  # None: released; a kept tape keeps no run (S13)
        self.x = x

    def __enter__(self) -> Hold:
        assert isinstance(self.evaluation, RunsOwn), "that of a bind is let go of by what opened it"
        self.evaluation.live += 1
        return self

    def backward(self, delta: Do[Any]) -> UnitContinuation[None]:  # Any: the expression's Delta
        if self.evaluation is None:
            raise TapeReleasedError(
                f"backward of {self.x!r}: the run (or the nested() part of it) that made this tape has "
                f"ended; call backward inside it, as in layer.forward.flat_map(lambda tape: ...)"
            )
        return self.evaluation.receive(self.x, delta)

    def __exit__(
        self, kind: type[BaseException] | None, failure: BaseException | None, trace: TracebackType | None
    ) -> None:
        evaluation = self.evaluation
        assert isinstance(evaluation, RunsOwn), "as above"
        try:
            evaluation.live -= 1
            if failure is None and not evaluation.live and evaluation.pending:
                Do.program(evaluation.backward).run(evaluation.executor)
        finally:
            self.release()

    def release(self) -> None:
        """From now on the tape refuses deltas, and keeps nothing of the run alive."""
        self.evaluation = None
