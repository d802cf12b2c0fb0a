"""A run as a whole, and the context of its steps.

Knows: cancellation, what is to happen after success, values remembered for one run, the executor chosen.
Refuses to know: how a `Do` is stepped, what the executor does with the expressions it is handed.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from threading import RLock
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar, cast

from wengert.control.resources import RunCancelled, SharedValue, join
from wengert.errors import ArgumentError, WengertError, combine
from wengert.later import later
from wengert.site import user_position

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")
# The `Steps` of `do.py`. Any: control hands expressions over unread, so it cannot know the type of their data.
Answer: TypeAlias = Generator[Any, Any, Any]


class Executor(Protocol):
    """The interpreter of expressions; each method is the program of one question about one expression."""

    def forward(self, expression: object, context: Context, /) -> Answer: ...

    def value(self, expression: object, context: Context, /) -> Answer: ...

    def predict(self, expression: object, context: Context, /) -> Answer: ...

    def train(self, loss: object, context: Context, /) -> Answer: ...

    def gradients(self, loss: object, wrt: object, context: Context, /) -> Answer: ...

    def resolved(self, expression: object, context: Context, /) -> Answer: ...

    def apply(self, deltas: object, context: Context, /) -> Answer: ...

    def shards(self, losses: object, back: bool, context: Context, /) -> Answer: ...


Replacing = Callable[["Executor"], "Executor"]

_default_executor: Executor | later | None = None
_replacing: Replacing | None = None


def set_default_executor(executor: Executor | later | None) -> None:
    """Choose who answers in runs that name no executor; `None` for nobody. Runs already begun keep theirs.

    `later`: one that is made for the first run.
    """
    global _default_executor
    _default_executor = executor


def replace_executors(by: Replacing | None) -> Replacing | None:
    """Choose who answers in place of the executor of each run that begins; the one before, to put it back."""
    global _replacing
    before, _replacing = _replacing, by
    return before


def chosen(executor: Executor | None) -> Executor | None:
    """The executor of a run that names this one or none; None while others take the place of each."""
    if _replacing is not None:
        return None
    return _default() if executor is None else executor


def _default() -> Executor | None:
    global _default_executor
    if isinstance(_default_executor, later):
        made: Executor = _default_executor()
        _default_executor = made
    return _default_executor


class Transaction:  # no NamedTuple, as are four others that importing loads: it takes 0.3 ms to make one
    """A participant besides weights: `prepare` votes by raising or not, `commit` or `abort` hears the decision."""

    __slots__ = ("abort", "commit", "prepare")

    def __init__(
        self, prepare: Callable[[], object], commit: Callable[[], object], abort: Callable[[], object]
    ) -> None:
        self.prepare = prepare
        self.commit = commit
        self.abort = abort


class Run:
    """One `run()`, `start()` or `await`, from its first step to its last release."""

    __slots__ = (
        "_done",
        "_executor",
        "_lock",
        "_memo",
        "_on_cancel",
        "_on_close",
        "_on_settle",
        "_on_success",
        "_transactions",
        "_voted",
        "cancelled",
        "cells",
        "elsewhere",
        "event_loop",
        "settled",
        "source",
    )

    def __init__(self, executor: Executor | None = None) -> None:
        if executor is not None and (isinstance(executor, type) or not hasattr(executor, "gradients")):
            raise ArgumentError(
                f"the executor of a run is an object such as wengert.run.Sequential(); got {executor!r:.60}"
                + isinstance(executor, type) * ", which is a class: call it"
                + f"\n  at {user_position()}"
            )
        chosen = executor if executor is not None else _default()
        self._executor = chosen if _replacing is None or chosen is None else _replacing(chosen)
        self._lock = RLock()
        self._memo: dict[object, object] = {}
        self._on_cancel: list[Callable[[], object]] = []
        self._on_settle: list[Callable[[object], object]] = []
        self._on_success: list[Callable[[], object]] = []
        self._on_close: list[Callable[[], object]] = []
        self._transactions: tuple[Transaction, ...] = ()
        self._voted = 0  # how many of these have
        self._done = False
        self.event_loop: asyncio.AbstractEventLoop | None = None  # that awaits this run, if one does
        self.cancelled = False
        self.settled = False
        self.cells: dict[object, SharedValue] = {}  # by shared `Do`
        self.elsewhere: frozenset[str] = frozenset()  # processes whose weights it has asked
        self.source: object = None  # the `Do` that is run, while it is

    @property
    def chosen(self) -> Executor | None:
        """The executor of this run, if there is one."""
        return self._executor

    @property
    def executor(self) -> Executor:
        """The executor of this run; an error if neither the run nor the library has one."""
        if self._executor is None:
            raise WengertError(
                "this run evaluates an expression and has no executor; import wengert, "
                "or name one as in do.run(executor=wengert.run.Sequential())"
            )
        return self._executor

    def local(self, key: object, make: Callable[[], T]) -> T:
        """`make()` of the first caller with this key; the same object for every later one in this run."""
        with self._lock:
            try:
                return cast(T, self._memo[key])
            except KeyError:
                made = make()
                self._memo[key] = made
                return made

    def on_cancel(self, callback: Callable[[], object]) -> None:
        """Call `callback` once, from the cancelling thread, when this run is cancelled; at once if it is."""
        with self._lock:
            if not self.cancelled:
                self._on_cancel.append(callback)
                return
        callback()

    def discard(self, callback: Callable[[], object]) -> None:
        """Forget a callback given to `on_cancel`; no error if it is unknown or was called."""
        with self._lock:
            if callback in self._on_cancel:
                self._on_cancel.remove(callback)

    def on_settle(self, callback: Callable[[object], object]) -> None:
        """Call `callback` with what each training gives, before its effect; what it raises refuses that."""
        with self._lock:
            self._on_settle.append(callback)

    def on_success(self, callback: Callable[[], object]) -> None:
        """Call `callback` when all went well and all is released, before the value is returned."""
        with self._lock:
            self._on_success.append(callback)

    def on_close(self, callback: Callable[[], object]) -> None:
        """Call `callback`, which must not raise, at the very end of the run, however it ends.

        Where an interrupt comes in the middle of that, it is called twice.
        """
        with self._lock:
            self._on_close.append(callback)

    def take_part(self, transaction: Transaction) -> None:
        """Have `transaction` vote before weights change, and told of the decision."""
        with self._lock:
            self._transactions = (*self._transactions, transaction)

    def cancel(self) -> bool:
        """Stop before the next step, from any thread; False if the run has succeeded or failed before."""
        with self._lock:
            if self._done or self.cancelled:
                return self.cancelled
            self.cancelled = True
            callbacks, self._on_cancel = self._on_cancel, []
        failures: list[Exception] = []
        for callback in callbacks:
            try:
                callback()
            except Exception as failure:
                failures.append(failure)
        if failures:
            raise combine(failures)
        return True

    def check(self) -> None:
        """For programs, between their questions: end here if the run is cancelled."""
        if self.cancelled:
            raise RunCancelled

    def settle(self, value: object) -> None:
        """Called before an effect that cannot be taken back, with the value that goes with it.

        A cancellation comes before it, or too late: it still stops the run if there is another step.
        """
        self.admit(value)
        if self._transactions:  # met on the way: a training that is the whole run changes weights next
            self._vote()
        with self._lock:
            if self.cancelled:
                raise RunCancelled
            self.settled = True

    def admit(self, value: object) -> None:
        """Show the value of a training to the callbacks of `on_settle`, any of which may raise to refuse it."""
        for callback in self._on_settle:
            callback(value)

    def succeed(self) -> None:
        """All votes; the last moment at which the run can be cancelled; the callbacks of `on_success`; all commits."""
        self._vote()
        with self._lock:
            if self.cancelled and not self.settled:
                raise RunCancelled
            self._done = True
        for callback in self._on_success:
            callback()
        if self._transactions:
            self._tell([transaction.commit for transaction in self._transactions])

    def _vote(self) -> None:
        """Have those vote who have not."""
        while self._voted < len(self._transactions):
            transaction = self._transactions[self._voted]
            self._voted += 1
            transaction.prepare()

    def roll_back(self, outcome: BaseException) -> BaseException:
        """Tell all who take part that the run has failed, the last first; its outcome, with what they raise."""
        try:
            self._tell([transaction.abort for transaction in self._transactions[::-1]])
        except BaseException as another:
            outcome = join(outcome, another)
        try:
            return outcome
        finally:
            del outcome  # its traceback may hold this frame

    def _tell(self, words: list[Callable[[], object]]) -> None:
        """Call all of these, once, whatever some of them raise."""
        self._transactions, self._voted = (), 0
        outcome: BaseException | None = None
        for word in words:
            try:
                word()
            except BaseException as another:
                outcome = join(outcome, another)
        if outcome is not None:
            raise outcome

    def close(self) -> None:
        """Let go of all that the run remembered: a failure's traceback may keep the run itself alive."""
        with self._lock:
            self._done = True
            self.source = None
            self._memo.clear()
            self._on_cancel.clear()
            self._on_settle.clear()
            self._on_success.clear()
            self.cells.clear()
        callbacks = self._on_close
        while callbacks:  # one that an interrupt stops is called once more
            callbacks[0]()
            del callbacks[0]


class Context:
    """The argument of a program: the run, and the environment that the nearest `Do.within` around it gave.

    `whole`: the question that is asked is the only one of the run, so nothing else will read or change what this one
    does. `followed`: functions are then applied to its value, and may fail (`Remainder` runs them).
    """

    __slots__ = ("environment", "followed", "run", "whole")

    def __init__(self, run: Run, environment: object | None = None) -> None:
        self.run = run
        self.environment = environment
        self.whole = self.followed = False
