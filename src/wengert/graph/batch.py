"""One operation for many rows at once: the argument of a batching rule, and its answer.

Knows: that a batching rule is written with operations on expressions whose stacked operands have one more axis in
front, so that the derivative of what it makes is known already: batch first, differentiate second.
Refuses to know: any operation's rule, and who wants rows.
"""

from __future__ import annotations

from typing import Any

from wengert.graph.apply import apply
from wengert.graph.kinds import Kind, Shape
from wengert.graph.operation import Signature


class Batch:
    """The case of one row: kinds without the axis of rows, and which operands have it.

    A batching rule takes this, the operands and the attributes, and gives an expression with the axis of rows in
    front; `NotImplemented` where it has none for such operands, which then go row by row.
    """

    __slots__ = ("kinds", "operation", "result", "rows", "stacked")

    def __init__(self, signature: Signature, stacked: tuple[bool, ...], rows: int) -> None:
        self.operation = signature.operation
        self.kinds: tuple[Kind, ...] = signature.kinds
        self.result: Kind = signature.kind
        self.stacked = stacked
        self.rows = rows

    def shape(self, index: int) -> Shape:
        """The shape of one operand in one row."""
        shape = self.kinds[index].shape
        assert shape is not None, "cases are made of known kinds only"
        return shape

    def again(self, *operands: Any, **attributes: Any) -> Any:  # Any: operands and attributes of every type
        """Apply the operation to other operands."""
        return apply(self.operation, operands, tuple(attributes.items()))


def rowwise(batch: Batch, *operands: Any, **attributes: Any) -> Any:  # Any: as in `Batch.again`
    """The batching rule of an operation on each element by itself, of operands of one shape."""
    return batch.again(*operands, **attributes)
