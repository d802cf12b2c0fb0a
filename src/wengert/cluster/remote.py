"""Parts of a model that live elsewhere, as layers: the values go there, the derivatives come back.

Knows: what of an argument may cross; that a call is a tape whose backward sends its delta to the node and stands in the
run's deltas until the commit; that a call whose arguments are known begins while the run waits for another.
Refuses to know: how messages get there, and who decides a step.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any, Generic, NamedTuple, ParamSpec, TypeVar

from wengert.arrays import Value, is_array, is_host_array
from wengert.cluster.links import NodeLink
from wengert.cluster.part import Arriving, Described, PartBackward, PartForward
from wengert.cluster.steps import RemoteCalls, RemoteRun, Steps, Version
from wengert.control import Context, Do, UnitContinuation, gather
from wengert.control.do import Steps as Yields
from wengert.control.machine import Branch, Instruction, Machine
from wengert.delta import zero
from wengert.differentiable import Tape
from wengert.errors import ArgumentError, WengertError
from wengert.graph.node import Expression, asked
from wengert.graph.operand import lift_any, shown, tape_do
from wengert.graph.products import Rebuild, leaves_of
from wengert.graph.weights import DataWeight
from wengert.lazy import dense
from wengert.run.direct import layers_of
from wengert.run.evaluation import Evaluation
from wengert.run.tapes import nowhere
from wengert.site import user_position

P = ParamSpec("P")
L = TypeVar("L", covariant=True)
_PLAIN = (bool, int, str, type(None))


class GivenArguments(NamedTuple):
    """The arguments of a call: expressions, whatever else stands as it is, and what puts both together."""

    leaves: tuple[object, ...]
    rebuild: Rebuild
    names: tuple[str, ...]

    def expressions(self) -> list[Expression]:
        """Arguments whose values a run knows."""
        return [x for x in self.leaves if isinstance(x, Expression)]


class Remote(Generic[P, L]):
    """A model on a node, which has its weights and their optimizers; called as it would be here.

    The arguments are arrays, numbers and expressions, and products of these; None, and texts, cross as they are.
    """

    __slots__ = ("_described", "_link", "_steps", "_version")

    def __init__(self, link: NodeLink, steps: Steps, described: Described) -> None:
        self._link, self._steps, self._described = link, steps, described
        self._version = steps.version(link)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> L:
        """The layers that the model's `__call__` states; nothing is sent before a run.

        Raises TypeError for arguments that it does not take, ArgumentError with the parameter's name for one that
        cannot cross.
        """
        try:
            bound = self._described.parameters.bind(*args, **kwargs)
        except TypeError as error:
            raise ArgumentError(f"{self!r}: {error}\n  at {user_position()}") from None
        for name, x in bound.arguments.items():
            bound.arguments[name] = (
                {key: _crossing(self, key, y) for key, y in x.items()}
                if isinstance(x, dict) and name not in kwargs
                else _crossing(self, name, x)
            )
        leaves, rebuild = leaves_of((bound.args, tuple(bound.kwargs.values())))
        given = GivenArguments(tuple(leaves), rebuild, tuple(bound.kwargs))
        call = RemoteCall(self._link, self._steps, self._version, given, self._described.result.cls is None)
        made: L = layers_of(self._described.result, call)
        return made

    @property
    def version(self) -> int:
        """The last step that this part has taken."""
        return self._version.data.step

    def weights(self) -> dict[str, Any]:  # Any: arrays and numbers of every type
        """Copies of the data of its weights, by name, brought here."""
        return self._link.weights()

    def digest(self) -> str:
        """SHA-256 of data and optimizer state of all its weights, in hexadecimal digits."""
        return self._link.digest()

    def __reduce__(self) -> tuple[object, ...]:
        raise ArgumentError(f"{self!r} belongs to this process: place a part of its own where it is needed")

    def __repr__(self) -> str:
        return f"<Remote on node {self._link.name!r}>"


def _crossing(remote: object, name: str, argument: object) -> object:
    """An argument with expressions lifted. Raises ArgumentError for what does not cross."""
    leaves, rebuild = leaves_of(argument)
    return rebuild([_crossing_leaf(remote, name, x) for x in leaves])


def _crossing_leaf(remote: object, name: str, x: object) -> object:
    whole = is_array(x) and is_host_array(x) and x.dtype.kind in "iub"
    if whole or isinstance(x, _PLAIN):
        return x
    try:
        if is_array(x) and not is_host_array(x):
            raise ArgumentError("an array of another device")
        return lift_any(x)
    except WengertError:
        raise ArgumentError(
            f"{remote!r}: parameter {name!r} got {shown(x)} ({type(x).__name__}), which does not cross to another "
            "process; arrays, numbers, expressions, and tuples and frozen dataclasses of these do\n"
            f"  at {user_position()}"
        ) from None


class RemoteCall(Do[Tape[Any, Any]]):
    """A call of a part elsewhere: its tape. A branch of a `gather` begins it as soon as its arguments are known."""

    __slots__ = ("given", "link", "single", "steps", "version")

    def __init__(
        self,
        link: NodeLink,
        steps: Steps,
        version: DataWeight[Version, float],
        given: GivenArguments,
        single: bool,
    ) -> None:
        self.link, self.steps, self.version, self.given, self.single = link, steps, version, given, single

    def _begin(self, machine: Machine) -> Instruction | None:
        evaluation = machine.context.environment
        if isinstance(machine, Branch) and isinstance(evaluation, Evaluation):
            self._ahead(machine, evaluation)
        return Do.program(self._performed)

    def _ahead(self, machine: Machine, evaluation: Evaluation) -> None:
        """Send the arguments before the turn of this has come, if all are known."""
        values = evaluation.values
        if all(x in values for x in self.given.expressions()):
            version: Version = self.version.ref.at(evaluation.snapshot)
            of = self.steps.run(machine.run)
            data = [values[x] for x in self.given.expressions()]
            may = evaluation.variables is not None  # a literal may stand for what a derivative is asked by
            wanted = [may or x.kind.trainable for x in self.given.expressions()]
            of.early(self, partial(self._sent, of, data, wanted, version, evaluation.goes_back))

    def _performed(self, context: Context) -> Yields[Tape[Any, Any]]:
        version: Tape[Any, Any] = yield asked("forward", self.version)
        tapes: tuple[Tape[Any, Any], ...] = yield gather(*map(tape_do, self.given.expressions()))
        of = self.steps.run(context.run)
        call, wanted, future = of.begun(self) or self._sent(
            of,
            [tape.data for tape in tapes],
            [tape.backward is not nowhere for tape in tapes],
            version.data,
            _goes_back(context),
        )
        data = yield Do.of(future)
        (first, *_) = data
        arguments = [tape for tape, does in zip(tapes, wanted, strict=True) if does]
        backward = partial(self._backward, of, call, version, arguments)
        return Tape(first if self.single else tuple(data), backward)

    def _sent(
        self, of: RemoteRun, data: Sequence[Value], wanted: Sequence[bool], version: Version, keeps: bool
    ) -> tuple[int, Sequence[bool], Future[Any]]:
        known = iter(zip(data, wanted, strict=True))
        values: list[object] = []
        for x in self.given.leaves:
            if isinstance(x, Expression):
                value, does = next(known)
                values.append(Arriving(value) if does and keeps else value)
            else:
                values.append(x)
        args, named = self.given.rebuild(values)
        call = of.call(self.link)
        self.steps.wait(of)
        asking = PartForward(of.name, call, args, dict(zip(self.given.names, named, strict=True)), keeps)
        return call, wanted, self.link.work(of.name, asking, keeps, version.step)

    def _backward(
        self,
        of: RemoteRun,
        call: int,
        version: Tape[Any, Any],
        arguments: Sequence[Tape[Any, Any]],
        delta: Do[Any],
    ) -> UnitContinuation[None]:
        return UnitContinuation.defer(partial(self._sent_back, of, call, version, arguments, delta))

    def _sent_back(
        self,
        of: RemoteRun,
        call: int,
        version: Tape[Any, Any],
        arguments: Sequence[Tape[Any, Any]],
        delta: Do[Any],
    ) -> UnitContinuation[None]:
        arrived = delta.run()
        deltas = {0: dense(arrived)} if self.single else {i: dense(x) for i, x in arrived.arrived.items()}
        answer = Do.of(self.link.work(of.name, PartBackward(of.name, call, deltas), True))
        sent = version.backward(answer.map(lambda _: RemoteCalls(of.name, (call,))))
        for index, tape in enumerate(arguments):
            sent = sent.flat_map(partial(_send, tape, answer.map(partial(_delta_of, tape.data, index))))
        return sent


def _delta_of(data: Value, index: int, deltas: Sequence[Value | None]) -> Value:
    found = deltas[index]
    return zero(data) if found is None else found


def _goes_back(context: Context) -> bool:
    """True if a delta may come back in this run."""
    evaluation = context.environment
    return not isinstance(evaluation, Evaluation) or evaluation.goes_back


def _send(tape: Tape[Any, Any], delta: Do[Any], before: None) -> UnitContinuation[None]:
    return tape.backward(delta)
