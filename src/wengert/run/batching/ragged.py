"""Launches of one cell for examples of unlike sizes: graphs of any number of nodes as one graph of many parts.

Knows: that two traces are of one family if they differ in leading sizes only; that the rows of all examples lie one
after the other in one table, as far as every operation of the trace has a rule for that; that a program for such tables
serves all batches in which the same tables have equally many rows; that a family is tried before it is used, once
for each pattern of sizes, so that a launch does not fail for want of a rule.
Refuses to know: which nodes run together, and where their values lie.

Source: mini-batches as one graph of many parts: M. Fey, J. Lenssen, "Fast graph representation learning with PyTorch
Geometric", 2019, section 2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple
from weakref import WeakValueDictionary

from wengert.arrays import Value, is_array
from wengert.arrays.abstract import sizes_for
from wengert.arrays.kernels import new_buffer
from wengert.arrays.rows import filled, stacked
from wengert.arrays.segments import join_segments, split_segments
from wengert.errors import WengertError
from wengert.graph.kinds import Column, Kind, Role, Shape, kind
from wengert.graph.operation import CELL, EXTERNAL, UNRESOLVED, Signature, exactly
from wengert.graph.ragged import (
    SHARED,
    WEIGHTS,
    Along,
    BatchRows,
    NoFamily,
    RowAxis,
    joined_graph,
    stated_sizes,
)
from wengert.graph.template import CellSignature, Template
from wengert.lazy import dense
from wengert.program.emit import Kernel
from wengert.program.program import Var
from wengert.run.batching.kernel import Backward, BatchedGraph, Delta, Lowered, delta_of, vars_of
from wengert.run.batching.region import GroupForm, RowSource

_FEW_BYTES: Final = 4096  # of literals that are compared by what is in them
_MOST: Final = 16  # programs of a family


class SizeFamily:
    """All cells that differ in the leading sizes of some operands only, `rows`: one object, with their programs."""

    __slots__ = ("__weakref__", "_programs", "ragged", "rows")

    def __init__(self, rows: tuple[int, ...], first: JoinedProgram) -> None:
        self.rows = rows
        self.ragged = tuple([isinstance(x, RowAxis) for x in first.results])  # which results have rows
        self._programs = [first]

    def check(self, signature: CellSignature, sizes: Sequence[int]) -> None:
        """Raise `NoFamily` for sizes that are unlike in a way for which an operation has no rule: one row and many."""
        batch = BatchRows(2, [(n, n) for n in sizes], [])
        if not any(found.examples.fits(batch) for found in self._programs):
            joined_graph(signature, self.rows, batch)

    def program(self, signature: CellSignature, batch: BatchRows) -> JoinedProgram:
        """The program for a batch, which is prepared; one is made where other tables have equally many rows."""
        for found in self._programs:
            if found.examples.fill(batch):
                return found
        made = JoinedProgram(signature, self.rows, batch)
        del self._programs[_MOST - 1 :]
        self._programs.append(made)
        made.examples.fill(batch)
        return made


class SizedCell(NamedTuple):
    """A family, and the sizes of one cell of it: of its operands with rows, and those that its attributes state."""

    family: SizeFamily
    sizes: tuple[int, ...]


# Any: operations, attributes and literals of the trace
_FAMILIES: Final[WeakValueDictionary[tuple[Any, ...], SizeFamily]] = WeakValueDictionary()


# -- families ------------------------------------------------------------------------------------------


def sized_cell(signature: Signature) -> SizedCell | None:
    """A cell on operands of known kinds with its family, found once; None where it has none."""
    try:
        found: SizedCell | None = signature.family
    except AttributeError:
        found = signature.family = _tried(signature)
    return found


def _tried(signature: Signature) -> SizedCell | None:
    if not isinstance(signature, CellSignature):
        return None
    try:
        rows = _rows_of(signature.kinds)
        wiring, stated = _wiring(signature.template)
        key = (signature.operation, *_shape_free(signature.kinds, rows), *wiring)
        sizes = (*[_leading(signature.kinds[i]) for i in rows], *stated)
        family = _FAMILIES.get(key)
        if family is None:
            batch = BatchRows(2, [(n, n) for n in sizes], [])
            family = _FAMILIES.setdefault(key, SizeFamily(rows, JoinedProgram(signature, rows, batch)))
        else:
            family.check(signature, sizes)
    except (NoFamily, WengertError, TypeError, IndexError):
        return None
    return SizedCell(family, sizes)


def of_any_size(signature: Signature, form: GroupForm) -> GroupForm:
    """The form of one cell for examples of unlike sizes."""
    sized = sized_cell(signature)
    assert sized is not None, "several names are of a family"
    results = [
        kind(of.column, None, of.dtype, of.device, of.role) if rows else of  # rows of any number
        for of, rows in zip(form.results, sized.family.ragged, strict=True)
    ]
    return form._replace(source=RowSource.RAGGED, results=(*results,))


def _leading(of: Kind) -> int:
    return of.shape[0] if of.shape else 0


def _rows_of(kinds: Sequence[Kind]) -> tuple[int, ...]:
    """The operands whose first axis is one of rows: matrices, lists of indices, and vectors that are as long."""
    given = [(i, k, len(k.shape or ())) for i, k in enumerate(kinds) if k.role not in WEIGHTS]
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


def _wiring(template: Template) -> tuple[list[Any], list[int]]:  # Any: as in `_FAMILIES`
    """The trace as operations, attributes but for sizes, and the places of their operands; and those sizes."""
    place: dict[Any, int] = {x: i for i, x in enumerate((*template.parameters, *template.nodes))}
    found: list[Any] = []
    sizes: list[int] = []
    for node in template.nodes:
        signature = node.signature
        if signature.mode in (EXTERNAL, UNRESOLVED, CELL):
            raise NoFamily(f"{signature.operation.name} is no operation on rows")
        stated = stated_sizes(node)
        attributes = tuple([pair for pair in signature.attributes if pair not in stated])
        sizes += [value for _, value in stated]
        operands = [_place(x, place, i in signature.nodes) for i, x in enumerate(node.operands)]
        found.append((signature.operation, exactly(attributes), *operands))
    found.append(tuple([_place(x, place, True) for x in template.results]))
    hash(tuple(found))  # attributes that have none are of no family
    return found, sizes


# Any: an operand, and what tells it
def _place(x: Any, place: Mapping[Any, int], is_node: bool) -> tuple[str, Any]:
    if is_node and x in place:
        return "place", place[x]
    if is_array(x) and x.nbytes <= _FEW_BYTES:
        return "array", (x.dtype, x.shape, x.tobytes())
    return ("number", x) if isinstance(x, float) else ("identity", id(x))


# -- one program for all examples ---------------------------------------------------------------------


class JoinedProgram:
    """The program of one cell for tables of examples: where the rows of `operands` and `results` lie."""

    def __init__(self, signature: CellSignature, rows: tuple[int, ...], batch: BatchRows) -> None:
        self.examples, self.operands, made = joined_graph(signature, rows, batch)
        self.results = [along for _, along in made]
        low = Lowered(BatchedGraph(self.examples.parameters, [x for x, _ in made]))
        self._lowered = low
        self._backward = {low.trains: self._back(low.usual)}
        self._train = Kernel(low.inputs, low.eqns, (), [*low.results, *low.kept], {})

    @cached_property
    def _predict(self) -> Kernel:
        return Kernel(self._lowered.inputs, self._lowered.eqns, (), self._lowered.results, {})

    def _back(self, back: Backward) -> tuple[Kernel, Sequence[Delta], list[Var]]:
        """The function of what is kept and of deltas of some results; what it sends to operands, made of its values."""
        sent = back.deltas[: len(self.operands)]
        wanted = [*dict.fromkeys(x for delta in sent for x in vars_of(delta))]
        return Kernel([*self._lowered.kept, *back.arriving], back.eqns, (), wanted, {}), sent, wanted

    def forward(self, batch: BatchRows, keeps: bool) -> tuple[Sequence[Value], Sequence[Value]]:
        """The tables of results, and what `backward` reads."""
        found = _called(self._train if keeps else self._predict, batch, batch.values)
        return found[: len(self.results)], found[len(self.results) :]

    def backward(
        self, batch: BatchRows, kept: Sequence[Value], deltas: Sequence[Value | None]
    ) -> list[Any]:  # Any: deltas
        """The deltas of operands; None where there is none."""
        pattern = tuple([x is not None for x in deltas])
        if pattern not in self._backward:
            self._backward[pattern] = self._back(self._lowered.backward(pattern))
        kernel, sent, wanted = self._backward[pattern]
        found = _called(kernel, batch, [*kept, *(x for x in deltas if x is not None)])
        values = dict(zip(wanted, found, strict=True))
        return [None if x is None else delta_of(x, values, batch.totals) for x in sent]


def _called(kernel: Kernel, batch: BatchRows, given: Sequence[Value]) -> tuple[Value, ...]:
    """A run of a program in buffers of its own."""
    buffers = [new_buffer(sizes_for(b.shape, batch.totals), b.dtype) for b in kernel.buffers]
    return kernel.run(batch.totals, *given, *kernel.frame(0, batch.totals, *buffers))


def in_rows(
    deltas: Sequence[Value | None], shape: Shape, dtype: Any, device: Any = "cpu"
) -> Value:  # Any: as a kind has them
    """The deltas of values of one shape as the rows of a table; zeros where none has come."""
    found = filled(len(deltas), shape, dtype, device)
    for row, delta in enumerate(deltas):
        if delta is not None:
            found[row] = dense(delta)
    return found


# -- a launch -----------------------------------------------------------------------------------------


class JoinedExamples:
    """One cell for examples whose rows lie in common tables: its values, and what they leave for backward."""

    def __init__(
        self,
        members: Sequence[CellSignature],
        operands: Mapping[int, Sequence[Value]],
        weights: Mapping[int, Value],
    ) -> None:
        cells = [cell for cell in map(sized_cell, members) if cell is not None]
        assert len(cells) == len(members), "a group of unlike sizes is of a family"
        family, columns = cells[0].family, [*zip(*[cell.sizes for cell in cells], strict=True)]
        tables = {i: join_segments(x) if i in family.rows else stacked(x) for i, x in operands.items()}
        values = [x for _, x in sorted({**tables, **weights}.items())]
        self._batch = BatchRows(len(members), columns, values)
        self._program = family.program(members[0], self._batch)

    def forward(self, keeps: bool) -> list[Value]:
        """The results, each a table with a row for each example, or a list of what each has."""
        self._results, self._kept = self._program.forward(self._batch, keeps)
        return [self._parts(x, along) for x, along in zip(self._results, self._program.results, strict=True)]

    def _parts(self, table: Value, along: Along) -> Value:
        if isinstance(along, RowAxis):
            return split_segments(table, self._batch.segments[along.number])
        return table

    def backward(
        self, deltas: Sequence[Value | None]
    ) -> dict[int, Any]:  # Any: a delta, or those of examples
        """The deltas of operands: of a weight one, of all others a list, one for each example."""
        sent = self._program.backward(self._batch, self._kept, deltas)
        return {
            i: delta if along is SHARED else self._parts(dense(delta), along)
            for i, (delta, along) in enumerate(zip(sent, self._program.operands, strict=True))
            if delta is not None
        }

    def arrived(self, number: int, deltas: Sequence[Value | None]) -> Value:
        """The deltas that have come to a result of each example, as one table; zeros where none has come."""
        along, table = self._program.results[number], self._results[number]
        form = (table.shape[1:], table.dtype)
        if not isinstance(along, RowAxis):
            return in_rows(deltas, *form)
        counts = self._batch.segments[along.number].of
        pairs = zip(deltas, counts, strict=True)
        return join_segments([filled(n, *form) if g is None else dense(g) for g, n in pairs])
