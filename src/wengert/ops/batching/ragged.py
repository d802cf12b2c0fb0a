"""Rules for examples of unlike sizes that many operations share: rows by themselves, and sums over each example's rows.

Knows: that an operation on elements or lines does the same to all rows, whichever example they belong to; that a value
which an example has once is read by each of its rows; that a sum over the rows of each example is a sum of segments.
Refuses to know: which operation asks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from wengert.arrays import Axis, Value
from wengert.arrays.segments import sum_rows
from wengert.graph.kinds import Column, Kind, kind
from wengert.graph.operation import Operation, Rules
from wengert.graph.operators import MULTIPLY
from wengert.graph.ragged import EXAMPLES, SHARED, Found, Ragged, RowAxis
from wengert.ops.batching.shapes import SHAPED
from wengert.ops.kinds import axes_in


def _gathered_kind(kinds: Sequence[Kind]) -> Kind:
    x, numbers = kinds[:2]
    return kind(x.column, ((numbers.shape or ())[0], *(x.shape or ())[1:]), x.dtype, x.device)


def _summed_kind(kinds: Sequence[Kind], *, sums: int) -> Kind:
    x = kinds[0]
    return kind(Column.ARRAY, (sums, *(x.shape or ())[1:]), x.dtype, x.device)


# The rows with these numbers, and the sums of rows that have one number: each is the other's derivative, and both have
# a plan as their last operand. Made by rules, not listed; they are in programs only.
GATHERED_ROWS: Final = Operation(
    "gathered_rows",
    Rules(
        _gathered_kind,
        lambda c, x, numbers, plan: c.xp.take(x, numbers, axis=0),
        (lambda c, g, y, x, numbers, plan: c.xp.call(sum_rows, plan, g, c.shape(0)[0]), None, None),
        pure=True,
    ),
    listed=False,
)
SUMMED_ROWS: Final = Operation(
    "summed_rows",
    Rules(
        _summed_kind,
        lambda c, x, numbers, plan, *, sums: c.xp.call(sum_rows, plan, x, sums),
        (lambda c, g, y, x, numbers, plan, *, sums: c.xp.take(g, numbers, axis=0), None, None),
        pure=True,
    ),
    listed=False,
)


def by_elements(c: Ragged, *xs: Value, **attributes: Any) -> Found | Any:  # Any: as in `Ragged.again`
    """The rule of operations on elements that broadcast."""
    rows, result = c.axis(), c.result.shape or ()
    if rows is None:
        return NotImplemented
    operands = list(xs)
    for i, (x, along) in enumerate(zip(xs, c.along, strict=True)):
        own = c.shape(i)
        if along is EXAMPLES and len(own) < len(result):
            operands[i] = spread_rows(c, x, rows, len(result))
        elif along is SHARED:
            if len(own) == len(result) and own[0] != 1:
                return NotImplemented
        elif along is EXAMPLES or own[:1] != result[:1] or len(own) < len(result):
            return NotImplemented
    return c.again(*operands, **attributes), rows


def gathered(c: Ragged, x: Value, numbers: Value, of: RowAxis) -> Value:
    """The rows with these numbers of a table."""
    return c.apply(GATHERED_ROWS, (x, numbers, c.plan(numbers, of)))


def summed(c: Ragged, x: Value, numbers: Value, into: RowAxis) -> Value:
    """The sums of the rows that have one number, as a table."""
    return c.apply(SUMMED_ROWS, (x, numbers, c.plan(numbers, into)), (("sums", into.total),))


def spread_rows(c: Ragged, x: Value, rows: RowAxis, rank: int) -> Value:
    """The row of each example, once for each of the rows that it has in a table of so many axes."""
    found = gathered(c, x, c.ids(rows), c.examples)
    inner = found.shape[1:]
    shape = (rows.total, *(1,) * (rank - 1 - len(inner)), *inner)
    return found if found.shape == shape else c.apply(SHAPED, (found,), (("shape", shape),))


def by_lines(c: Ragged, x: Value, *, axis: int, **attributes: Any) -> Found | Any:  # Any: as above
    """The rule of operations along another axis than that of rows."""
    rows = c.axis()
    if rows is None or axis % len(c.shape(0)) == 0:
        return NotImplemented
    return c.again(x, axis=axis, **attributes), rows


def reducing(mean: bool | None) -> Callable[..., Found | Any]:  # Any: as above
    """The rule of a reduction: of sums and means over rows, too; None: of another one."""

    # Any: as above
    def rule(c: Ragged, x: Value, *, axis: Axis = None, keepdims: bool = False) -> Found | Any:
        rows, axes = c.axis(), axes_in(axis, c.shape(0))
        if rows is None or c.kinds[0].column is not Column.ARRAY:
            return NotImplemented
        if 0 not in axes:
            return c.again(x, axis=axis, keepdims=keepdims), rows
        if mean is None or keepdims:
            return NotImplemented
        rest = tuple(a for a in axes if a)
        lines = c.again(x, axis=rest, keepdims=False) if rest else x
        return over_rows(c, lines, rows, mean), EXAMPLES

    return rule


def over_rows(c: Ragged, x: Value, rows: RowAxis, mean: bool) -> Value:
    """The sum, or the mean, of the rows of each example."""
    total = summed(c, x, c.ids(rows), c.examples)
    return c.apply(MULTIPLY, (total, c.shares(rows, x.dtype, len(x.shape)))) if mean else total
