"""The abstract machine that runs a `Do` with an explicit stack of frames, so that depth costs memory only.

Knows: steps, frames, where a failure goes, when opened things are let go; that while a run waits for an outcome from
elsewhere, the branches of the gathers around go ahead, each up to where it has to wait itself, or for its turn.
Refuses to know: the kinds of `Do` (each begins itself), expressions, where outcomes come from.

A step returns the instruction to go on with, or `None` when `machine.value` or `machine.failure` is the news.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Coroutine, Generator, Iterator, Sequence
from contextvars import copy_context
from functools import partial
from queue import SimpleQueue
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias

from wengert.control.context import Context, Run
from wengert.control.notation import as_do, driving, explain_await, not_awaitable, running_event_loop
from wengert.control.resources import Finalizer, RunCancelled, SharedValue, is_cancellation, join, release
from wengert.control.waiting import Pending
from wengert.errors import combine

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

# Any throughout this module: the stack mixes the types of all parts of a Do, and each frame hands on what it was
# given; the constructors in do.py are where the types are checked.


Bell: TypeAlias = SimpleQueue[Callable[[], object] | None]


class Instruction(Protocol):
    """A `Do`, as the machine sees it.

    `in_turn`: what it gives or does depends on what the run has done before, so that no branch begins it early.
    `at_once`: its `_begin` gives the value, with no instruction to go on with.
    """

    in_turn: ClassVar[bool]
    at_once: ClassVar[bool]

    def foresee(self, branch: Branch, /) -> None:
        """Begin what can be begun of this, whose turn has not come, ahead of it."""

    def _begin(self, machine: Machine, /) -> Instruction | None:
        """Give `machine` its value or failure, or the instruction to go on with."""


class Frame:
    """A continuation on the stack: resumed with a value, or offered a failure."""

    __slots__ = ()

    def resume(self, machine: Machine) -> Instruction | None:
        """Go on with `machine.value`."""
        return None

    def handle(self, machine: Machine) -> Instruction | None:
        """Go on after `machine.failure`: take it (`machine.caught()`), or leave it for the next frame."""
        return None

    def abandon(self, machine: Machine, stop: BaseException) -> BaseException:
        """End without a value; returns `stop`, joined by what was raised here."""
        return stop


class Machine:
    """One thread of steps within a run."""

    __slots__ = ("bell", "context", "failure", "finalizers", "following", "frames", "gathers", "run", "value")

    def __init__(self, run: Run) -> None:
        self.run = run
        self.context = Context(run)
        self.following: Instruction | None = None
        self.frames: list[Frame] = []
        self.finalizers: list[Finalizer] = []
        self.value: Any = None  # on its way to the topmost frame, and only that frame knows its type
        self.failure: Exception | None = None
        self.gathers: list[Gathering] = []  # among the frames, outermost first
        self.bell: Bell | None = None

    def rung(self) -> Bell:
        """The queue of what can be done while this waits; None in it: look whether the wait is over."""
        if self.bell is None:
            self.bell = SimpleQueue()
        return self.bell

    def complete(self, source: Instruction) -> Any:
        """Run `source`, release everything and end the run; its value."""
        outcome: BaseException | None
        try:
            self.evaluate(source)
            outcome = release(self.finalizers, 0, self.failure)
        except BaseException as stop:
            outcome = self.abandon(stop)
        finally:
            del source  # it may hold the very exception whose traceback is going to hold this frame
            self.failure = None
        try:
            if outcome is None:
                self.run.succeed()
                return self.value
        except BaseException as refusal:
            outcome = refusal
        try:
            raise self.run.roll_back(outcome)
        finally:
            del outcome

    def evaluate(self, source: Instruction) -> None:
        """Step until no frame is left; then `value` is known, or `failure`."""
        self.following = source
        del source
        while True:
            try:
                # No local names what is stepped: the traceback of a failure holds this frame, and what
                # a handler makes of the failure may hold the failure.
                self.advance(self.next())
                return
            except Exception as failure:
                if self.run.cancelled:
                    raise RunCancelled from failure
                self.failure = failure

    def next(self) -> Instruction | None:
        """The first instruction: the source, or after a failure the one that a frame makes of it."""
        try:
            return self.unwind() if self.failure is not None else self.following
        finally:
            self.following = None

    def advance(self, current: Instruction | None) -> None:
        """Run the loop. Measured: about 0.1 us a turn besides what the step itself does."""
        run, frames = self.run, self.frames
        while True:
            if run.cancelled and not (run.settled and current is None and not frames):
                raise RunCancelled
            if current is not None:
                current = current._begin(self)
            elif frames:
                current = frames.pop().resume(self)
            else:
                return

    def advance_to(self, stops: Container[type] | None, current: Instruction | None) -> Instruction | None:
        """Run the loop up to what is of a class in `stops` (None: up to what has to be in turn), or has to wait."""
        run, frames = self.run, self.frames
        while not run.cancelled:
            if current is not None:
                if current.in_turn if stops is None else current.__class__ in stops:
                    return current
                if isinstance(current, Settling) and not current.pending.done:
                    return current
                current = current._begin(self)
            elif frames:
                current = frames.pop().resume(self)
            else:
                return None
        raise RunCancelled

    def unwind(self) -> Instruction | None:
        """Hand `failure` to the frames, topmost first, until one takes it or none is left."""
        frames = self.frames
        while frames:
            following = frames.pop().handle(self)
            if self.failure is None:
                return following
        return None

    def fail(self, failure: Exception) -> Instruction | None:
        """A step's way to fail without raising: no traceback grows and no frame is tied to the exception."""
        self.failure = failure
        del failure
        return self.unwind()

    def wait_for(self, shared: Instruction, cell: SharedValue) -> Instruction:
        """Refuse a shared `Do` that is being computed: on one machine only a circle leads here."""
        raise RecursionError("a shared Do waits for itself: its own computation uses it")

    def wait(self, pending: Pending[Any]) -> None:
        """Wait for an outcome; meanwhile the branches of the gathers around go ahead."""
        bell = self.rung()
        wake = partial(bell.put, None)
        pending.then(wake)
        self.run.on_cancel(wake)
        try:
            for gathering in [*self.gathers]:
                gathering.go_ahead(bell)
            while not pending.done:
                self.run.check()
                work = bell.get()
                if work is not None:
                    work()
            self.run.check()
        finally:
            self.run.discard(wake)

    def hand_over(self, machine: Machine) -> Instruction | None:
        """Have `machine` go on with all that this one has on its stacks, its value or its failure."""
        for frame in self.frames:
            if isinstance(frame, Bracket):
                frame.mark += len(machine.finalizers)
        # Beside each other: an interrupt between two of them would lose what waits, or close it twice.
        machine.finalizers += self.finalizers
        self.finalizers = []
        machine.frames += self.frames
        self.frames = []
        machine.gathers += self.gathers
        self.gathers = []
        self.bell = None  # which may hold this
        if self.failure is not None:
            return machine.fail(self.caught())
        machine.value, self.value = self.value, None
        following, self.following = self.following, None
        return following

    def caught(self) -> Exception:
        """Take the failure that is being handed around; the run goes on."""
        assert self.failure is not None
        try:
            return self.failure
        finally:
            self.failure = None

    def release(self, mark: int) -> None:
        """Let go of what was opened above `mark`; `failure` is seen by it and may grow by it."""
        outcome = release(self.finalizers, mark, self.failure)
        if outcome is None or isinstance(outcome, Exception):
            self.failure = outcome
            del outcome  # frames that its traceback holds hold this one
        else:
            try:
                raise outcome
            finally:
                del outcome

    def abandon(self, stop: BaseException) -> BaseException:
        """An interrupt or a cancellation: close what waits and let go of everything, then pass it on."""
        try:
            while self.frames:
                try:
                    while self.frames:
                        stop = self.frames.pop().abandon(self, stop)
                except BaseException as another:
                    stop = join(stop, another)
            stop = release(self.finalizers, 0, stop)
            self.bell = None
            return stop.outcome() if isinstance(stop, RunCancelled) else stop
        finally:
            del stop  # its traceback may hold this frame


class Bracket(Frame):
    """A frame that knows how much was open when it began."""

    __slots__ = ("mark",)

    def __init__(self, mark: int) -> None:
        self.mark = mark


class Recovering(Bracket):
    """`recover`: what was opened since is let go, then the handler decides."""

    __slots__ = ("decide",)

    def __init__(self, decide: Callable[[Exception], Instruction], mark: int) -> None:
        self.decide = decide
        self.mark = mark

    def handle(self, machine: Machine) -> Instruction:
        machine.release(self.mark)
        return self.decide(machine.caught())


class Nesting(Bracket):
    """`nested`: what was opened since is let go as soon as the value is known.

    Of a failure whoever takes it lets go first of all that was opened since.
    """

    __slots__ = ()

    def resume(self, machine: Machine) -> Instruction | None:
        machine.release(self.mark)
        return None if machine.failure is None else machine.unwind()


class Sharing(Frame):
    """The first user of a shared `Do` computes it; its outcome and what it opened go to the cell."""

    __slots__ = ("cell", "mark")

    def __init__(self, cell: SharedValue, mark: int) -> None:
        self.cell = cell
        self.mark = mark

    def resume(self, machine: Machine) -> None:
        self.cell.settle(machine.value, machine.finalizers, self.mark)

    def handle(self, machine: Machine) -> None:
        machine.release(self.mark)
        self.cell.known, self.cell.failure = True, machine.failure


class Gathering(Bracket):
    """`gather`: branches in turn, which go ahead while the run waits in one; a failed one does not stop the next."""

    __slots__ = ("ahead", "context", "failures", "parts", "rest", "values")

    def __init__(self, parts: Sequence[Instruction], context: Context) -> None:
        self.parts = parts
        self.context = context
        self.ahead: list[Branch] = []  # by part, once begun
        self.rest: Iterator[Instruction] = iter(parts)  # whose turn has not come
        self.values: list[object] = []
        self.failures: list[Exception] = []

    def begin(self, machine: Machine, pool: Executor | None = None) -> Instruction | None:
        """The first branch; with a pool, the others on its threads."""
        machine.gathers.append(self)
        if pool is not None:
            bell = machine.rung()
            self.ahead = [Worker(part, self.context, bell, pool) for part in self.parts]
            self.rest = iter(self.ahead)
        following = self.proceed(machine)
        return following if machine.failure is None else machine.unwind()

    def resume(self, machine: Machine) -> Instruction | None:
        self.values.append(machine.value)
        following = self.proceed(machine)
        return following if machine.failure is None else machine.unwind()

    def handle(self, machine: Machine) -> Instruction | None:
        machine.release(self.mark)
        self.failures.append(machine.caught())
        return self.proceed(machine)

    def proceed(self, machine: Machine) -> Instruction | None:
        values, run = self.values, machine.run
        try:
            for part in self.rest:
                if not part.at_once or run.cancelled or type(machine) is not Machine:
                    self.mark = len(machine.finalizers)
                    machine.frames.append(self)
                    return part
                try:
                    part._begin(machine)
                except Exception as failure:
                    if run.cancelled:
                        raise
                    self.failures.append(failure)
                else:
                    values.append(machine.value)
            machine.gathers.pop()  # this one: it is the innermost
            if self.failures:
                machine.failure = combine(self.failures)
                self.failures = []  # their tracebacks hold the frames that led here, and these hold this gather
            else:
                machine.value = tuple(values)
            return None
        finally:
            del self, values

    def go_ahead(self, bell: Bell) -> None:
        """Have the branches whose turn has not come rung for, once."""
        at = len(self.values) + len(self.failures) + 1
        if not self.ahead and at < len(self.parts):
            self.ahead = [Branch(part, self.context, bell) for part in self.parts]
            self.rest = iter(self.ahead[at:])
            for branch in self.ahead[at:]:
                bell.put(branch.go_ahead)

    def abandon(self, machine: Machine, stop: BaseException) -> BaseException:
        for branch in self.ahead[len(self.values) + len(self.failures) :]:
            end = branch.abandon(RunCancelled())
            if not is_cancellation(end):
                stop = join(stop, end)
        return stop


class Branch(Machine):
    """A branch of a gather on a machine of its own, up to where it has to wait; as an instruction, its rest."""

    __slots__ = ("listens",)
    in_turn: ClassVar[bool] = True
    at_once: ClassVar[bool] = False

    def __init__(self, source: Instruction, context: Context, bell: Bell) -> None:
        super().__init__(context.run)
        self.context = context
        self.following = source
        self.bell = bell
        self.listens: object = None  # what it waits for, and this is rung for then

    def go_ahead(self) -> None:
        """Run to the next stop."""
        while (following := self.following) is not None and not following.in_turn:
            if isinstance(following, Settling) and not following.pending.done:
                for gathering in [*self.gathers]:
                    gathering.go_ahead(self.rung())
                if self.listens is not following:
                    self.listens = following
                    following.pending.then(self.ring)
                return
            try:
                self.evaluate(following)
            finally:
                del following  # see Machine.complete
        if following is not None:
            self.reach_turn(following)

    def reach_turn(self, following: Instruction) -> None:
        """Tell the rest, which has to wait for its turn, that it comes."""
        following.foresee(self)

    def ring(self) -> None:
        """Tell who waits that this can go on; nobody, if its turn has come."""
        bell = self.bell
        if bell is not None:
            bell.put(self.go_ahead)

    def advance(self, current: Instruction | None) -> None:
        """As of every machine, up to what has to wait."""
        self.following = self.advance_to(None, current)

    _begin = Machine.hand_over

    def foresee(self, branch: Branch) -> None:
        """Nothing: this branch has begun."""


class Worker(Branch):
    """A branch that goes ahead on a thread of a pool."""

    __slots__ = ("begun", "ended", "interrupt", "lock", "pool", "taken")

    def __init__(self, source: Instruction, context: Context, bell: Bell, pool: Executor) -> None:
        super().__init__(source, context, bell)
        self.pool = pool
        self.lock = Lock()
        self.taken = False
        self.begun: Future[None] | None = None
        self.ended: Pending[None] = Pending()
        self.interrupt: BaseException | None = None
        self.ring()

    def ring(self) -> None:
        following = self.following
        with self.lock:
            if following is not None and not (self.taken or self.run.cancelled):
                self.ended = Pending()
                self.begun = self.pool.submit(copy_context().run, self._work, self.ended)

    def reach_turn(self, following: Instruction) -> None:
        bell = self.bell
        if bell is not None:
            bell.put(partial(following.foresee, self))  # for the thread whose run it is

    def _work(self, ended: Pending[None]) -> None:
        try:
            self.go_ahead()
        except BaseException as interrupt:  # for the thread whose run it is
            self.interrupt = interrupt
        finally:
            ended.resume(None)

    def _begin(self, machine: Machine) -> Instruction | None:
        with self.lock:
            working = self.begun is not None and not self.begun.cancel() and not self.ended.done
            self.taken = not working
        if working:
            machine.wait(self.ended)
            return self
        if self.interrupt is not None:
            try:
                raise self.interrupt
            finally:
                self.interrupt = None
                del self, machine  # its traceback holds this frame
        return super()._begin(machine)

    def abandon(self, stop: BaseException) -> BaseException:
        with self.lock:
            self.taken = True
            working = self.begun is not None and not self.begun.cancel()
        if working:
            self.ended.wait()
        return super().abandon(stop)


class Settling:
    """An outcome that is on its way."""

    __slots__ = ("pending",)
    in_turn: ClassVar[bool] = False
    at_once: ClassVar[bool] = False

    def __init__(self, pending: Pending[Any]) -> None:
        self.pending = pending

    def _begin(self, machine: Machine) -> Instruction | None:
        pending = self.pending
        if not pending.done:
            machine.wait(pending)
        if isinstance(pending.failure, Exception):
            return machine.fail(pending.failure)
        machine.value = pending.outcome()
        return None

    def foresee(self, branch: Branch) -> None:
        """Nothing: the outcome is on its way."""


class Scoping(Frame):
    """`within`: the environment of before is back for what comes after."""

    __slots__ = ("before",)

    def __init__(self, before: Context) -> None:
        self.before = before

    def resume(self, machine: Machine) -> None:
        machine.context = self.before

    handle = resume


class Asking(Bracket):
    """A program: it yields what it wants, and is sent the value or thrown the failure."""

    __slots__ = ("context", "program")

    def __init__(self, program: Generator[Any, Any, Any] | Coroutine[Any, Any, Any]) -> None:
        self.program = program

    def resume(self, machine: Machine) -> Instruction | None:
        return self.step(machine, self.program.send, machine.value)

    def handle(self, machine: Machine) -> Instruction | None:
        machine.release(self.mark)
        return self.step(machine, self.program.throw, machine.caught())

    def abandon(self, machine: Machine, stop: BaseException) -> BaseException:
        try:
            stop = release(machine.finalizers, self.mark, stop)
            try:
                self.program.close()
            except BaseException as another:
                stop = join(stop, another)
            return stop
        finally:
            del stop  # its traceback may hold this frame

    def step(self, machine: Machine, move: Callable[[Any], object], argument: object) -> Instruction | None:
        try:
            asked = move(argument)
        except StopIteration as end:
            machine.value = end.value
            return None
        finally:
            del argument  # a failure that comes straight back would hold this frame, and this frame it
        self.mark = len(machine.finalizers)
        machine.frames.append(self)
        wanted = as_do(asked)
        return machine.fail(not_awaitable(asked)) if wanted is None else wanted


class Awaiting(Asking):
    """A coroutine: the same, and while it moves, its `await`s know that the machine drives them."""

    __slots__ = ()

    def step(self, machine: Machine, move: Callable[[Any], object], argument: object) -> Instruction | None:
        before = driving.event_loop
        try:
            driving.event_loop = running_event_loop()
            return Asking.step(self, machine, move, argument)
        except (RuntimeError, TypeError) as failure:
            explain_await(failure)
            raise
        finally:
            driving.event_loop = before
            del argument  # see Asking.step


class Returning(Frame):
    """The end of what follows a question: the question goes on, and what followed has made the value of the run."""

    __slots__ = ("question",)

    def __init__(self, question: Frame) -> None:
        self.question = question

    def resume(self, machine: Machine) -> Instruction | None:
        machine.frames.append(Instead(machine.value))
        machine.value = None
        return self.question.resume(machine)

    def handle(self, machine: Machine) -> Instruction | None:
        return self.question.handle(machine)

    def abandon(self, machine: Machine, stop: BaseException) -> BaseException:
        return self.question.abandon(machine, stop)


class Instead(Frame):
    """A value in place of the one that comes."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def resume(self, machine: Machine) -> None:
        machine.value = self.value
