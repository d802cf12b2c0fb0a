"""How a description is run on this thread.

Knows: that a run is closed however it ends; which questions need no machine.
Refuses to know: the kinds of description, and how a machine performs their steps.
"""

from __future__ import annotations

import sys
from typing import Any, Final, Protocol, TypeVar

from wengert.control.context import Executor, Run, chosen
from wengert.control.machine import Instruction, Machine
from wengert.control.resources import RunCancelled

A = TypeVar("A")
A_co = TypeVar("A_co", covariant=True)


class Description(Instruction, Protocol[A_co]):
    """A `Do`, as whoever runs it sees it."""

    def run(self, executor: Executor | None = None) -> A_co: ...


class Unanswered:
    """The mark of an answer that needs a machine; `by`: the executor of its run, None for the usual one."""

    __slots__ = ("by",)

    def __init__(self, by: Executor | None = None) -> None:
        self.by = by


UNANSWERED: Final = Unanswered()


class _AtOnce(Run):
    """The run of whatever is answered at once: nobody else has it, so nobody cancels it or refuses its loss."""

    __slots__ = ()

    def settle(self, value: object) -> None:
        """Nothing is in the way."""


AT_ONCE: Final = _AtOnce()


def execute(source: Description[A], run: Run) -> A:
    """Run `source` to its end in this thread, as the whole of `run`."""
    run.source = source
    try:
        value: A = Machine(run).complete(source)
        return value
    except RunCancelled as cancelled:  # after the last step, when nothing was left to abandon
        raise cancelled.outcome() from None
    finally:
        del source  # see Machine.complete
        try:
            run.close()
        except BaseException:  # an interrupt: what it has left is closed now
            run.close()
            raise


# Any: as the question
def answered(method: str, arguments: tuple[object, ...], executor: Executor | None) -> Any:
    """The answer to a question that is a whole run, where the executor has it at once; else an `Unanswered`.

    The executor's method `at_once` answers nothing that has steps, or that somebody could cancel: a run with a machine
    takes 5 to 12 us more, which is as much as a small prediction.
    """
    at_once = getattr(chosen(executor), "at_once", None)
    return UNANSWERED if at_once is None else at_once(method, *arguments)


def running_here() -> bool:
    """True if this thread is in the middle of a run."""
    frame = sys._getframe()
    while frame.f_code not in _RUNNING:
        if frame.f_back is None:
            return False
        frame = frame.f_back
    return True


_RUNNING: Final = (execute.__code__, answered.__code__)
