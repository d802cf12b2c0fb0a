"""Launches of one cell for examples of unlike sizes: graphs of any number of nodes as one graph of many parts.

Knows: that two traces are of one family if they differ in leading sizes only; that the rows of all examples lie one
after the other in one table, as far as every operation of the trace has a rule for that; that a family is tried once
before it is used, so that a launch does not fail for want of a rule.
Refuses to know: which nodes run together, and where their values lie.

Source: mini-batches as one graph of many parts: M. Fey, J. Lenssen, "Fast graph representation learning with PyTorch
Geometric", 2019, section 2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from wengert.arrays import Value, is_array
from wengert.arrays.rows import filled, stacked
from wengert.arrays.segments import RowSegments, join_segments, split_segments
from wengert.errors import WengertError, combine, raise_all
from wengert.graph.batch import Batch
from wengert.graph.kinds import Column, Kind, Role, kind
from wengert.graph.node import Expression, Node
from wengert.graph.operation import CELL, EXTERNAL, UNRESOLVED, Signature
from wengert.graph.order import below_all
from wengert.graph.ragged import EXAMPLES, SHARED, Along, Examples, Ragged
from wengert.graph.template import CellSignature, Template
from wengert.lazy import dense
from wengert.run.loops import Failure, Values, accumulate, backward, forward

_WEIGHTS: Final = (Role.WEIGHT, Role.BUFFER)
_FEW_BYTES: Final = 4096  # of literals that are compared by what is in them


class NoFamily(Exception):
    """The reason why examples of unlike sizes have no common table."""


class SizeFamily(NamedTuple):
    """Equal for cells that differ in the leading sizes of their operands only. `rows`: the operands that have them."""

    key: tuple[Any, ...]  # Any: operations, attributes and literals of the trace
    rows: tuple[int, ...]
    ragged: tuple[bool, ...]  # whether each result has rows, too


# -- families ---------------------------------------------------------------------------------------


def family_of(signature: Signature) -> SizeFamily | None:
    """The family of a cell on operands of known kinds, found once; None where it has none."""
    try:
        found: SizeFamily | None = signature.family
    except AttributeError:
        found = signature.family = _tried(signature)
    return found


def _tried(signature: Signature) -> SizeFamily | None:
    if not isinstance(signature, CellSignature):
        return None
    try:
        rows = _rows_of(signature.kinds)
        key = (*_shape_free(signature.kinds, rows), *_wiring(signature.template))
        zeros = {
            i: [filled(1, k.shape or (), k.dtype)[0]] * 2
            for i, k in enumerate(signature.kinds)
            if k.role not in _WEIGHTS
        }
        weights = {
            i: filled(1, k.shape or (), k.dtype)[0] for i, k in enumerate(signature.kinds) if i not in zeros
        }
        joined = JoinedExamples([signature] * 2, rows, zeros, weights)
    except (NoFamily, WengertError, TypeError, IndexError):
        return None
    ragged = tuple([isinstance(along, RowSegments) for _, along in joined.results])
    return SizeFamily((signature.operation, *key), rows, ragged)


def _leading(of: Kind) -> int:
    return of.shape[0] if of.shape else 0


def _rows_of(kinds: Sequence[Kind]) -> tuple[int, ...]:
    """The operands whose first axis is one of rows: matrices, lists of indices, and vectors that are as long."""
    given = [(i, k, len(k.shape or ())) for i, k in enumerate(kinds) if k.role not in _WEIGHTS]
    for _, k, _rank in given:
        index = k.column is Column.INDEX and k.role is Role.LITERAL
        if k.device != "cpu" or not (index or (k.column is Column.ARRAY and k.known)):
            raise NoFamily(f"{k.text()} is no row of a table")
    long = {i for i, k, rank in given if rank > 1 or (rank == 1 and k.column is Column.INDEX)}
    sizes = {_leading(kinds[i]) for i in long}
    long |= {i for i, k, rank in given if rank == 1 and _leading(k) in sizes}
    if not long or 0 in sizes:
        raise NoFamily("no operand has rows")
    return tuple(sorted(long))


def _shape_free(kinds: Sequence[Kind], rows: tuple[int, ...]) -> list[Any]:  # Any: kinds, and parts of them
    return [(k.column, (k.shape or ())[1:], k.dtype, k.role) if i in rows else k for i, k in enumerate(kinds)]


def _wiring(template: Template) -> list[Any]:  # Any: as in `SizeFamily`
    """The trace as operations, attributes but for sizes, and the places of their operands."""
    place: dict[Any, int] = {x: i for i, x in enumerate((*template.parameters, *template.nodes))}
    found: list[Any] = []
    for node in template.nodes:
        signature = node.signature
        if signature.mode in (EXTERNAL, UNRESOLVED, CELL):
            raise NoFamily(f"{signature.operation.name} is no operation on rows")
        sizes = signature.operation.rules_for(signature.kinds).sizes
        attributes = tuple([(name, value) for name, value in signature.attributes if name not in sizes])
        operands = [_place(x, place, i in signature.nodes) for i, x in enumerate(node.operands)]
        found.append((signature.operation, attributes, *operands))
    found.append(tuple([_place(x, place, True) for x in template.results]))
    hash(tuple(found))  # attributes that have none are of no family
    return found


def _place(
    x: Any, place: Mapping[Any, int], is_node: bool
) -> tuple[str, Any]:  # Any: an operand, and what tells it
    if is_node and x in place:
        return "place", place[x]
    if is_array(x) and x.nbytes <= _FEW_BYTES:
        return "array", (x.dtype, x.shape, x.tobytes())
    return ("number", x) if isinstance(x, float) else ("identity", id(x))


# -- one graph for all examples -----------------------------------------------------------------------


class JoinedExamples:
    """The graph of one cell for examples whose rows lie in common tables, and the values of its parameters."""

    def __init__(
        self,
        members: Sequence[CellSignature],
        rows: tuple[int, ...],
        operands: Mapping[int, Sequence[Value]],
        weights: Mapping[int, Value],
    ) -> None:
        self._members = members
        self._examples = examples = Examples(len(members))
        first = members[0]
        self.parameters: list[Node] = []
        self.layouts: list[Along] = []
        for i, k in enumerate(first.kinds):
            if i in weights:
                self.parameters.append(examples.given(weights[i], k))
                self.layouts.append(SHARED)
            elif i in rows:
                self.parameters.append(examples.given(join_segments(operands[i]), k))
                self.layouts.append(examples.segments(tuple([len(x) for x in operands[i]])))
            else:
                self.parameters.append(examples.given(stacked(operands[i]), k))
                self.layouts.append(EXAMPLES)
        self.results = self._made(first.template)
        if any(along is SHARED for _, along in self.results):
            raise NoFamily("a result depends on no example")
        known = dict.fromkeys((*self.parameters, *examples.values))
        nodes, _ = below_all([x for x, _ in self.results], known)
        self.nodes = sorted(nodes, key=lambda node: node.serial)

    def _made(self, template: Template) -> list[tuple[Any, Along]]:  # Any: an expression
        table: dict[Any, tuple[Any, Along]] = dict(
            zip(template.inputs, zip(self.parameters, self.layouts, strict=True), strict=True)
        )
        traces = list(dict.fromkeys([m.template for m in self._members]))
        for at, node in enumerate(template.nodes):
            places = node.signature.nodes
            given = [table[x] if i in places else (x, SHARED) for i, x in enumerate(node.operands)]
            table[node] = self._applied(at, node, given, traces)
        return [table[x] for x in template.results]

    def _applied(
        self, at: int, node: Node, given: Sequence[tuple[Any, Along]], traces: Sequence[Template]
    ) -> tuple[Any, Along]:
        signature, values = node.signature, [x for x, _ in given]
        rules, attributes = signature.operation.rules_for(signature.kinds), dict(signature.attributes)
        along = tuple([layout for _, layout in given])
        if any(isinstance(x, RowSegments) for x in along) or rules.sizes:
            of = {trace: trace.nodes[at].signature for trace in traces} if rules.sizes else {}
            signatures = [of[m.template] for m in self._members] if of else ()
            case = Ragged(self._examples, node, signatures, along)
            made = NotImplemented if rules.ragged is None else rules.ragged(case, *values, **attributes)
            if made is NotImplemented:
                raise NoFamily(f"{signature.operation.name} has no rule for such rows")
            result: tuple[Any, Along] = made
            return result
        stacked = tuple([x is EXAMPLES for x in along])
        if not any(stacked):
            return Ragged(self._examples, node, (), along).again(*values, **attributes), SHARED
        if rules.batch is None:
            raise NoFamily(f"{signature.operation.name} has no batching rule")
        made = rules.batch(Batch(signature, stacked, len(self._members)), *values, **attributes)
        if made is NotImplemented:
            raise NoFamily(f"{signature.operation.name} has no batching rule for such operands")
        return made, EXAMPLES

    # -- forward and backward -----------------------------------------------------------------------

    def forward(self) -> list[Value]:
        """The results, each a table with a row for each example, or a list of what each has."""
        self._values: Values = dict(self._examples.values)
        failed: dict[Expression, Failure] = {}
        if forward(self.nodes, self._values, failed) < len(self.nodes):
            raise combine(next(iter(failed.values())))
        return [
            split_segments(self._values[x], along) if isinstance(along, RowSegments) else self._values[x]
            for x, along in self.results
        ]

    def backward(
        self, deltas: Sequence[Value | None]
    ) -> dict[int, Any]:  # Any: a delta, or those of examples
        """The deltas of operands: of a weight one, of all others a list, one for each example."""
        sent: Values = {}
        for (x, _), g in zip(self.results, deltas, strict=True):
            if g is not None:
                accumulate(sent, x, g)
        failures: list[Exception] = []
        backward(self.nodes, self._values, sent, failures)
        raise_all(failures)
        found: dict[int, Any] = {}
        for i, (x, along) in enumerate(zip(self.parameters, self.layouts, strict=True)):
            if x in sent:
                delta = sent[x]
                if along is not SHARED:
                    table = dense(delta)
                    delta = split_segments(table, along) if isinstance(along, RowSegments) else list(table)
                found[i] = delta
        return found

    def arrived(self, number: int, deltas: Sequence[Value | None]) -> Value:
        """The deltas that have come to a result with rows, as one table; zeros where none has come."""
        x, along = self.results[number]
        assert isinstance(along, RowSegments)
        shape, dtype = self._values[x].shape[1:], self._values[x].dtype
        counts = along.counts.tolist()
        return join_segments(
            [filled(n, shape, dtype) if g is None else dense(g) for g, n in zip(deltas, counts, strict=True)]
        )


def ragged_kind(of: Kind) -> Kind:
    """The kind of results that have rows: of any number."""
    return kind(of.column, None, of.dtype, of.device, of.role)
