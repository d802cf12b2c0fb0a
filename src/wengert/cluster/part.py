"""A part of a model in a process of its own: what a node does with the messages of a driver.

Knows: the model with its weights, which nobody else has; calls of it that a step may still go back through; steps
that are staged, shown, loaded and taken once more, by `protocol`.
Refuses to know: who carries messages, other nodes, and what the driver's own weights do.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from inspect import Parameter, Signature, signature
from threading import Lock
from typing import Any, NamedTuple

from wengert.arrays import Value, freeze, host_array, is_array
from wengert.arrays.ownership import as_readonly
from wengert.cluster.messages import Failed, answer
from wengert.cluster.protocol import Ask, Journal, Participant, Request, Verdict
from wengert.control import Context, Do, Steps, UnitContinuation
from wengert.errors import ArgumentError, CheckpointError, OutdatedError
from wengert.graph.kinds import Role
from wengert.graph.node import Expression
from wengert.graph.operand import external, lift_any, value_kind
from wengert.graph.products import leaves_of
from wengert.graph.store import STORE
from wengert.graph.weights import data_of
from wengert.lazy import dense
from wengert.models import weights_and_buffers
from wengert.run.commit import prepared
from wengert.run.direct import Stated, stated_by
from wengert.run.evaluation import Evaluation
from wengert.run.loops import accumulate
from wengert.run.sequential import Sequential
from wengert.run.tapes import OwnTape
from wengert.saving import Checkpoint, load, save
from wengert.site import user_position

Make = Callable[..., Callable[..., object]]


class Reply(NamedTuple):
    """An answer: in which life, to the how many-th message, and what was done with it; a failure is a `Failed`."""

    life: int
    number: int
    verdict: Verdict
    value: object = None


class Described(NamedTuple):
    """The `__call__` of a model, as the driver has to know it."""

    parameters: Signature
    result: Stated


class Arriving:
    """A leaf of an argument for which the driver wants a delta."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value


class PartForward(NamedTuple):
    """A call of the model. `keeps`: a delta may come back."""

    run: str
    call: int
    args: tuple[object, ...]
    named: dict[str, object]
    keeps: bool

    def on(self, part: PlacedPart) -> tuple[Value, ...]:
        """The data of the result's leaves."""
        open_run = part.runs.get(self.run) or OpenRun(part.executor)
        try:
            return open_run.forward(part, self)
        finally:
            if self.keeps:
                part.runs[self.run] = open_run
            elif self.run not in part.runs:
                open_run.close()


class PartBackward(NamedTuple):
    """A delta for each leaf of a call's result that has got one."""

    run: str
    call: int
    deltas: dict[int, Value]

    def on(self, part: PlacedPart) -> tuple[Value | None, ...]:
        """The deltas of the arguments' leaves."""
        return part.runs[self.run].backward(self)


class Staging(NamedTuple):
    """The calls whose deltas one step adds up, in this order."""

    run: str
    calls: tuple[int, ...]

    def on(self, part: PlacedPart) -> None:
        """Take the step as far as it can fail."""
        part.stage(self)


class PartEnding(NamedTuple):
    """The end of a run, which showed what it had staged or did not."""

    run: str

    def on(self, part: PlacedPart) -> None:
        """Let go of what it kept."""
        part.end(self.run)


class Running(NamedTuple):
    """Any `Do`; its value stays there under a number, if there is one."""

    do: Do[Any]  # Any: of every type
    keep: int | None = None

    def on(self, part: PlacedPart) -> object:
        """The value, or None if it is kept."""
        value = self.do.run()
        if self.keep is None:
            return value
        part.kept[self.keep] = value
        return None


class Applying(NamedTuple):
    """A function of a value that is kept."""

    kept: int
    function: Callable[[Any], object]  # Any: as above

    def on(self, part: PlacedPart) -> object:
        """Its result."""
        return self.function(part.kept[self.kept])


class Releasing(NamedTuple):
    """The end of a value that is kept."""

    kept: int

    def on(self, part: PlacedPart) -> None:
        """Let go of it."""
        part.kept.pop(self.kept, None)


class Reading(NamedTuple):
    """A question for data of all weights."""

    def on(self, part: PlacedPart) -> dict[str, Value]:
        """Arrays and numbers by name."""
        found = weights_and_buffers(part.model)
        return {
            name: as_readonly(data_of(x)) if is_array(data_of(x)) else data_of(x) for name, x in found.items()
        }


class Digesting(NamedTuple):
    """A question for a digest of data and state of all weights."""

    def on(self, part: PlacedPart) -> str:
        """Hexadecimal digits."""
        return digest_of(part.model)


class Saving(NamedTuple):
    """A question for a checkpoint at a path."""

    path: str
    note: str

    def on(self, part: PlacedPart) -> None:
        """Write it."""
        part.save(self.path, self.note)


class Replayed(NamedTuple):
    """A step that was decided: the messages of its calls and deltas in order, and what was staged."""

    step: int
    bodies: tuple[bytes, ...]
    staging: bytes


class Life(NamedTuple):
    """All that a node is, for one that begins anew: how it is made, what it has to load and to do once more."""

    make: bytes  # of a function, its arguments, and those with names
    note: str  # of checkpoints that are of this training
    path: str | None
    journal: Journal
    steps: tuple[Replayed, ...] = ()
    bodies: tuple[bytes, ...] = ()  # of runs that are open
    kept: tuple[bytes, ...] = ()
    loaded: str | None = None  # a checkpoint of a training that was resumed, with which the journal begins
    describes: bool = False  # the answer is what the model's `__call__` is

    def on(self, part: PlacedPart) -> Described | None:
        """Begin."""
        return part.begin(self)


class OpenRun:
    """The evaluation of one of the driver's runs: its calls here, in one, so that what they share is computed once."""

    def __init__(self, executor: Sequential) -> None:
        self.executor = executor
        self.evaluation: Evaluation = executor.engine.begin(STORE.begin(self))
        self.evaluation.trains = True  # so that questions inside the model are part of it
        self.calls: dict[int, PartCall] = {}

    def forward(self, part: PlacedPart, asked: PartForward) -> tuple[Value, ...]:
        """The data of the leaves of a call's result."""
        call = PartCall()
        args = [call.taken(x) for x in asked.args]
        named = {name: call.taken(x) for name, x in asked.named.items()}
        leaves = leaves_of(part.model(*args, **named))[0]
        call.results = [lift_any(x, f"the result of {type(part.model).__name__}") for x in leaves]
        if asked.keeps:
            self.calls[asked.call] = call
        Do.program(partial(self._evaluate, call.results)).run(self.executor)
        return tuple(self.evaluation.value(x) for x in call.results)

    def _evaluate(self, results: Sequence[Expression], context: Context) -> Steps[None]:
        for x in results:
            yield from self.evaluation.evaluate(x, context)

    def backward(self, asked: PartBackward) -> tuple[Value | None, ...]:
        """The deltas of the leaves of a call's arguments; those of weights are kept with the call."""
        call, evaluation = self.calls[asked.call], self.evaluation
        for i, delta in asked.deltas.items():
            evaluation.add(call.results[i], delta)
        try:
            Do.program(evaluation.backward).run(self.executor)
        finally:
            call.deltas, evaluation.deltas = evaluation.deltas, {}
        return tuple(None if not x else dense(x[-1]) for x in call.arrived)

    def total(self, calls: Sequence[int]) -> dict[Expression, Value]:
        """The deltas of several calls, added up in this order."""
        found: dict[Expression, Value] = {}
        for call in calls:
            for weight, delta in self.calls[call].deltas.items():
                accumulate(found, weight, delta)
        return found

    def close(self) -> None:
        """Let go of everything."""
        self.calls.clear()
        self.evaluation.__exit__()
        STORE.end(self)


@dataclass(eq=False)
class PartCall:
    """One call: its results, and the deltas that have arrived at its arguments and at weights."""

    results: list[Expression] = field(default_factory=list)
    arrived: list[list[Value]] = field(default_factory=list)
    deltas: dict[Expression, Value] = field(default_factory=dict)

    def taken(self, argument: object) -> object:
        """An argument of the model: a product with expressions for what has arrived."""
        leaves, rebuild = leaves_of(argument)
        return rebuild([self._layer(x) if isinstance(x, Arriving) else x for x in leaves])

    def _layer(self, leaf: Arriving) -> Expression:
        at: list[Value] = []
        self.arrived.append(at)
        value = freeze(leaf.value) if is_array(leaf.value) else leaf.value

        def backward(delta: Do[Any]) -> UnitContinuation[None]:  # Any: of every type
            return UnitContinuation.delay(lambda: at.append(delta.run()))

        return external(Do.now(OwnTape(value, backward)), value_kind(value, Role.LAYER))


class PlacedPart:
    """The object of a node's process, which messages are for; see `receive`."""

    def __init__(self) -> None:
        self.state = Participant()
        self.model: Callable[..., object] = _nothing
        self.executor = Sequential()
        self.runs: dict[str, OpenRun] = {}
        self.kept: dict[int, object] = {}
        self._staged: tuple[str, Callable[[], None]] | None = None  # of which run, and what shows it
        self._reply = Reply(0, 0, Verdict.UNKNOWN)
        self._lock = Lock()

    def receive(self, ask: Ask, body: bytes) -> Reply:
        """Carry out a message, or do what the protocol says of one that has been, or is of another life."""
        with self._lock:
            verdict = self.state.verdict(ask)
            if verdict is Verdict.REPEAT:
                return self._reply
            if verdict is Verdict.PERFORM and ask.kind is Request.COMMIT and not self.state.can_commit(ask):
                verdict = Verdict.UNKNOWN  # this is not the life that voted
            if verdict is Verdict.PERFORM:
                value = answer(self._performed, (ask, body))
                self.state = self.state.after(ask, not isinstance(value, Failed))
                self._reply = Reply(ask.life, ask.number, verdict, value)
                return self._reply
            return Reply(ask.life, ask.number, verdict)

    def _performed(self, ask: Ask, body: bytes) -> object:
        message = pickle.loads(body)
        if ask.kind is Request.COMMIT:
            if self.state.applies(ask):
                self.show()
        elif (ask.kind is Request.VOTE or isinstance(message, PartForward)) and not self.state.can_vote(ask):
            raise _outdated(ask, self.state)
        found: object = message.on(self)
        return found

    def begin(self, life: Life) -> Described | None:
        """Be made, load what there is, and take the steps that were decided since."""
        self.let_go()
        make, args, named = pickle.loads(life.make)
        self.model = _nothing if make is None else make(*args, **named)
        loaded = 0 if life.loaded is None else self.load(life.loaded, None)
        if life.path is not None and life.journal.version and os.path.exists(life.path):
            with suppress(_Other):  # of a training before this one
                loaded = self.load(life.path, life.note)
        if not life.journal.holds(loaded):
            raise CheckpointError(
                f"{life.path} has step {loaded}; nothing leads from there to step {life.journal.version}, as the "
                f"driver has let go of what came before step {life.journal.saved}"
            )
        left = {*life.journal.since(loaded)}
        for replayed in life.steps:
            if replayed.step in left:
                for body in (*replayed.bodies, replayed.staging):
                    pickle.loads(body).on(self)
                self.show()
                self.end(pickle.loads(replayed.staging).run)
        for body in (*life.bodies, *life.kept):
            pickle.loads(body).on(self)
        return describe(self.model) if life.describes else None

    def stage(self, staging: Staging) -> None:
        """Everything of a step that can fail."""
        open_run = self.runs[staging.run]
        self._staged = None
        deltas = open_run.total(staging.calls)
        self._staged = staging.run, prepared(deltas, open_run.evaluation.snapshot)

    def show(self) -> None:
        """The rest of it."""
        assert self._staged is not None, "a commit comes after a vote"
        (_, publish), self._staged = self._staged, None
        publish()

    def end(self, run: str) -> None:
        """Let go of what a run kept."""
        if self._staged is not None and self._staged[0] == run:
            self._staged = None
        open_run = self.runs.pop(run, None)
        if open_run is not None:
            open_run.close()

    def let_go(self) -> None:
        """End every run, and forget what is kept."""
        for run in [*self.runs]:
            self.end(run)
        self.kept.clear()

    def save(self, path: str, note: str) -> None:
        """Write a checkpoint."""
        if self.model is not _nothing and weights_and_buffers(self.model):
            os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
            save(path, self.model, step=self.state.version, note=note)

    def load(self, path: str, note: str | None) -> int:
        """Read a checkpoint, if it is of this training; the step that it shows."""
        found = load(path, self.model, check=partial(_checked, note))
        return found.step or 0


class _Other(CheckpointError):
    """A checkpoint of another training."""


def _checked(note: str | None, found: Checkpoint) -> None:
    if note is not None and found.note != note:
        raise _Other(f"a checkpoint of {found.note!r}")


def _outdated(ask: Ask, state: Participant) -> OutdatedError:
    return OutdatedError(
        f"this run began at step {ask.base} of a part that shows step {state.version} by now: another run has trained "
        "it meanwhile; run it again"
    )


def _nothing(*args: object, **named: object) -> object:
    raise ArgumentError("no model has been placed on this node; write node.place(Class, ...)")


def describe(model: Callable[..., object]) -> Described:
    """The parameters of a model and what it gives, also of its class, whose annotations only its own process may know.

    Raises ArgumentError for a result that is no layer or product of layers.
    """
    cls = model if isinstance(model, type) else type(model)
    function: Any = model if hasattr(model, "__code__") else cls.__call__  # Any: of every signature
    stated = stated_by(function)
    if stated is None:
        raise ArgumentError(
            f"{getattr(function, '__qualname__', function)} gives a union, or None, and a part elsewhere gives layers; "
            f"annotate one\n  at {user_position()}"
        )
    parameters = [*signature(function).parameters.values()][function is not model :]
    plain = [
        x.replace(annotation=Parameter.empty, default=x.default if x.default is Parameter.empty else None)
        for x in parameters
    ]
    return Described(Signature(plain), stated)


def digest_of(model: object) -> str:
    """SHA-256 of data and optimizer state of all weights of a model, in hexadecimal digits."""
    found = sha256()
    for name, weight in sorted(weights_and_buffers(model).items()):
        for key, value in sorted({"": data_of(weight), **weight.optimizer.kept()}.items()):
            found.update(f"{name} {key} ".encode())
            found.update(host_array(value).tobytes() if is_array(value) else repr(value).encode())
    return found.hexdigest()
