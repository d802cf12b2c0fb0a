"""Several `Do`s begun on several threads, each up to the first question that it asks the interpreter.

Knows: that what a `Do` does before it asks for a value needs no other one; that from there on it goes on in the
machine which would have run it, in its turn, so that values and deltas have the order of one thread (S9).
Refuses to know: which of them can begin together, and how threads are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import CancelledError
from typing import Any

from wengert.control import Context, Do
from wengert.control.context import RunCancelled
from wengert.control.do import Program, Shared, Within
from wengert.control.frames import Asking, Gathering, Nesting, Recovering
from wengert.control.gather import Gather
from wengert.control.machine import Machine
from wengert.run.partition import Tasks

_ASKING = (Program, Shared, Within, Gather)  # what the rest of the run can see
_MARKED = (Asking, Gathering, Nesting, Recovering)

# Any throughout this module: a stack of frames mixes the types of all parts of a Do.


class Beginning(Machine):
    """The machine of one `Do` until it asks; then its frames are another machine's."""

    __slots__ = ("asked",)

    def __init__(self, source: Do[Any], context: Context) -> None:
        super().__init__(context.run)
        self.context = context
        self.asked: Do[Any] | None = source  # where it goes on; None: it has ended

    def go(self) -> None:
        """To the first question, or to the end."""
        source, self.asked = self.asked, None
        try:
            self.evaluate(source)  # type: ignore[arg-type] # is there until it has gone
        finally:
            del source  # see Machine.complete

    def advance(self, current: Do[Any] | None) -> None:
        """As of every machine, up to the first question."""
        while not self.run.cancelled:
            if isinstance(current, _ASKING):
                self.asked = current
                return
            if current is not None:
                current = current._begin(self)
            elif self.frames:
                current = self.frames.pop().resume(self)
            else:
                return
        raise RunCancelled

    def join(self, machine: Machine) -> Do[Any] | None:
        """Hand everything to `machine`, which goes on with it."""
        for frame in self.frames:
            if isinstance(frame, _MARKED):
                frame.mark += len(machine.finalizers)
        # Beside each other: an interrupt between two of them would lose what waits, or close it twice.
        machine.finalizers += self.finalizers
        self.finalizers = []
        machine.frames += self.frames
        self.frames = []
        del self.context  # a thread may hold this for a moment longer than the run goes on (S13)
        if self.failure is not None:
            return machine.fail(self.caught())
        machine.value, self.value = self.value, None
        following, self.asked = self.asked, None
        return following


class Begun(Do[Any]):
    """The rest of a `Do` that has begun; for one use."""

    __slots__ = ("beginning",)

    def __init__(self, beginning: Beginning) -> None:
        self.beginning = beginning

    def _begin(self, machine: Machine) -> Do[Any] | None:
        return self.beginning.join(machine)


class Branches(Do[Any]):
    """`gather` of what has begun, in order."""

    __slots__ = ("parts",)

    def __init__(self, parts: Sequence[Do[Any]]) -> None:
        self.parts = tuple(parts)

    def _begin(self, machine: Machine) -> Do[Any] | None:
        return Gathering(self.parts, 0).proceed(machine)


def begun(
    sources: Iterable[Do[Any]],
    context: Context,
    together: Callable[[Sequence[Callable[[], object]], Tasks], None],
) -> list[Begun]:
    """All of these, begun by `together`, which runs functions on threads; none where fewer than two do something."""
    sources = [*sources]
    if sum(not isinstance(source, _ASKING) for source in sources) < 2:
        return []
    made = [Begun(Beginning(source, context)) for source in sources]
    none = tuple(() for _ in made)
    tasks = Tasks(tuple((i,) for i in range(len(made))), (0,) * len(made), none, tuple(range(len(made))), 0.0)
    try:
        together([part.beginning.go for part in made], tasks)
    except BaseException:
        dropped(made)
        raise
    return made


def dropped(parts: Iterable[Begun]) -> None:
    """The run ends before these could go on: let go of what they have opened."""
    failures: list[BaseException] = []
    for part in parts:
        stop = part.beginning.abandon(RunCancelled())
        if not isinstance(stop, CancelledError):
            failures.append(stop)
    try:
        if failures:
            raise BaseExceptionGroup("while a run that ends let go of what it had opened", failures)
    finally:
        failures.clear()  # their tracebacks hold this frame
