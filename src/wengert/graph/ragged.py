"""One operation for examples of unlike sizes: their rows lie one after the other in one table.

Knows: that a rule for such tables is written with operations on expressions, so that the derivative of what it makes
is known already; that indices are known before, so that they can be moved to where the rows of their example begin.
Refuses to know: any operation's rule, and who has examples.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from itertools import chain
from typing import Any, Final, TypeAlias

from wengert.arrays.places import places
from wengert.arrays.segments import RowSegments, RowSums
from wengert.graph.kinds import CLASSES, NUMBER, Column, Kind, Role, Shape, kind
from wengert.graph.node import Expression, Node, new_node
from wengert.graph.operand import operand
from wengert.graph.operation import Attributes, Operation, Signature
from wengert.graph.template import PARAMETER

_PARAMETER: Final = PARAMETER.signature((NUMBER,), ())


class Layout(Enum):
    """The leading axis of a value where it has no segments."""

    SHARED = "all examples have one value"
    EXAMPLES = "a row for each example, in front of the axes that one example has"


SHARED: Final = Layout.SHARED
EXAMPLES: Final = Layout.EXAMPLES
Along: TypeAlias = (
    RowSegments | Layout
)  # segments: the first axis is that of all examples, one after the other
Found: TypeAlias = "tuple[Any, Along]"  # Any: an expression


class Examples:
    """So many examples while one graph is made of theirs; `values` has what its parameters stand for."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.values: dict[Any, Any] = {}  # Any: parameters, and arrays
        self._segments: dict[tuple[int, ...], RowSegments] = {}
        self._made: dict[tuple[object, ...], Node] = {}

    def segments(self, counts: tuple[int, ...]) -> RowSegments:
        """The segments with so many rows, one object for all tables that have them."""
        found = self._segments.get(counts)
        if found is None:
            found = self._segments[counts] = RowSegments(counts)
        return found

    def given(self, value: Any, of: Kind) -> Node:  # Any: an array
        """A parameter for an array, of the role that a kind has."""
        role = Role.CONSTANT if of.role is Role.LITERAL else of.role
        own = kind(of.column, getattr(value, "shape", None), of.dtype, of.device, role)
        made = new_node(CLASSES.get(own.column, Node), own, _PARAMETER, (), "", 0)
        self.values[made] = value
        return made

    def made(self, key: tuple[object, ...], value: Callable[[], Any]) -> Node:  # Any: an array
        """A parameter for what is computed of indices and sizes, once for each key."""
        found = self._made.get(key)
        if found is None:
            found = self._made[key] = self.given(*_with_kind(value()))
        return found


def _with_kind(value: Any) -> tuple[Any, Kind]:  # Any: an array, or a plan
    if isinstance(value, RowSums):
        return value, kind(Column.OTHER, None, RowSums)
    column = Column.INDEX if value.dtype.kind == "i" else Column.ARRAY
    return value, kind(column, value.shape, value.dtype)


class Ragged:
    """The case of one operation: the signatures that it has in the examples, and where the rows of operands lie.

    A rule takes this, the operands and the attributes, and gives an expression with its layout; `NotImplemented`
    where it has none for such operands.
    """

    __slots__ = ("_examples", "_signatures", "_site", "along", "kinds", "operation", "result")

    def __init__(
        self, examples: Examples, node: Node, signatures: Sequence[Signature], along: tuple[Along, ...]
    ) -> None:
        self._examples = examples
        self._signatures = signatures  # of each example
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

    def segments(self) -> RowSegments | None:
        """The segments of all operands that have some, if those are the same."""
        found = {x for x in self.along if isinstance(x, RowSegments)}
        return found.pop() if len(found) == 1 else None

    def sized(self, attribute: str) -> RowSegments:
        """The segments of the sizes that an attribute states in each example."""
        return self._examples.segments(tuple([dict(s.attributes)[attribute] for s in self._signatures]))

    def again(self, *operands: Any, **attributes: Any) -> Any:  # Any: operands and attributes of every type
        """Apply the operation to other operands."""
        return self.apply(self.operation, operands, tuple(attributes.items()))

    def apply(
        self, operation: Operation, operands: Sequence[Any], attributes: Attributes = ()
    ) -> Any:  # Any: above
        """Apply any operation, on the user's line."""
        given = [(x, x.kind) if isinstance(x, Node) else operand(x) for x in operands]
        signature = operation.signature(tuple([of for _, of in given]), attributes)
        values = tuple([x for x, _ in given])
        return new_node(signature.cls, signature.kind, signature, values, *self._site)

    def moved(self, x: Expression, along: Along, into: RowSegments) -> Node:
        """Indices, which lie along examples or segments, as indices into a table with segments of its own."""
        of = along.ids if isinstance(along, RowSegments) else self.examples.ids
        values = self._examples.values
        return self._examples.made(("moved", x, id(into)), lambda: into.moved(values[x], of))

    def places(self, index: int, of: RowSegments) -> Node:
        """The number of the row that stands at a place in each example; negative ones count from the end."""
        starts = of.starts if index >= 0 else of.starts + of.counts
        return self._examples.made(("places", index, id(of)), lambda: starts + index)

    def part(self, key: slice, of: RowSegments) -> tuple[Node, RowSegments]:
        """The numbers of the rows in a slice of each example, and their segments."""
        ranges = [range(n)[key] for n in of.counts.tolist()]
        into = self._examples.segments(tuple(map(len, ranges)))
        pieces = [[start + i for i in each] for start, each in zip(of.starts.tolist(), ranges, strict=True)]
        key_of = (key.start, key.stop, key.step)
        return self._examples.made(("part", key_of, id(of)), lambda: places(chain(*pieces))), into

    def plan(self, numbers: Expression, of: RowSegments) -> Node:
        """The plan of sums of rows that have these numbers, which are of rows of a table with segments."""
        values = self._examples.values
        return self._examples.made(("plan", numbers, id(of)), lambda: RowSums(values[numbers], of.total))

    def ids(self, segments: RowSegments) -> Node:
        """The example of each row."""
        return self._examples.made(("ids", id(segments)), lambda: segments.ids)

    def shares(self, segments: RowSegments, dtype: Any, rank: int) -> Node:  # Any: numpy's dtype
        """1 over the number of rows of each example, with so many axes."""
        return self._examples.made(
            ("shares", id(segments), dtype, rank),
            lambda: segments.shares(dtype).reshape(-1, *(1,) * (rank - 1)),
        )

    @property
    def examples(self) -> RowSegments:
        """A segment of one row for each example."""
        return self._examples.segments((1,) * self._examples.count)
