"""One operation for examples of unlike sizes: their rows lie one after the other in one table.

Knows: that a rule for such tables is written with operations on expressions, so that the derivative of what it makes
is known already; that how many rows there are only a batch knows, so that one graph serves all batches in which the
same tables have equally many; that indices are known before, so that they can be moved to where the rows of their
example begin.
Refuses to know: any operation's rule, and who has examples.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import chain, count
from typing import Any, Final, TypeAlias, cast

from wengert.arrays import INTEGER
from wengert.arrays.abstract import RowCount
from wengert.arrays.places import places
from wengert.arrays.segments import RowSegments, RowSums
from wengert.graph.batch import Batch
from wengert.graph.kinds import CLASSES, NUMBER, Column, Kind, Role, Shape, kind
from wengert.graph.node import Expression, Node, new_node
from wengert.graph.operand import operand
from wengert.graph.operation import Attributes, Operation
from wengert.graph.template import PARAMETER, CellSignature, Template

_PARAMETER: Final = PARAMETER.signature((NUMBER,), ())
Counts: TypeAlias = tuple[int, ...]  # the rows of each example


class Layout(Enum):
    """The leading axis of a value where it has no segments."""

    SHARED = "all examples have one value"
    EXAMPLES = "a row for each example, in front of the axes that one example has"


SHARED: Final = Layout.SHARED
EXAMPLES: Final = Layout.EXAMPLES


class RowAxis:
    """The first axis of a table with the rows of all examples, one after the other; tables of equal counts share it."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RowAxis) and self.number == other.number

    def __hash__(self) -> int:
        return hash(self.number)

    @property
    def total(self) -> int:
        """The rows of all examples: a symbol, as only a batch knows them."""
        return cast(int, RowCount(of=self.number))


Along: TypeAlias = RowAxis | Layout
Found: TypeAlias = "tuple[Any, Along]"  # Any: an expression


@dataclass(slots=True, eq=False, repr=False)
class BatchRows:
    """The rows of one batch: `sizes` are the columns of what its examples state, `segments` those of each axis."""

    examples: int
    sizes: Sequence[Counts]
    values: list[Any]  # Any: what parameters stand for, in their order
    segments: list[RowSegments] = field(default_factory=list)

    @property
    def totals(self) -> tuple[int, ...]:
        """The rows of each axis, of all examples."""
        return tuple([segments.total for segments in self.segments])


class Examples:
    """One graph in the making; a `batch` says which of its axes have the same counts."""

    def __init__(self, batch: BatchRows) -> None:
        self._batch = batch
        self.parameters: list[Node] = []
        self._values: list[Callable[[BatchRows], Any]] = []  # Any: those of parameters that are computed
        self._counts: list[tuple[int, Callable[[BatchRows], Counts]]] = []  # of which axis, what it has
        self._axes: dict[Hashable, RowAxis] = {}
        self._made: dict[Hashable, Node] = {}
        self.each = self.axis("examples", lambda batch: (1,) * batch.examples)  # a row for each example

    def axis(self, key: Hashable, counts: Callable[[BatchRows], Counts]) -> RowAxis:
        """The axis of tables whose counts are found so, which is that of all others with the same counts."""
        found = self._axes.get(key)
        if found is None:
            number = _numbered(self._batch, counts(self._batch))
            self._counts.append((number, counts))
            found = self._axes[key] = RowAxis(number)
        return found

    def sized(self, column: int) -> RowAxis:
        """The axis of as many rows as a column of the sizes states."""
        return self.axis(("sized", column), lambda batch: batch.sizes[column])

    def given(self, of: Kind) -> Node:
        """A parameter of a kind."""
        role = Role.CONSTANT if of.role is Role.LITERAL else of.role
        own = kind(of.column, of.shape, of.dtype, of.device, role)
        made = new_node(CLASSES.get(own.column, Node), own, _PARAMETER, (), "", 0)
        self.parameters.append(made)
        return made

    # Any: an array, or a plan
    def made(self, key: Hashable, of: Kind, value: Callable[[BatchRows], Any]) -> Node:
        """A parameter for what is computed of indices and sizes, once for each key."""
        found = self._made.get(key)
        if found is None:
            found = self._made[key] = self.given(of)
            self._values.append(value)
        return found

    def place(self, x: Expression) -> int:
        """The number of a parameter; TypeError for what is computed by the graph."""
        for place, parameter in enumerate(self.parameters):
            if parameter is x:
                return place
        raise TypeError("indices that the graph computes cannot be moved")

    def fill(self, batch: BatchRows) -> bool:
        """Find the segments and the computed values of another batch; False where other axes have the same counts."""
        if not self.fits(batch):
            return False
        for value in self._values:
            batch.values.append(value(batch))
        return True

    def fits(self, batch: BatchRows) -> bool:
        """Find the segments of another batch; False where other axes have the same counts."""
        batch.segments.clear()
        return all(_numbered(batch, counts(batch)) == number for number, counts in self._counts)


def _numbered(batch: BatchRows, counts: Counts) -> int:
    """The number of the axis of a batch with such counts."""
    for number, of in enumerate(batch.segments):
        if of.of == counts:
            return number
    batch.segments.append(RowSegments(counts))
    return len(batch.segments) - 1


class Ragged:
    """The case of one operation: its kinds in the first example, and where the rows of its operands lie.

    A rule takes this, the operands and the attributes, and gives an expression with its layout; `NotImplemented`
    where it has none for such operands.
    """

    __slots__ = ("_examples", "_site", "_sized", "along", "kinds", "operation", "result")

    def __init__(
        self, examples: Examples, node: Node, along: tuple[Along, ...], sized: dict[str, int] | None = None
    ) -> None:
        self._examples = examples
        self._sized = sized or {}  # for attributes that are sizes the column of sizes of the batch
        self._site = node.code, node.offset
        self.operation = node.signature.operation
        self.kinds = node.signature.kinds  # of the first example
        self.result = node.signature.kind
        self.along = along

    def shape(self, index: int) -> Shape:
        """The shape of one operand in the first example."""
        shape = self.kinds[index].shape
        assert shape is not None, "cases are made of known kinds only"
        return shape

    def axis(self) -> RowAxis | None:
        """The axis of all operands that have rows, if it is the same."""
        found = {x for x in self.along if isinstance(x, RowAxis)}
        return found.pop() if len(found) == 1 else None

    def sized(self, attribute: str) -> RowAxis:
        """The axis of as many rows as an attribute states in each example."""
        return self._examples.sized(self._sized[attribute])

    def again(self, *operands: Any, **attributes: Any) -> Any:  # Any: operands and attributes of every type
        """Apply the operation to other operands."""
        return self.apply(self.operation, operands, tuple(attributes.items()))

    # Any: above
    def apply(self, operation: Operation, operands: Sequence[Any], attributes: Attributes = ()) -> Any:
        """Apply any operation, on the user's line."""
        given = [(x, x.kind) if isinstance(x, Node) else operand(x) for x in operands]
        signature = operation.signature(tuple([of for _, of in given]), attributes)
        values = tuple([x for x, _ in given])
        return new_node(signature.cls, signature.kind, signature, values, *self._site)

    def moved(self, x: Expression, along: Along, into: RowAxis) -> Node:
        """Indices, which lie along examples or rows, as indices into a table with rows of its own."""
        place, of = self._examples.place(x), along if isinstance(along, RowAxis) else self.examples

        def value(batch: BatchRows) -> Any:  # Any: an array
            return batch.segments[into.number].moved(batch.values[place], batch.segments[of.number].ids)

        return self._examples.made(("moved", place, into), _integers(*(x.kind.shape or ())), value)

    def places(self, index: int, of: RowAxis) -> Node:
        """The number of the row that stands at a place in each example; negative ones count from the end."""

        def value(batch: BatchRows) -> Any:  # Any: an array
            rows = batch.segments[of.number]
            return (rows.starts if index >= 0 else rows.starts + rows.counts) + index

        return self._examples.made(("places", index, of), _integers(self.examples.total), value)

    def part(self, key: slice, of: RowAxis) -> tuple[Node, RowAxis]:
        """The numbers of the rows in a slice of each example, and their axis."""
        key_of = "part", (key.start, key.stop, key.step), of

        def ranges(batch: BatchRows) -> list[range]:
            return [range(n)[key] for n in batch.segments[of.number].of]

        def numbers(batch: BatchRows) -> Any:  # Any: an array
            starts = batch.segments[of.number].starts.tolist()
            pieces = [[start + i for i in each] for start, each in zip(starts, ranges(batch), strict=True)]
            return places(chain(*pieces))

        into = self._examples.axis(key_of, lambda batch: tuple(map(len, ranges(batch))))
        return self._examples.made(key_of, _integers(into.total), numbers), into

    def plan(self, numbers: Expression, of: RowAxis) -> Node:
        """The plan of sums of rows that have these numbers, which are of rows of a table."""
        place = self._examples.place(numbers)
        return self._examples.made(
            ("plan", place, of),
            kind(Column.OTHER, None, RowSums),
            lambda batch: RowSums(batch.values[place], batch.segments[of.number].total),
        )

    def ids(self, of: RowAxis) -> Node:
        """The example of each row."""
        return self._examples.made(
            ("ids", of), _integers(of.total), lambda batch: batch.segments[of.number].ids
        )

    def shares(self, of: RowAxis, dtype: Any, rank: int) -> Node:  # Any: numpy's dtype
        """1 over the number of rows of each example, with so many axes."""
        rest = (1,) * (rank - 1)
        return self._examples.made(
            ("shares", of, dtype, rank),
            kind(Column.ARRAY, (self.examples.total, *rest), dtype),
            lambda batch: batch.segments[of.number].shares(dtype).reshape(-1, *rest),
        )

    @property
    def examples(self) -> RowAxis:
        """The axis with a row for each example."""
        return self._examples.each


def _integers(*shape: int) -> Kind:
    return kind(Column.INDEX, shape, INTEGER)


# -- the graph of a trace -------------------------------------------------------------------------------

WEIGHTS: Final = (Role.WEIGHT, Role.BUFFER)


class NoFamily(Exception):
    """The reason why examples of unlike sizes have no common table."""


def stated_sizes(node: Node) -> list[tuple[str, Any]]:  # Any: a number
    """The attributes of a node that state sizes."""
    sizes = node.signature.operation.rules_for(node.signature.kinds).sizes
    return [(name, value) for name, value in node.signature.attributes if name in sizes]


def joined_graph(
    signature: CellSignature, rows: Sequence[int], batch: BatchRows
) -> tuple[Examples, list[Along], list[Found]]:
    """The graph of a cell for all examples: its parameters, where the rows of operands lie, and its results.

    `rows` are the operands that have some, whose counts are the first sizes of the batch. Raises `NoFamily` for an
    operation without a rule for such rows, and for a result that depends on no example.
    """
    examples = Examples(batch)
    operands = [
        _given(examples, k, rows.index(i) if i in rows else None) for i, k in enumerate(signature.kinds)
    ]
    given = list(zip(examples.parameters, operands, strict=True))
    results = _traced(examples, signature.template, given, len(rows))
    if any(along is SHARED for _, along in results):
        raise NoFamily("a result depends on no example")
    return examples, operands, results


def _given(examples: Examples, of: Kind, column: int | None) -> Along:
    """Make the parameter of an operand, whose rows are in a `column` of the sizes of a batch, if it has any."""
    if of.role in WEIGHTS:
        examples.given(of)
        return SHARED
    along = EXAMPLES if column is None else examples.sized(column)
    axis, inner = (
        (along, (of.shape or ())[1:]) if isinstance(along, RowAxis) else (examples.each, of.shape or ())
    )
    examples.given(kind(of.column, (axis.total, *inner), of.dtype, of.device, of.role))
    return along


def _traced(examples: Examples, template: Template, given: Sequence[Found], column: int) -> list[Found]:
    """The results of a trace, whose attributes state the sizes from a column on."""
    table: dict[Any, Found] = dict(zip(template.inputs, given, strict=True))  # Any: expressions
    for node in template.nodes:
        operands = [
            table[x] if i in node.signature.nodes else (x, SHARED) for i, x in enumerate(node.operands)
        ]
        names = [name for name, _ in stated_sizes(node)]
        table[node] = _applied(examples, node, operands, dict(zip(names, count(column), strict=False)))
        column += len(names)
    return [table[x] for x in template.results]


def _applied(examples: Examples, node: Node, given: Sequence[Found], sized: dict[str, int]) -> Found:
    signature, values = node.signature, [x for x, _ in given]
    rules, attributes = signature.operation.rules_for(signature.kinds), dict(signature.attributes)
    along = tuple([layout for _, layout in given])
    name, case = signature.operation.name, Ragged(examples, node, along, sized)
    if any(isinstance(x, RowAxis) for x in along) or rules.sizes:
        made = NotImplemented if rules.ragged is None else rules.ragged(case, *values, **attributes)
        if made is NotImplemented:
            raise NoFamily(f"{name} has no rule for such rows")
        result: Found = made
        return result
    stacked = tuple([x is EXAMPLES for x in along])
    if not any(stacked):
        return case.again(*values, **attributes), SHARED
    if rules.batch is None:
        raise NoFamily(f"{name} has no batching rule")
    made = rules.batch(Batch(signature, stacked, examples.each.total), *values, **attributes)
    if made is NotImplemented:
        raise NoFamily(f"{name} has no batching rule for such operands")
    return made, EXAMPLES
