"""Several `Do`s of one run, each on a machine of its own that goes ahead of its turn as far as it can.

Knows: that what a `Do` does, and the values that it asks of the run's expressions, can be had before its turn; that
everything else that it asks for (a training, a scope, a shared `Do`) has to wait for that, when the rest goes on
in the machine which would have run it, so that values, releases and deltas have the order of one thread (S9).
Refuses to know: how values are computed, and how threads are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import CancelledError
from functools import partial
from typing import Any, Final, Protocol

from wengert.control import Context, Do, Steps
from wengert.control.do import Shared, Within
from wengert.control.machine import Asking, Gathering, Instruction, Machine, Nesting, Recovering
from wengert.control.resources import RunCancelled, join
from wengert.graph.node import Expression

# Any throughout this module: a stack of frames mixes the types of all parts of a Do.


class Home(Protocol):
    """The evaluation whose values a strand asks for."""

    def in_turn(self, root: Expression, context: Context) -> Steps[None]:
        """Compute `root` now."""

    def taken(self, log: Sequence[Expression], context: Context) -> Steps[None]:
        """The turn has come of what has been computed for these, ahead of it."""


class Early(Context):
    """That of a program which runs before its turn."""

    __slots__ = ()


class Strand(Machine):
    """The machine of one `Do`, ahead of its turn; then its frames are another machine's."""

    __slots__ = ("asked", "home", "left", "log", "parent")

    def __init__(self, source: Do[Any], context: Context, home: Home | None) -> None:
        super().__init__(context.run)
        self.context = Early(context.run, context.environment)
        self.home = home
        self.asked: Instruction | None = source  # where it goes on; None: it has ended
        self.log: list[Expression] = []  # whose values it has asked for
        self.parent: Strand | None = None  # who waits for this branch, and others
        self.left = 0  # branches that it waits for

    def go(self) -> None:
        """To what it cannot have by itself, or to the end."""
        source, self.asked = self.asked, None
        try:
            self.evaluate(source)  # type: ignore[arg-type] # None goes on with the frames
        finally:
            del source  # see Machine.complete

    def advance(self, current: Instruction | None) -> None:
        """As of every machine, up to such a question."""
        while not self.run.cancelled:
            if isinstance(current, _WAITS):
                self.asked = current
                return
            if current is not None:
                current = current._begin(self)
            elif self.frames:
                current = self.frames.pop().resume(self)
            else:
                return
        raise RunCancelled

    def answered(self) -> None:
        """What it asked for is known: `go` resumes what asked."""
        self.asked = self.value = None

    def let_go(self) -> None:
        """Hold nothing: a thread may have this for longer than the run goes on (S13)."""
        self.context = Context(self.run)
        self.home = self.parent = None

    def join(self, machine: Machine) -> Instruction | None:
        """Hand everything to `machine`, which goes on with it."""
        for frame in self.frames:
            if isinstance(frame, _MARKED):
                frame.mark += len(machine.finalizers)
        # Beside each other: an interrupt between two of them would lose what waits, or close it twice.
        machine.finalizers += self.finalizers
        self.finalizers = []
        machine.frames += self.frames
        self.frames = []
        self.let_go()
        if self.failure is not None:
            return machine.fail(self.caught())
        machine.value, self.value = self.value, None
        following, self.asked = self.asked, None
        return following


class Begun(Do[Any]):
    """The rest of a `Do` that has gone ahead; for one use."""

    __slots__ = ("strand",)

    def __init__(self, strand: Strand) -> None:
        self.strand = strand

    def _begin(self, machine: Machine) -> Instruction | None:
        strand = self.strand
        if strand.log and isinstance(machine, Strand):
            machine.log += strand.log
        elif strand.log and strand.home is not None:
            log, strand.log = strand.log, []
            return Do.program(partial(strand.home.taken, log)).flat_map(self._after)
        return strand.join(machine)

    def _after(self, _: None) -> Do[Any]:
        return self


class Turn(Do[None]):
    """What follows can only be had in its turn."""

    __slots__ = ()

    def _begin(self, machine: Machine) -> None:
        machine.value = None


class Wait(Do[None]):
    """The value of an expression, which the evaluation keeps."""

    __slots__ = ("home", "root")

    def __init__(self, home: Home, root: Expression) -> None:
        self.home = home
        self.root = root

    def _begin(self, machine: Machine) -> Do[None]:
        return Do.program(partial(self.home.in_turn, self.root))


class Fork(Do[tuple[Any, ...]]):
    """The values of several `Do`s, begun by `together`, unless they have been on a strand."""

    __slots__ = ("begun", "parts", "together")

    def __init__(
        self, parts: Sequence[Do[Any]], together: Callable[[Sequence[Do[Any]], Context], list[Begun]]
    ):
        self.parts = tuple(parts)
        self.together = together
        self.begun: list[Begun] = []

    def _begin(self, machine: Machine) -> Do[Any]:
        if not self.begun:
            self.begun = self.together(self.parts, machine.context)
        return Branches(self.begun or self.parts)

    def steps(self) -> Steps[tuple[Any, ...]]:
        """The question, and what becomes of those that have begun if nobody goes on with them."""
        try:
            values: tuple[Any, ...] = yield self
        except BaseException as stop:  # also an interrupt, and the end of this generator
            dropped(self.begun, stop)
            raise
        dropped(self.begun)
        return values


class Branches(Do[tuple[Any, ...]]):
    """Their values, one after the other."""

    __slots__ = ("parts",)

    def __init__(self, parts: Sequence[Do[Any]]) -> None:
        self.parts = tuple(parts)

    def _begin(self, machine: Machine) -> Instruction | None:
        return Gathering(self.parts).proceed(machine)


TURN: Final = Turn()
_WAITS = (Turn, Wait, Fork, Shared, Within)
_MARKED = (Asking, Gathering, Nesting, Recovering)


def dropped(parts: Iterable[Begun], stop: BaseException | None = None) -> None:
    """The run ends before these could go on: let go of what they have opened.

    Raises what fails in that, with `stop`, which the caller passes on where this returns.
    """
    outcome = None if isinstance(stop, GeneratorExit) else stop
    end: BaseException | None = None
    try:
        for part in parts:
            end = part.strand.abandon(RunCancelled())
            part.strand.let_go()
            if not isinstance(end, CancelledError):
                outcome = join(outcome, end)
        if outcome is not None and outcome is not stop:
            raise outcome
    finally:
        del outcome, end, stop  # their tracebacks hold this frame
