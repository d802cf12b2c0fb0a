"""From what one row computes to many rows: batching rules applied to nodes, and rows one after the other.

Knows: that the nodes of a cell get their rules one by one; that what no row has a part in is computed once for all;
that the graph for many rows is an ordinary one, whose derivatives are those of its nodes; that where a rule is missing,
one row runs after the other, which is the meaning of every launch.
Refuses to know: how a graph is run, and which rows come together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

from wengert.arrays import FLOAT32, FLOAT64, Value, host_array, is_array, namespace_of
from wengert.errors import ShapeError, combine, raise_all
from wengert.graph.apply import apply
from wengert.graph.batch import Batch
from wengert.graph.kinds import CLASSES, NUMBER, Column, Kind, Role, kind
from wengert.graph.node import Expression, Node, new_node
from wengert.graph.operand import lift_any
from wengert.graph.operation import CELL, EXTERNAL, UNRESOLVED, Signature
from wengert.graph.order import below
from wengert.graph.template import PARAMETER, PART, CellSignature, Parts
from wengert.lazy import dense
from wengert.ops.batching import repeated
from wengert.run.loops import Failure, Values, backward, forward

_NUMBERS: Final = frozenset({Column.NUMBER, Column.DOUBLE, Column.FLOAT})
_PARAMETER: Final = PARAMETER.signature((NUMBER,), ())


class NoBatchingRule(Exception):
    """The reason why there is no graph for many rows."""


@dataclass(frozen=True, slots=True, eq=False)
class BatchedGraph:
    """`nodes` lead from `parameters`, one an operand, to `results`, all of which have the axis of rows."""

    parameters: tuple[Node, ...]
    nodes: list[Node]
    results: tuple[Expression, ...]


@dataclass(frozen=True, slots=True, eq=False)
class RowValue:
    """The stand-in for a value of one row, and whether it has the axis of rows."""

    value: Any  # Any: an expression, or a literal of any type
    stacked: bool

    def over(self, rows: int) -> Expression:
        """The value with the axis of rows."""
        x = lift_any(self.value)
        return x if self.stacked else repeated(x, (rows, *(x.kind.shape or ())))


Made = RowValue | tuple[RowValue, ...]  # several for a cell that returns a tuple


def batched(signature: Signature, shared: Sequence[bool], rows: int) -> BatchedGraph:
    """The graph for so many rows; raises `NoBatchingRule` where something has no rule."""
    floats = {*_NUMBERS, Column.ARRAY}
    number = next((k.dtype for k in signature.kinds if k.column in floats and k.dtype), FLOAT64)
    parameters = tuple(
        _parameter(k if one else _of_rows(k, number, rows))
        for k, one in zip(signature.kinds, shared, strict=True)
    )
    made = _called(signature, [RowValue(x, not one) for x, one in zip(parameters, shared, strict=True)], rows)
    results = tuple(x.over(rows) for x in (made if isinstance(made, tuple) else (made,)))
    met: dict[Expression, None] = dict.fromkeys(parameters)
    for x in results:
        met |= dict.fromkeys(below(x, met)[0])
    nodes = [x for x in met if isinstance(x, Node)][len(parameters) :]
    return BatchedGraph(parameters, sorted(nodes, key=lambda x: x.serial), results)


def _of_rows(of: Kind, number: Any, rows: int) -> Kind:  # Any: the dtype that Python numbers take on
    """The kind of an operand that each row has its own of."""
    if of.column is Column.OTHER or of.shape is None:
        raise NoBatchingRule(f"{of.text()} cannot be a row of an array")
    role = Role.LAYER if of.role is Role.WEIGHT else of.role
    column = Column.ARRAY if of.column in _NUMBERS else of.column
    return kind(column, (rows, *of.shape), of.dtype or number, of.device, role)


def _parameter(of: Kind) -> Node:
    role = Role.CONSTANT if of.role is Role.LITERAL else of.role
    own = kind(of.column, of.shape, of.dtype, of.device, role)
    return new_node(CLASSES.get(of.column, Node), own, _PARAMETER, (), "", 0)


def _called(signature: Signature, given: Sequence[Made], rows: int) -> Made:
    """One operation or cell, on parts."""
    if not isinstance(signature, CellSignature):
        return _applied(signature, given, rows)
    template = signature.template
    table: dict[Expression, Made] = dict(zip(template.inputs, given, strict=True))
    for node in template.nodes:
        at = node.signature.nodes
        operands = [table[x] if i in at else RowValue(x, False) for i, x in enumerate(node.operands)]
        try:
            table[node] = _called(node.signature, operands, rows)
        except NoBatchingRule as refusal:
            if "\n" in str(refusal):
                raise
            raise NoBatchingRule(f"{refusal}\n  built at {node.site}") from None
    found = [table[x] for x in template.results]
    if template.single:
        return found[0]
    return tuple(x for x in found if isinstance(x, RowValue))


def _applied(signature: Signature, given: Sequence[Made], rows: int) -> Made:
    attributes = dict(signature.attributes)
    if signature.operation is PART:
        (several,) = given
        assert isinstance(several, tuple), "a part is of what a cell returned"
        return several[int(attributes["index"])]
    if signature.mode in (EXTERNAL, UNRESOLVED, CELL):
        raise NoBatchingRule(f"{signature.operation.name} waits for what only the run tells")
    parts = [x for x in given if isinstance(x, RowValue)]
    values = [x.value for x in parts]
    stacked = tuple(x.stacked for x in parts)
    if not any(stacked):
        return RowValue(apply(signature.operation, tuple(values), signature.attributes), False)
    rule = signature.operation.rules_for(signature.kinds).batch
    if rule is None:
        raise NoBatchingRule(f"{signature.operation.name} has no batching rule")
    made = rule(Batch(signature, stacked, rows), *values, **attributes)
    if made is NotImplemented:
        raise NoBatchingRule(f"{signature.operation.name} has no batching rule for such operands")
    _check(signature, made, rows)
    return RowValue(made, True)


def _check(signature: Signature, made: Expression, rows: int) -> None:
    of, found = signature.kind, made.kind
    expected = (rows, *(of.shape or ())), of.dtype
    if (found.shape, found.dtype) != expected:
        raise ShapeError(
            f"{signature.operation.name}: the batching rule gives {found.shape} {found.dtype} for {rows} rows "
            f"of {of.text()}; the axis of rows comes first, and the rest is as in one row"
        )


Row = tuple[Node, Values]  # the one node of a row, and what it has computed
A = TypeVar("A")


class Each(Protocol):
    """Calls a function for each number below `count`, perhaps on several threads."""

    def __call__(self, call: Callable[[int], A], count: int, /) -> list[A]: ...


def one_by_one(call: Callable[[int], A], count: int) -> list[A]:
    """One call after the other."""
    return [call(i) for i in range(count)]


def result_kinds(signature: Signature) -> tuple[Kind, ...]:
    """The kinds of what one row gives: several for a cell that returns a tuple."""
    if isinstance(signature, CellSignature):
        return tuple(x.kind for x in signature.template.results)
    return (signature.kind,)


def row_of(x: Value, i: int, of: Kind) -> Value:
    """Row `i` of an array of rows, as the data of a node by itself."""
    if of.column in (Column.NUMBER, Column.DOUBLE):
        return float(x[i])
    if of.column is Column.FLOAT:
        return FLOAT32.type(x[i])
    return x[i, ...] if of.shape == () else x[i]


def rows_of(found: Sequence[Value]) -> Value:
    """The data of all rows as one array; a list where they are no numbers and no arrays."""
    if is_array(found[0]):
        return namespace_of(found[0]).stack(found, axis=0)
    return host_array(found) if isinstance(found[0], (float, FLOAT32.type, bool)) else found


class Rowwise:
    """One operation or cell, for one row after the other."""

    def __init__(self, signature: Signature, shared: tuple[bool, ...]) -> None:
        self.signature = signature
        self.shared = shared
        self.kinds = result_kinds(signature)
        self.several = isinstance(signature, CellSignature) and not signature.template.single
        # stand for those operands that are nodes
        self.places: dict[int, Expression] = {i: lift_any(0.0) for i in signature.nodes}

    def forward(
        self, rows: int, operands: Sequence[Value], each: Each = one_by_one
    ) -> tuple[tuple[Value, ...], list[Row]]:
        """The results of all rows, and what backward needs."""
        done = each(lambda i: self._row(i, operands), rows)
        found = [values[node] if self.several else (values[node],) for node, values in done]
        return tuple(map(rows_of, zip(*found, strict=True))), done

    def _row(self, i: int, operands: Sequence[Value]) -> Row:
        signature = self.signature
        own = [
            x if one else row_of(x, i, k)
            for x, k, one in zip(operands, signature.kinds, self.shared, strict=True)
        ]
        values: Values = {x: own[at] for at, x in self.places.items()}
        given = tuple(self.places.get(at, x) for at, x in enumerate(own))
        node = new_node(signature.cls, signature.kind, signature, given, "one of many rows", 0)
        failed: dict[Expression, Failure] = {}
        if not forward([node], values, failed):
            raise combine(next(iter(failed.values())))
        return node, values

    def backward(
        self, done: list[Row], deltas: Sequence[Value | None], each: Each = one_by_one
    ) -> list[Value | None]:
        """The deltas of all operands: stacked, or summed over the rows where an operand is shared."""
        sent = each(lambda i: self._sent(*done[i], i, deltas), len(done))
        return [
            self._joined(i, [] if x is None else [found.get(x) for found in sent])
            for i, x in enumerate(map(self.places.get, range(len(self.shared))))
        ]

    def _sent(self, node: Node, values: Values, i: int, deltas: Sequence[Value | None]) -> Values:
        parts = {
            at: row_of(delta, i, k)
            for at, (delta, k) in enumerate(zip(deltas, self.kinds, strict=True))
            if delta is not None
        }
        if not parts:
            return {}
        sent: Values = {node: Parts(parts) if self.several else parts[0]}
        failures: list[Exception] = []
        backward([node], values, sent, failures)
        raise_all(failures)
        return sent

    def _joined(self, index: int, found: Sequence[Value | None]) -> Value | None:
        present = [d for d in found if d is not None]
        if not present:
            return None
        if not self.shared[index]:
            return rows_of(list(map(dense, present)))
        total = present[0]
        for d in present[1:]:
            total = total + d
        return total
