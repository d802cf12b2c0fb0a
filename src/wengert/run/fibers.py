"""Fibers: `Do`s on machines of their own, each of which stops where it has to wait, until a scheduler resumes it.

Knows: the questions that a fiber stops at; that another machine can take over the rest of a fiber, so that values,
releases and deltas have the order of one thread.
Refuses to know: schedulers, threads, and how values are computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Final, Protocol, TypeVar

from wengert.control import Context, Do, Steps
from wengert.control.machine import Gathering, Instruction, Machine
from wengert.control.resources import RunCancelled, SharedValue, is_cancellation, join
from wengert.graph.node import Expression

A = TypeVar("A")

# Any throughout this module: a stack of frames mixes the types of all parts of a Do.


class Speculating(Protocol):
    """The evaluation whose values a speculative fiber asks for."""

    def in_turn(self, root: Expression, context: Context) -> Steps[None]:
        """Compute `root` now."""

    def taken(self, log: Sequence[Expression], context: Context) -> Steps[None]:
        """The turn has come of what was computed early for these."""


class Fiber(Machine):
    """The machine of one `Do`, up to the next question of a type in `stops`, or outcome that is on its way: `asked`."""

    __slots__ = ("asked", "home", "left", "log", "parent", "stops")

    def __init__(
        self, source: Do[Any], context: Context, stops: frozenset[type], home: Speculating | None = None
    ) -> None:
        super().__init__(context.run)
        self.context = context
        self.stops = stops
        self.home = home
        self.asked: Instruction | None = source  # where it goes on; None: it has ended
        self.log: list[Expression] = []  # whose values it has got before its turn
        self.parent: Fiber | None = None  # that waits for this branch, and others
        self.left = 0  # branches that it waits for

    def go(self) -> None:
        """Run to the next stop, or to the end."""
        source, self.asked = self.asked, None
        try:
            self.evaluate(source)  # type: ignore[arg-type] # None goes on with the frames
        finally:
            del source  # see Machine.complete

    def advance(self, current: Instruction | None) -> None:
        """As of every machine, up to a stop."""
        self.asked = self.advance_to(self.stops, current)

    def wait_for(self, shared: Instruction, cell: SharedValue) -> Instruction:
        return WaitShared(shared, cell)

    def answered(self) -> None:
        """The answer is known: `go` resumes the frame that asked."""
        self.asked = self.value = None

    def fork(self) -> list[Fiber]:
        """A fiber for each branch of the `Fork` that it has asked for; none, and it can go on, for less than two."""
        fork = self.asked
        assert isinstance(fork, Fork), "a stop at a gather"
        if len(fork.parts) < 2:
            self.asked = Branches(fork.parts)
            return []
        branches = fork.begin(self.context, self.stops, self.home)
        self.left = len(branches)
        for branch in branches:
            branch.parent = self
        return branches

    def branch_ended(self) -> bool:
        """Count a branch; whether it was the last, so that this can go on."""
        self.left -= 1
        if not self.left and isinstance(self.asked, Fork):
            self.asked = Branches(self.asked.begun)
            return True
        return False

    def let_go(self) -> None:
        """Hold nothing: a thread may have this for longer than the run goes on."""
        self.context = Context(self.run)
        self.home = self.parent = None

    def join(self, machine: Machine) -> Instruction | None:
        """Hand everything to `machine`, which goes on with it."""
        self.let_go()
        if self.failure is None:
            self.following, self.asked = self.asked, None
        return self.hand_over(machine)


class Joined(Do[Any]):
    """The rest of a fiber, in the machine that begins this; for one use."""

    __slots__ = ("fiber",)

    def __init__(self, fiber: Fiber) -> None:
        self.fiber = fiber

    def _begin(self, machine: Machine) -> Instruction | None:
        fiber = self.fiber
        if fiber.log and isinstance(machine, Fiber):
            machine.log += fiber.log
        elif fiber.log and fiber.home is not None:
            log, fiber.log = fiber.log, []
            return Do.program(partial(fiber.home.taken, log)).flat_map(self._after)
        return fiber.join(machine)

    def _after(self, _: None) -> Do[Any]:
        return self


class Wait(Do[None]):
    """Wait for the value of an expression, which the evaluation keeps."""

    __slots__ = ("home", "root")
    in_turn = True

    def __init__(self, root: Expression, home: Speculating | None = None) -> None:
        self.root = root
        self.home = home

    def _begin(self, machine: Machine) -> Do[None]:
        assert self.home is not None, "the scheduler of this fiber answers"
        return Do.program(partial(self.home.in_turn, self.root))


class WaitShared(Do[Any]):
    """Wait for the value of a shared `Do` that another fiber computes."""

    __slots__ = ("cell", "source")
    in_turn = True

    def __init__(self, source: Instruction, cell: SharedValue) -> None:
        self.source = source
        self.cell = cell

    def _begin(self, machine: Machine) -> Instruction:
        return self.source


class Turn(Do[None]):
    """Wait for the turn of what follows."""

    __slots__ = ()
    in_turn = True

    def _begin(self, machine: Machine) -> None:
        machine.value = None


TURN: Final = Turn()


def in_turn(steps: Steps[A]) -> Steps[A]:
    """Steps that wait for their turn, at the beginning and after each answer: several would write to one evaluation."""
    yield TURN
    try:
        asked = next(steps)
        while True:
            try:
                answer = yield asked
            except Exception as failure:
                yield TURN
                asked = steps.throw(failure)
            else:
                yield TURN
                asked = steps.send(answer)
    except StopIteration as end:
        value: A = end.value
        return value
    finally:
        steps.close()


class Fork(Do[tuple[Any, ...]]):
    """The values of several `Do`s; `together` begins them where the scheduler of a fiber has not."""

    __slots__ = ("begun", "parts", "together")
    in_turn = True

    def __init__(
        self,
        parts: Sequence[Do[Any]],
        together: Callable[[Sequence[Do[Any]], Context], list[Joined]] | None = None,
    ):
        self.parts = tuple(parts)
        self.together = together
        self.begun: list[Joined] = []

    def begin(self, context: Context, stops: frozenset[type], home: Speculating | None = None) -> list[Fiber]:
        """A fiber for each branch."""
        fibers = [Fiber(part, context, stops, home) for part in self.parts]
        self.begun = [Joined(fiber) for fiber in fibers]
        return fibers

    def _begin(self, machine: Machine) -> Instruction:
        if not self.begun and self.together is not None:
            self.begun = self.together(self.parts, machine.context)
        return Branches(self.begun or self.parts)

    def steps(self, first: Steps[None] | None = None) -> Steps[tuple[Any, ...]]:
        """`first`, and the question; branches that nobody goes on with are dropped."""
        try:
            if first is not None:
                yield from first
            values: tuple[Any, ...] = yield self
        except BaseException as stop:  # also an interrupt, and the end of this generator
            drop(self.begun, stop)
            raise
        drop(self.begun)
        return values


class Branches(Do[tuple[Any, ...]]):
    """The values of branches, one after the other."""

    __slots__ = ("parts",)

    def __init__(self, parts: Sequence[Do[Any]]) -> None:
        self.parts = tuple(parts)

    def _begin(self, machine: Machine) -> Instruction | None:
        return Gathering(self.parts, machine.context).begin(machine)


def drop(parts: Iterable[Joined], stop: BaseException | None = None) -> None:
    """Let go of what fibers have opened that cannot go on, as the run ends.

    Raises what fails in that, with `stop`, which the caller passes on where this returns.
    """
    outcome = None if isinstance(stop, GeneratorExit) else stop
    end: BaseException | None = None
    try:
        for part in parts:
            end = part.fiber.abandon(RunCancelled())
            part.fiber.let_go()
            if not is_cancellation(end):
                outcome = join(outcome, end)
        if outcome is not None and outcome is not stop:
            raise outcome
    finally:
        del outcome, end, stop  # their tracebacks hold this frame
