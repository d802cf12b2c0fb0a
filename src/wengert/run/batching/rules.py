"""From what one row computes to the graph that computes many rows: batching rules applied to nodes.

Knows: that a cell's nodes get their rules one by one, that what no row has a part in is computed once for all, and
that the graph that comes out is an ordinary one, whose derivatives are those of its nodes.
Refuses to know: how that graph is run, and which rows come together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from wengert.arrays import FLOAT64
from wengert.errors import ShapeError
from wengert.graph.apply import apply
from wengert.graph.batch import Batch
from wengert.graph.kinds import CLASSES, NUMBER, Column, Kind, Role, kind
from wengert.graph.node import Expression, Node, new_node
from wengert.graph.operand import lift_any
from wengert.graph.operation import CELL, EXTERNAL, UNRESOLVED, Signature
from wengert.graph.order import below
from wengert.graph.template import PARAMETER, PART, CellSignature
from wengert.ops.batching import repeated

_NUMBERS: Final = frozenset({Column.NUMBER, Column.DOUBLE, Column.FLOAT})
_PARAMETER: Final = PARAMETER.signature((NUMBER,), ())


class Unbatched(Exception):
    """Why there is no graph for many rows."""


@dataclass(frozen=True, slots=True, eq=False)
class Batched:
    """`nodes` lead from `parameters`, one an operand, to `results`, all of which have the axis of rows."""

    parameters: tuple[Node, ...]
    nodes: list[Node]
    results: tuple[Expression, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """What stands for a value of one row, and whether it has the axis of rows."""

    value: Any  # Any: an expression, or a literal of any type
    stacked: bool

    def over(self, rows: int) -> Expression:
        """With the axis of rows."""
        x = lift_any(self.value)
        return x if self.stacked else repeated(x, (rows, *(x.kind.shape or ())))


Made = Part | tuple[Part, ...]  # several for a cell that returns a tuple


def batched(signature: Signature, shared: Sequence[bool], rows: int) -> Batched:
    """The graph for so many rows; raises `Unbatched` where something has no rule."""
    floats = {*_NUMBERS, Column.ARRAY}
    number = next((k.dtype for k in signature.kinds if k.column in floats and k.dtype), FLOAT64)
    parameters = tuple(
        _parameter(k if one else _of_rows(k, number, rows))
        for k, one in zip(signature.kinds, shared, strict=True)
    )
    made = _called(signature, [Part(x, not one) for x, one in zip(parameters, shared, strict=True)], rows)
    results = tuple(x.over(rows) for x in (made if isinstance(made, tuple) else (made,)))
    met: dict[Expression, None] = dict.fromkeys(parameters)
    for x in results:
        met |= dict.fromkeys(below(x, met)[0])
    nodes = [x for x in met if isinstance(x, Node)][len(parameters) :]
    return Batched(parameters, sorted(nodes, key=lambda x: x.serial), results)


def _of_rows(of: Kind, number: Any, rows: int) -> Kind:  # Any: the dtype that Python numbers take on
    """The kind of an operand that each row has its own of."""
    if of.column is Column.OTHER or of.shape is None:
        raise Unbatched(f"{of.text()} cannot be a row of an array")
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
        operands = [table[x] if i in at else Part(x, False) for i, x in enumerate(node.operands)]
        try:
            table[node] = _called(node.signature, operands, rows)
        except Unbatched as refusal:
            if "\n" in str(refusal):
                raise
            raise Unbatched(f"{refusal}\n  built at {node.site}") from None
    found = [table[x] for x in template.results]
    if template.single:
        return found[0]
    return tuple(x for x in found if isinstance(x, Part))


def _applied(signature: Signature, given: Sequence[Made], rows: int) -> Made:
    attributes = dict(signature.attributes)
    if signature.operation is PART:
        (several,) = given
        assert isinstance(several, tuple), "a part is of what a cell returned"
        return several[int(attributes["index"])]
    if signature.mode in (EXTERNAL, UNRESOLVED, CELL):
        raise Unbatched(f"{signature.operation.name} waits for what only the run tells")
    parts = [x for x in given if isinstance(x, Part)]
    values = [x.value for x in parts]
    stacked = tuple(x.stacked for x in parts)
    if not any(stacked):
        return Part(apply(signature.operation, tuple(values), signature.attributes), False)
    rule = signature.operation.rules_for(signature.kinds).batch
    if rule is None:
        raise Unbatched(f"{signature.operation.name} has no batching rule")
    made = rule(Batch(signature, stacked, rows), *values, **attributes)
    if made is NotImplemented:
        raise Unbatched(f"{signature.operation.name} has no batching rule for such operands")
    _check(signature, made, rows)
    return Part(made, True)


def _check(signature: Signature, made: Expression, rows: int) -> None:
    of, found = signature.kind, made.kind
    expected = (rows, *(of.shape or ())), of.dtype
    if (found.shape, found.dtype) != expected:
        raise ShapeError(
            f"{signature.operation.name}: the batching rule gives {found.shape} {found.dtype} for {rows} rows "
            f"of {of.text()}; the axis of rows comes first, and the rest is as in one row"
        )
