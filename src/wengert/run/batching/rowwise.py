"""Rows one after the other: the meaning of every launch, and what runs where there is no batching rule.

Knows: how one row's operands are taken out of arrays of rows, and how results and deltas are put together again.
Refuses to know: batching rules.
"""

from __future__ import annotations

from collections.abc import Sequence

from wengert.arrays import FLOAT32, Value, host_array, is_array, namespace_of
from wengert.errors import combine
from wengert.graph.kinds import Column, Kind
from wengert.graph.node import Expression, Node, new_node
from wengert.graph.operand import lift_any
from wengert.graph.operation import Signature
from wengert.graph.template import CellSignature, Parts
from wengert.lazy import dense
from wengert.run.loops import Failure, Values, backward, forward
from wengert.run.notes import raise_all

Row = tuple[Node, Values]  # the one node of a row, and what it has computed


def result_kinds(signature: Signature) -> tuple[Kind, ...]:
    """The kinds of what one row gives: several for a cell that returns a tuple."""
    if isinstance(signature, CellSignature):
        return tuple(x.kind for x in signature.template.results)
    return (signature.kind,)


def row_of(x: Value, i: int, of: Kind) -> Value:
    """Row `i` of an array of rows, as the data that one row has."""
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

    def forward(self, rows: int, operands: Sequence[Value]) -> tuple[tuple[Value, ...], list[Row]]:
        """The results of all rows, and what backward needs."""
        done = [self._row(i, operands) for i in range(rows)]
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

    def backward(self, done: list[Row], deltas: Sequence[Value | None]) -> list[Value | None]:
        """The deltas of all operands: stacked, or summed over the rows where an operand is shared."""
        sent = [self._sent(node, values, i, deltas) for i, (node, values) in enumerate(done)]
        return [self._joined(i, [found.get(x) for found in sent]) for i, x in self._all()]

    def _all(self) -> list[tuple[int, Expression | None]]:
        return [(i, self.places.get(i)) for i in range(len(self.shared))]

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
