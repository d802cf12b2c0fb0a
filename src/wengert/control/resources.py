"""The stack of resources that a run has opened: released latest first, each exactly once, whatever fails meanwhile.

Knows: context managers, holds on a shared value, how failures of releases join the failure that caused them.
Refuses to know: what is computed with a resource, and when a scope ends.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Final, Protocol, overload

from wengert.errors import combine
from wengert.later import later

# which takes as long to import as the effects themselves
_CANCELLED: Final = later("concurrent.futures", "CancelledError")


class RunCancelled(BaseException):
    """The exception that unwinds a cancelled run: no `recover` and no `except Exception` sees it.

    `failures` are the releases that failed meanwhile; a caller gets them instead of the cancellation.
    """

    def __init__(self) -> None:
        super().__init__("the run was cancelled")
        self.failures: list[Exception] = []

    def outcome(self) -> Exception:
        """The exception for the caller; its cause is what the last step raised, perhaps because of it."""
        if self.failures:
            failures, self.failures = self.failures, []  # their context is this exception: no cycle may stay
            return combine(failures)
        cancelled: Exception = _CANCELLED(*self.args)
        cancelled.__cause__ = self.__cause__
        return cancelled


def is_cancellation(end: BaseException | None) -> bool:
    """True of the failure with which a cancelled run or future ends."""
    return end is not None and isinstance(end, _CANCELLED.load())  # type: ignore[arg-type] # it is a class


class Finalizer(Protocol):
    """An entry of the stack of opened things. `release` takes itself off the stack as its first act.

    Then an interrupt that arrives before that act loses nothing, and one that arrives later repeats nothing.
    """

    def release(self, stack: list[Finalizer], failure: BaseException | None, /) -> None: ...


class Exit:
    """A context manager, on the stack before it is entered, so that no interrupt can come between the two."""

    __slots__ = ("entered", "manager")

    def __init__(self, manager: AbstractContextManager[Any]) -> None:  # Any: its value is the run's business
        self.manager = manager
        self.entered = False

    def release(self, stack: list[Finalizer], failure: BaseException | None) -> None:
        del stack[-1]
        manager = self.manager
        if not self.entered:
            return
        if failure is None:
            manager.__exit__(None, None, None)
        else:
            try:
                manager.__exit__(type(failure), failure, failure.__traceback__)
            finally:
                del failure  # a manager that raises it again would tie this frame into a cycle


class SharedValue:
    """The one computation of a shared `Do` in a run: its outcome, what it opened, how many hold it."""

    __slots__ = ("failure", "finalizers", "holders", "known", "value")

    def __init__(self) -> None:
        self.known = False
        self.value: object = None
        self.failure: Exception | None = None
        self.finalizers: list[Finalizer] = []
        self.holders = 0

    def settle(self, value: object, stack: list[Finalizer], mark: int) -> None:
        """Take over from `stack` what the computation opened, and leave there the first user's hold."""
        self.known, self.value, self.holders = True, value, 1
        self.finalizers = stack[mark:]
        stack[mark:] = [Share(self)]

    def hold(self, stack: list[Finalizer]) -> None:
        """Add a user. Who comes after the last let go finds it closed: it is not opened again."""
        if self.holders:
            hold = Share(self)
            self.holders += 1  # beside the next line: an interrupt between them would keep the cell open
            stack.append(hold)


class Share:
    """One user's share in a cell. The last to let go puts what the cell opened back on the stack."""

    __slots__ = ("cell",)

    def __init__(self, cell: SharedValue) -> None:
        self.cell = cell

    def release(self, stack: list[Finalizer], failure: BaseException | None) -> None:
        del stack[-1]
        cell = self.cell
        cell.holders -= 1
        if not cell.holders:
            stack += cell.finalizers
            cell.finalizers = []


@overload
def release(stack: list[Finalizer], mark: int, failure: BaseException) -> BaseException: ...
@overload
def release(stack: list[Finalizer], mark: int, failure: BaseException | None) -> BaseException | None: ...
def release(stack: list[Finalizer], mark: int, failure: BaseException | None) -> BaseException | None:
    """Release what stands above `mark`, latest first, and return `failure` joined by what was raised."""
    try:
        while len(stack) > mark:
            try:
                while len(stack) > mark:
                    stack[-1].release(stack, failure)
            except BaseException as another:
                failure = join(failure, another)
        return failure
    finally:
        del failure  # its traceback may hold this frame


def join(first: BaseException | None, second: BaseException) -> BaseException:
    """The outcome of a run that failed with `first` and then, while it was letting go, with `second`.

    Exceptions combine. Of an exception and an interrupt the interrupt passes on, with a note of the other.
    A cancellation keeps the exceptions, for the caller to get instead of it.
    """
    if first is None or first is second:
        return second
    if isinstance(first, Exception) and isinstance(second, Exception):
        return combine((first, second))
    if isinstance(first, RunCancelled) and isinstance(second, Exception):
        first.failures.append(second)
        return first
    if isinstance(first, (RunCancelled, Exception)):
        first, second = second, first
    first.add_note(f"While this was passing, the run also met {type(second).__name__}: {second}")
    return first
