"""Tapes of an evaluation: those of binds, its own, which others send deltas to, and the values at both ends.

Knows: that the value of a user's is asked once, and waits for nobody twice; that a delta on its way through a tape is
a `Do`, which runs when no more can come to where it was sent, and only if somebody asks for it; that data which come
in have to be what the node's kind says and are kept as a private copy, and that data which go out never alias what an
evaluation still needs.
Refuses to know: the order of nodes, and what is computed between tapes.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Container, Iterable, Mapping
from functools import partial
from numbers import Real
from typing import Any, Final

from wengert.arrays import (
    ARRAY_CLASS,
    Float32,
    Float64,
    Value,
    all_quiet,
    as_readonly,
    copied,
    dtype_of,
    freeze,
    host_array,
    is_array,
    is_host_array,
    shape_of,
)
from wengert.arrays.ownership import owners
from wengert.control import Context, Do, Steps, UnitContinuation
from wengert.control.machine import Bell, Branch
from wengert.control.resources import RunCancelled
from wengert.differentiable import Tape
from wengert.errors import ArgumentError, DTypeError, ShapeError, TapeReleasedError, combine, raise_all
from wengert.graph.kinds import CLASSES, Column, Kind
from wengert.graph.node import Expression, Node
from wengert.graph.operand import found_kind, shown, tape_of, value_kind
from wengert.graph.operation import EXTERNAL
from wengert.graph.order import below
from wengert.graph.store import Ref
from wengert.graph.weights import Weight
from wengert.lazy import LazyDelta, read_only
from wengert.run.loops import Failure, Loops, arguments_of, noted, summed, total

_ARRAY: Final = Column.ARRAY  # names of a module are found faster than members of an enumeration
_MASK: Final = Column.MASK
_INDEX: Final = Column.INDEX


class OwnTape(Tape[Any, Any]):  # Any: of expressions with Data of every type
    """A tape that an evaluation made: its data need no copy."""

    source: Expression | None

    def __init__(
        self,
        data: object,
        backward: Callable[[Do[Any]], UnitContinuation[None]],
        source: Expression | None = None,
    ) -> None:
        super().__init__(data, backward)
        object.__setattr__(self, "source", source)  # the way of frozen dataclasses, as a tape is one

    def __reduce__(self) -> tuple[object, ...]:
        return OwnTape, (self.data, self.backward, self.source)


def checked(tape: object, node: Node) -> Tape[Any, Any]:
    """The tape, if it is one."""
    if not isinstance(tape, Tape):
        raise ArgumentError(
            f"the forward of {node!r} gave {shown(tape)}, not a Tape; "
            f"write Do.now(Tape(data, backward)) or use `.forward` of a layer"
        )
    return tape


def received(tape: Tape[Any, Any], node: Node) -> Value:
    """The data of a tape, if they are what the node's kind says."""
    data, stated = tape.data, node.kind
    if stated.column is Column.DOUBLE and isinstance(data, (int, float)):
        return float(data)
    if stated.column is Column.OTHER:
        return data
    reduced = stated.column is Column.ARRAY and type(data) in (Float32, Float64)  # by numpy, to no axes
    check_stated(stated, found_kind(stated, data) if reduced else value_kind(data), data)
    return data if isinstance(tape, OwnTape) or not is_array(data) else freeze(data)


def check_stated(stated: Kind, actual: Kind, data: Value = None) -> None:
    """Refuse what is not as the annotation states; what either leaves open agrees with everything."""
    if stated.column is Column.OTHER:
        return
    if actual.column is Column.OTHER:
        raise DTypeError(f"stated is {_text(stated)}, the run gave {shown(data)}")
    if actual.column is not stated.column or _differ(stated.dtype, actual.dtype):
        raise DTypeError(f"stated is {_text(stated)}, the run gave {_text(actual)}")
    if _differ(stated.shape, actual.shape):
        raise ShapeError(f"stated is {_text(stated)}, the run gave {_text(actual)}")


def _differ(stated: object, actual: object) -> bool:
    return stated is not None and actual is not None and stated != actual


def _text(of: Kind) -> str:
    cls = CLASSES.get(of.column)
    return f"{cls.__name__ if cls else 'an array'} {of.text()}"


def checked_delta(delta: Value, x: Expression) -> Value:
    """A delta that was sent by hand, if it is one of `x`: its data's shape and dtype, or a sparse form."""
    of = x.kind
    if of.column is Column.OTHER or of.shape is None:
        return delta
    if isinstance(delta, LazyDelta):
        delta.check(of.shape)
        return delta
    if of.column in (Column.DOUBLE, Column.FLOAT) and isinstance(delta, Real):
        return Float32(delta) if of.column is Column.FLOAT else float(delta)
    if shape_of(delta) != of.shape:
        raise ShapeError(f"a delta of shape {shape_of(delta)} was sent to {x!r}, whose delta has its shape")
    if dtype_of(delta) != of.dtype and not isinstance(delta, (int, float)):
        raise DTypeError(f"a delta of {dtype_of(delta)} was sent to {x!r}, whose delta has its dtype")
    return delta


def given(value: Value, of: Kind, buffers: Mapping[int, Ref]) -> Value:
    """Data for a user inside the run: arrays cannot be written to, and no commit writes to them later."""
    if of.column is Column.FLOAT:
        return Float32(value)  # numpy's `where` gives an array of shape () for numbers, too
    if of.column in (Column.ARRAY, Column.MASK, Column.INDEX) or is_array(value):
        array = host_array(value)
        cell = next((buffers[id(x)] for x in owners(array) if id(x) in buffers), None)
        if cell is not None and (id(array) not in buffers or is_array(array.base)):
            array = copied(array)  # of a part of a weight's data, or of an array that several weights live in
        elif cell is not None:
            cell.exposed = True
        return as_readonly(array)
    return value


def handed_over(value: Value, of: Kind, buffers: Container[int]) -> Value:
    """Data for a user after the run: a new array; one with an identity in `buffers` is somebody else's, too."""
    column, plain = of.column, value.__class__ is ARRAY_CLASS  # what most questions get
    if not plain and isinstance(value, LazyDelta):
        return value  # see `told`
    if column is _ARRAY or column is _MASK or column is _INDEX:
        if not plain and not is_array(value):
            return host_array(value)
        # cupy has no such flag
        writeable = value.flags.writeable if plain else not is_host_array(value) or value.flags.writeable
        fresh = value.base is None and id(value) not in buffers and writeable
        return value if fresh else copied(value)
    if column is Column.FLOAT:
        return Float32(value)
    return float(value) if column is Column.DOUBLE else value


def each_handed_over(
    values: Iterable[Value], of: Iterable[Expression], buffers: Container[int]
) -> list[Value]:
    """As `handed_over` for the data or deltas of several, each an object of its own."""
    found: list[Value] = []
    seen: set[int] = set()  # identities
    for x, y in zip(values, of, strict=True):
        again = id(x) in seen and is_array(x)
        found.append(copied(x) if again else handed_over(x, y.kind, buffers))
        seen |= {id(x), id(found[-1])}
    return found


def nowhere(delta: object) -> UnitContinuation[None]:
    """The backward of a constant: the delta is never run."""
    return UnitContinuation.now(None)


class Tapes:
    """Values and deltas, and how they come from and go to binds and users."""

    __slots__ = (
        *("foreseen", "deltas", "failed", "lazy", "loops", "opened", "opening", "pending", "tapes", "values"),
        "wanted",
    )

    def __init__(self, loops: Loops) -> None:
        self.loops = loops
        self.values: dict[Expression, Value] = {}
        self.failed: dict[Expression, Failure] = {}
        self.deltas: dict[Expression, Value] = {}
        self.wanted: dict[Expression, Value] = {}  # deltas asked for by `gradients`
        self.tapes: dict[Node, Tape[Any, Any]] = {}  # Any: of external nodes, with Data of every type
        self.opened: dict[int, Node] = {}  # by the identity of a user's differentiable value
        self.foreseen: dict[Node, Branch] = {}  # binds that have begun before their turn
        self.opening: set[Node] = set()  # whose Do runs now: one that is met again would wait for itself
        self.pending: dict[Expression, list[Do[Any]]] = {}  # Any: deltas sent by hand or by a user's tape
        self.lazy: dict[Node, list[Callable[[], Value]]] = {}  # deltas of external nodes, run if asked for

    def _open(self, node: Node, context: Context) -> Steps[None]:
        """Run what makes a node's tape; a user's value that stands in two places is asked once."""
        (source,) = node.operands
        first = node if isinstance(source, Do) else self.opened.setdefault(id(source), node)
        if first in self.failed:
            raise combine(self.failed[first])
        if first is not node and first in self.values:
            self.values[node] = self.values[first]
            self.tapes[node] = OwnTape(self.values[node], partial(self.receive, first), first)
            return
        if node in self.opening:
            raise RecursionError(f"{node!r} waits for itself: its own Do uses it")
        self.opening.add(node)
        with self.loops.around("bind", node):
            tape = checked((yield Do.within(self, self._rest_of(node))), node)
        self.opening.discard(node)
        self.values[node] = received(tape, node)
        self.tapes[node] = tape

    def _rest_of(self, node: Node) -> Do[Tape[Any, Any]] | Branch:
        return self.foreseen.pop(node) if node in self.foreseen else tape_of(node)

    def foresee(self, root: Expression, context: Context, bell: Bell) -> None:
        """Begin the binds below `root` before their turn, as far as each goes by itself."""
        known = ChainMap[Expression, Any](self.values, self.failed)  # Any: values and failures
        for node in below(root, known)[0]:
            (source, *_) = node.operands or (None,)
            bind = node.signature.mode == EXTERNAL and isinstance(source, Do)
            if bind and node not in self.opening and node not in self.foreseen:
                self.foreseen[node] = branch = Branch(tape_of(node), Context(context.run, self), bell)
                bell.put(branch.go_ahead)

    def leave_behind(self) -> None:
        """Let go of binds whose turn will not come."""
        while self.foreseen:
            self.foreseen.popitem()[1].abandon(RunCancelled())

    def receive(self, x: Expression, delta: Do[Any]) -> UnitContinuation[None]:  # Any: deltas of every type
        """The accumulator of `x`: nothing happens until the continuation runs; then the delta waits."""
        return UnitContinuation.delay(lambda: self.pending.setdefault(x, []).append(delta))

    def _settled(self, context: Context, failures: list[Exception]) -> Steps[None]:
        """Settle the deltas sent to weights, after the turn of every node; then raise the failures of all."""
        for weight in [x for x in self.pending if isinstance(x, Weight)]:
            try:
                yield from self._collect(weight, context)
            except Exception as failure:
                failures.append(failure)
        for late in self.pending:
            failures.append(TapeReleasedError(f"a delta was sent to {late!r} after its turn had passed"))
        self.pending.clear()
        raise_all(failures)

    def _collect(self, x: Expression, context: Context) -> Steps[None]:
        """Run the deltas that were sent to `x` as a `Do`, now that no more can come."""
        sent = self.pending.pop(x, [])
        while sent:
            delta = checked_delta((yield Do.within(self, sent.pop(0))), x)
            with all_quiet():
                self.add(x, delta)
        if x in self.wanted and x in self.deltas:
            self.wanted[x] = self.deltas[x]

    def collected(self, x: Node, context: Context, failures: list[Exception]) -> Steps[None]:
        """Collect the delta of a node whose turn comes with that of others."""
        try:
            yield from self._collect(x, context)
        except Exception as failure:
            self.deltas.pop(x, None)  # it has had its turn
            failures.append(noted(failure, x, self._operands(x), "backward of "))

    def _operands(self, node: Node) -> tuple[Value, ...]:
        signature = node.signature
        return () if signature.mode == EXTERNAL else arguments_of(node, signature, self.values)

    def _send(self, node: Node) -> None:
        """Hand an external node's delta, still a `Do`, to the tape that its source gave."""
        sent = self.lazy.pop(node, [])
        if node in self.deltas:
            g = self.deltas.pop(node)
            sent.append(lambda: g)
        if sent:
            tape = self.tapes[node]
            handed = summed if isinstance(tape, OwnTape) else _handed_on
            tape.backward(Do.delay(partial(handed, sent))).run()

    def add(self, x: Expression, delta: Value) -> None:
        """Add to what has arrived at `x`."""
        try:
            self.deltas[x] = total(self.deltas.get(x), delta)
        except ArgumentError as twice:
            twice.add_note(f"the delta of {x!r}, made at {x.site}")
            raise


def _handed_on(sent: list[Callable[[], Value]]) -> Value:
    """The delta for a tape of a user's: others may have been sent the same array."""
    return read_only(summed(sent))
