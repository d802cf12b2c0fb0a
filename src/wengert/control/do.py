"""`Do`: a description of work that finishes later, may fail, and owns resources; its kinds, and how they are run.

Knows: what users make of descriptions, what each kind is to the machine (a value, a failure, a frame with a source
below it), how a chain of any length is pickled, runs on this thread, on one of their own, and inside asyncio.
Refuses to know: numbers, graphs, executors. Nothing here happens before a run.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterator
from contextlib import AbstractContextManager
from functools import partial
from types import CoroutineType, TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, Never, Protocol, TypeAlias, TypeVar

from wengert.control.context import Context, Executor, Run, Transaction
from wengert.control.hosting import Hosting
from wengert.control.machine import (
    Asking,
    Awaiting,
    Branch,
    Frame,
    Instruction,
    Machine,
    Nesting,
    Recovering,
    Returning,
    Scoping,
    Settling,
    Sharing,
)
from wengert.control.notation import as_do, described, driving, not_awaitable, running_event_loop
from wengert.control.resources import Exit, SharedValue
from wengert.control.running import Unanswered, answered, execute
from wengert.control.waiting import Outcome, Pending, loop_of, outcome_of
from wengert.errors import NotAwaitableError
from wengert.later import later

if TYPE_CHECKING:
    from concurrent.futures import Future

A = TypeVar("A")
B = TypeVar("B")
A_co = TypeVar("A_co", covariant=True)

_STARTED: Final = "wengert.control.started"  # with futures, which take as long to import as all of this
_START, _IN_EVENT_LOOP = later(_STARTED, "start"), later(_STARTED, "in_event_loop")

# Any throughout this module: a machine mixes the values of all parts of a Do.


class Awaits(Protocol[A_co]):
    """Anything that a run can wait for: a `Do`, and what stands for one in a run."""

    def as_do(self) -> Do[A_co]: ...

    def __await__(self) -> Generator[Any, Any, A_co]: ...


class Do(Generic[A_co]):
    """A lazy description of an `A_co`; `run`, `start` or `await` performs it, each time anew.

    A failure is an exception that leaves `run`, or reaches `recover`; every method only describes.

    >>> Do.delay(lambda: 20).flat_map(lambda n: Do.now(n + 1)).map(lambda n: n * 2).run()
    42

    Source: B. Yang et al., "Monadic Deep Learning", 2023, whose `Do` this is.
    """

    __slots__ = ("__weakref__",)
    in_turn: ClassVar[bool] = False  # see `Instruction`
    at_once: ClassVar[bool] = False

    def _begin(self, machine: Machine) -> Instruction | None:
        raise NotImplementedError("a Do is made by Do.now, Do.delay and the like")

    def foresee(self, branch: Branch) -> None:
        """Nothing, in most kinds: see `Instruction`."""

    @staticmethod
    def now(value: A) -> Do[A]:
        """`value`, already known."""
        return Now(value)

    @staticmethod
    def fail(exception: Exception) -> Do[Never]:
        """The failure `exception`. Raises TypeError for what is no exception."""
        if not isinstance(exception, Exception):
            raise TypeError(f"Do.fail takes an exception, not {described(exception)}")
        return Fail(exception)

    @staticmethod
    def delay(make: Callable[[], A]) -> Do[A]:
        """`make()`, called when run, once for each use."""
        return Delay(make)

    @staticmethod
    def defer(make: Callable[[], Do[A]]) -> Do[A]:
        """The `Do` that `make()` gives when run.

        >>> Do.defer(lambda: Do.now(1)).run()
        1
        """
        return Defer(make)

    @staticmethod
    def resource(make: Callable[[], AbstractContextManager[A]]) -> Do[A]:
        """The value that `make()` gives on entering; left exactly once, when the run or the `nested` around it ends.

        Its `__exit__` sees the failure, if there is one; what it returns is ignored.
        >>> from contextlib import closing
        >>> from io import StringIO
        >>> Do.resource(lambda: closing(StringIO("read"))).map(lambda file: file.read()).run()
        'read'
        """
        return Resource(make)

    @staticmethod
    def of(source: Future[A] | Awaitable[A]) -> Do[A]:
        """The outcome of a future or an awaitable; that of a `Do` or a layer is itself.

        A coroutine begins when first run, in the event loop that awaits the run, else on one of the run's own, and
        every run gets its one outcome. Raises ArgumentError for anything else; in a run NotAwaitableError for a
        future of an event loop that cannot go on meanwhile, and CancelledError if it is cancelled.
        >>> from concurrent.futures import Future
        >>> future = Future[int]()
        >>> future.set_result(3)
        >>> Do.of(future).map(lambda n: n + 1).run()
        4
        """
        known: Do[A] | None = as_do(source)
        return Outcoming(outcome_of(source, "Do.of")) if known is None else known

    @staticmethod
    def callback(register: Callable[[Callable[[A], None], Callable[[Exception], None]], object]) -> Do[A]:
        """The value or failure with which `register(resume, fail)`, called when run, has its arguments called.

        The first call counts. Meanwhile no processor is used, and other branches of a `gather` go on.
        >>> from threading import Timer
        >>> Do.callback(lambda resume, fail: Timer(0.01, resume, [3]).start()).run()
        3
        """
        return Called(register)

    @staticmethod
    def transaction(
        prepare: Callable[[], object], commit: Callable[[], object], abort: Callable[[], object]
    ) -> Do[None]:
        """Something besides weights that changes with them or not at all: one part of a run's commit.

        When the run has nothing else left to do and its resources are released, `prepare()` is called, and vetoes by
        raising. Then weights change. Then `commit()` is called: what it raises leaves the run, and takes nothing back.
        If anything fails before, `abort()` is called in place of `commit()`, also if `prepare()` has not been. Each is
        called at most once in a run, the aborts in reverse order.
        >>> said = list[str]()
        >>> Do.transaction(*(partial(said.append, word) for word in ("prepare", "commit", "abort"))).run()
        >>> said
        ['prepare', 'commit']

        Source: the two-phase commit of J. Gray, "Notes on Data Base Operating Systems", 1978.
        """
        return Taking(Transaction(prepare, commit, abort))

    @staticmethod
    def program(make: Callable[[Context], Steps[A]]) -> Do[A]:
        """For interpreters: a generator, new in each run, that yields a `Do` and is sent its value."""
        return Programmed(make)

    @staticmethod
    def coroutine(make: Callable[[], Coroutine[Any, Any, A]]) -> Do[A]:  # Any: what it awaits is of all types
        """For notations: an `async` function, called anew in each run, whose `await`s are this run's."""
        return Coroutined(make)

    @staticmethod
    def within(environment: object, source: Do[A] | Branch) -> Do[A]:
        """For interpreters: `source`, in which programs see `environment` as `context.environment`."""
        return Within(environment, source)

    def map(self, transform: Callable[[A_co], B]) -> Do[B]:
        """`transform` of the value."""
        return Map(self, transform)

    def flat_map(self, then: Callable[[A_co], Do[B]]) -> Do[B]:
        """The `Do` that `then` makes of the value; what this one has opened stays open for it."""
        return FlatMap(self, then)

    def recover(self, handler: Callable[[Exception], Do[B]]) -> Do[A_co | B]:
        """On failure what `handler` makes of the exception; what this one had opened is released before.

        >>> Do.delay(lambda: 1 // 0).recover(lambda exception: Do.now(0)).run()
        0
        """
        return Recover(self, handler)

    def shared(self) -> Do[A_co]:
        """One computation, and one opening of its resources, for all users of this object in a run.

        >>> once = Do.delay(object).shared()
        >>> a, b = once.flat_map(lambda a: once.map(lambda b: (a, b))).run()
        >>> a is b
        True
        """
        return Shared(self)

    def nested(self) -> Do[A_co]:
        """This value; what was opened for it is released as soon as it is known."""
        return Nested(self)

    def run(self, executor: Executor | None = None) -> A_co:
        """Perform it here and now; returns, or raises, when everything is released."""
        try:
            return execute(self, Run(executor))
        finally:
            del self  # see Machine.complete

    def start(self, executor: Executor | None = None) -> Future[A_co]:
        """Perform it on a thread of its own; cancelling the future stops it before its next step.

        >>> Do.now(1).start().result()
        1
        """
        future: Future[A_co] = _START(self, Run(executor))
        return future

    def as_do(self) -> Do[A_co]:
        """Itself: see `Awaits`."""
        return self

    def __await__(self) -> Generator[Any, Any, A_co]:
        return await_here(self)

    if not TYPE_CHECKING:  # hidden: checkers refuse these by themselves

        def __bool__(self) -> Never:
            raise TypeError("the truth of a Do, which describes work that nobody has done; write do.run()")

        def __iter__(self) -> Never:
            raise TypeError("iteration of a Do, which describes work that nobody has done; write do.run()")

        def __format__(self, form: str) -> str:
            if form:
                raise TypeError(f"a Do has no number to be written as {form!r}; write do.run()")
            return repr(self)

    def __repr__(self) -> str:
        return f"<Do: {type(self).__name__}>"


Steps: TypeAlias = Generator[Do[Any], Any, A]  # Any: a program asks for values of all types


class Now(Do[A]):
    __slots__ = ("value",)
    at_once = True

    def __init__(self, value: A) -> None:
        self.value = value

    def _begin(self, machine: Machine) -> None:
        machine.value = self.value


class Fail(Do[Never]):
    __slots__ = ("exception", "traceback")

    def __init__(self, exception: Exception) -> None:
        self.exception = exception
        self.traceback: TracebackType | None = exception.__traceback__

    def _begin(self, machine: Machine) -> Instruction | None:
        try:
            # Each raise lengthens the traceback of the one exception object; a thousand runs must not.
            return machine.fail(self.exception.with_traceback(self.traceback))
        finally:
            del self  # from Python 3.12 on a frame of the traceback may hold this one

    def __reduce__(self) -> tuple[type[Fail], tuple[Exception]]:
        return Fail, (self.exception,)  # tracebacks cannot be pickled


class Delay(Do[A]):
    __slots__ = ("make",)
    at_once = True

    def __init__(self, make: Callable[[], A]) -> None:
        self.make = make

    def _begin(self, machine: Machine) -> None:
        machine.value = self.make()


class Defer(Do[A]):
    __slots__ = ("make",)

    def __init__(self, make: Callable[[], Do[A]]) -> None:
        self.make = make

    def _begin(self, machine: Machine) -> Do[A]:
        following = self.make()
        if isinstance(following, Do):
            return following
        raise _no_do(following, "defer", self.make)


class Resource(Do[A]):
    __slots__ = ("make",)

    def __init__(self, make: Callable[[], AbstractContextManager[A]]) -> None:
        self.make = make

    def _begin(self, machine: Machine) -> None:
        manager = self.make()
        kind = type(manager)
        if not (hasattr(kind, "__enter__") and hasattr(kind, "__exit__")):
            raise TypeError(
                f"the function given to Do.resource, {described(self.make)}, returned "
                f"{described(manager)}, not a context manager; use Do.delay for a plain value"
            )
        entry = Exit(manager)
        machine.finalizers.append(entry)
        machine.value = manager.__enter__()
        entry.entered = True


class Outcoming(Do[A]):
    __slots__ = ("outcome",)

    def __init__(self, outcome: Outcome[A]) -> None:
        self.outcome = outcome

    def _begin(self, machine: Machine) -> Instruction:
        pending: Pending[A] = Pending()
        self.outcome.register(partial(loop_of, machine.run), pending)
        return Settling(pending)


class Called(Do[A]):
    __slots__ = ("register",)

    def __init__(
        self, register: Callable[[Callable[[A], None], Callable[[Exception], None]], object]
    ) -> None:
        self.register = register

    def _begin(self, machine: Machine) -> Instruction:
        pending: Pending[A] = Pending()
        self.register(pending.resume, pending.fail)
        return Settling(pending)


class Taking(Do[None]):
    __slots__ = ("calls",)
    in_turn = True

    def __init__(self, calls: Transaction) -> None:
        self.calls = calls

    def _begin(self, machine: Machine) -> None:
        machine.run.take_part(self.calls)
        machine.value = None


class Chained(Do[A]):
    """A kind with one source; pickled as a list of links, so that a chain of any length needs no stack."""

    __slots__ = ("source",)
    source: Do[Any]

    def __reduce__(self) -> tuple[Callable[..., Do[Any]], tuple[Do[Any], list[Link]]]:
        links: list[Link] = []
        link: Do[Any] = self
        while isinstance(link, Chained):
            kind = type(link)
            links.append((kind, tuple(getattr(link, name) for name in kind.__slots__)))
            link = link.source
        return _chain, (link, links[::-1])


# a kind, and what it takes beside its source
Link: TypeAlias = tuple[Callable[..., Do[Any]], tuple[Any, ...]]


def _chain(do: Do[Any], links: list[Link]) -> Do[Any]:
    for kind, arguments in links:
        do = kind(do, *arguments)
    return do


class Map(Chained[B], Frame):
    __slots__ = ("transform",)

    def __init__(self, source: Do[A], transform: Callable[[A], B]) -> None:
        self.source = source
        self.transform: Callable[[Any], B] = transform

    def _begin(self, machine: Machine) -> Do[Any]:
        machine.frames.append(self)
        return self.source

    def resume(self, machine: Machine) -> None:
        machine.value = self.transform(machine.value)


class FlatMap(Chained[B], Frame):
    __slots__ = ("then",)

    def __init__(self, source: Do[A], then: Callable[[A], Do[B]]) -> None:
        self.source = source
        self.then: Callable[[Any], Do[B]] = then

    def _begin(self, machine: Machine) -> Do[Any]:
        machine.frames.append(self)
        return self.source

    def resume(self, machine: Machine) -> Do[B]:
        following = self.then(machine.value)
        if isinstance(following, Do):
            return following
        raise _no_do(following, "flat_map", self.then)


class Recover(Chained[A]):
    __slots__ = ("handler",)

    def __init__(self, source: Do[A], handler: Callable[[Exception], Do[A]]) -> None:
        self.source = source
        self.handler = handler

    def _begin(self, machine: Machine) -> Do[A]:
        machine.frames.append(Recovering(self.decide, len(machine.finalizers)))
        return self.source

    def decide(self, failure: Exception) -> Do[A]:
        try:
            following = self.handler(failure)
        finally:
            del failure  # a handler that raises it again would tie this frame into a cycle
        if isinstance(following, Do):
            return following
        raise _no_do(following, "recover", self.handler)


class Shared(Do[A]):
    __slots__ = ("source",)
    in_turn = True

    def __init__(self, source: Do[A]) -> None:
        self.source = source

    def _begin(self, machine: Machine) -> Instruction | None:
        cell = machine.run.cells.get(self)
        if cell is None:
            machine.run.cells[self] = cell = SharedValue()
            machine.frames.append(Sharing(cell, len(machine.finalizers)))
            return self.source
        if not cell.known:
            return machine.wait_for(self, cell)
        if cell.failure is not None:
            return machine.fail(cell.failure)
        cell.hold(machine.finalizers)
        machine.value = cell.value
        return None


class Nested(Chained[A]):
    __slots__ = ()

    def __init__(self, source: Do[A]) -> None:
        self.source = source

    def _begin(self, machine: Machine) -> Do[A]:
        machine.frames.append(Nesting(len(machine.finalizers)))
        return self.source


class Programmed(Do[A]):
    __slots__ = ("make",)
    in_turn = True

    def __init__(self, make: Callable[[Context], Steps[A]]) -> None:
        self.make = make

    def _begin(self, machine: Machine) -> Instruction | None:
        machine.value = None
        return Asking(self.make(machine.context)).resume(machine)


class Question(Do[A_co]):
    """A question to the run's executor about an expression: one of the methods of `Executor`."""

    __slots__ = ("arguments", "method")
    in_turn = True

    def __init__(self, method: str, *arguments: object) -> None:
        self.method = method
        self.arguments = arguments

    def run(self, executor: Executor | None = None) -> A_co:
        """Ask the executor, without a machine where it has the answer at once."""
        found: A_co | Unanswered = answered(self.method, self.arguments, executor)
        return super().run(found.by or executor) if isinstance(found, Unanswered) else found

    def _begin(self, machine: Machine) -> Instruction | None:
        source, context = machine.run.source, machine.context
        if source is not self:
            while isinstance(source, Map):
                source, context.followed = source.source, True
            while isinstance(source, (Recover, Nested, Shared)) and not context.followed:
                source = source.source
        context.whole = source is self
        machine.value = None
        return Asking(getattr(machine.run.executor, self.method)(*self.arguments, context)).resume(machine)

    def foresee(self, branch: Branch) -> None:
        """Have the executor begin what the expression waits for."""
        ahead: Callable[..., object] | None = getattr(branch.run.chosen, "ahead", None)
        if ahead is not None:
            ahead(self.arguments[0], branch.context, branch.rung())


class Remainder(Do[None]):
    """For a question that is followed: what comes after it goes on with `value` to the end of the run, then it does.

    So a training makes its changes when nothing is left that could fail.
    """

    __slots__ = ("value",)
    in_turn = True

    def __init__(self, value: object) -> None:
        self.value = value

    def _begin(self, machine: Machine) -> None:
        machine.frames.insert(0, Returning(machine.frames.pop()))
        machine.value = self.value


class Coroutined(Do[A]):
    __slots__ = ("make",)

    def __init__(self, make: Callable[[], Coroutine[Any, Any, A]]) -> None:
        self.make = make

    def _begin(self, machine: Machine) -> Instruction | None:
        coroutine = self.make()
        if not isinstance(coroutine, (CoroutineType, Coroutine)):
            raise not_awaitable(coroutine, f"{described(self.make)} is no async function: it returned")
        machine.value = None
        loop = machine.run.event_loop
        if loop is not None and loop.is_running():
            return Hosting(coroutine, loop).begin(machine)
        return Awaiting(coroutine).resume(machine)


class Within(Do[A]):
    __slots__ = ("environment", "source")
    in_turn = True

    def __init__(self, environment: object, source: Do[A] | Branch) -> None:
        self.environment = environment
        self.source = source

    def _begin(self, machine: Machine) -> Do[A] | Branch:
        machine.frames.append(Scoping(machine.context))
        machine.context = Context(machine.run, self.environment)
        return self.source


def _no_do(given: object, method: str, function: object) -> Exception:
    return not_awaitable(given, f"the function given to {method}, {described(function)}, returned")


def questions(source: object) -> Iterator[Question[Any]]:
    """Iterate over the questions in a description; a question that only a run makes is not seen."""
    seen, left = set[int](), [source]
    while left:
        part = left.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, Question):
            yield part
        elif isinstance(part, (Chained, Shared, Within)):
            left.append(part.source)
        else:
            left.extend(getattr(part, "parts", ()))  # of a gather


def beginning(source: Do[Any]) -> Do[Any]:
    """The first link of a chain, which is the first to do anything."""
    while isinstance(source, Chained):
        source = source.source
    return source


def await_here(source: Awaits[A]) -> Generator[Any, Any, A]:
    """The `__await__` of everything that a run can wait for.

    Inside a run its driver is handed `source`; inside asyncio `source` runs on a thread of its own.
    """
    event_loop = running_event_loop()
    try:
        if driving.event_loop is event_loop:
            value: A = yield source
            return value
        if event_loop is None:
            raise NotAwaitableError(f"nothing drives this await of {described(source)}; use .run() here")
        awaited: Coroutine[Any, Any, A] = _IN_EVENT_LOOP(source.as_do(), event_loop)
        return (yield from awaited.__await__())
    finally:
        del source  # it may hold the very exception whose traceback is going to hold this frame
