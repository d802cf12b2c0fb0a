"""Sums and the like of rows by the segment that each belongs to: messages along edges, for the nodes that they reach.

Knows: which operation a reduction is, and how many segments there are: a number, or as many as another tensor has rows.
Refuses to know: how rows are summed.

Source: PyTorch, `torch.segment_reduce`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal, TypeAlias, overload

from wengert.arrays import is_integer
from wengert.errors import BlockValueError
from wengert.fold.block import K, Tensors
from wengert.fold.functions import Function
from wengert.fold.types import Value, error_here
from wengert.graph.operand import shown
from wengert.ops import segment_max, segment_mean, segment_min, segment_sum

Reduction: TypeAlias = Literal["sum", "mean", "max", "min"]

_REDUCTIONS: Final[dict[str, Callable[..., Value]]] = {
    "sum": segment_sum,
    "mean": segment_mean,
    "max": segment_max,
    "min": segment_min,
}


class _Reduced:
    """The function of a block."""

    def __init__(self, reduction: str, num_segments: int | None) -> None:
        self._reduction, self._count = reduction, num_segments
        self.__name__ = reduction

    def __call__(self, rows: Value, ids: Value, *others: Value) -> Value:
        count = others[0].shape[0] if self._count is None else self._count
        return _REDUCTIONS[self._reduction](rows, ids, num_segments=count)


class SegmentReduce(Function[K, Tensors]):
    """The sum, mean, maximum or minimum of the rows that have one segment id.

    With `num_segments` it takes (rows, ids); without, (rows, ids, others), and there are as many segments as `others`
    has rows: the nodes of a graph, where rows are messages along edges. Of no row the sum and the mean are 0, the
    maximum is -infinity, the minimum infinity. Raises BlockValueError for another reduction, or less than one segment.
    >>> from wengert import fold as td
    >>> rows = td.Record((td.Tensor((3, 2)), td.Vector(3, "int64")))
    >>> (rows >> td.SegmentReduce("sum", 2)).eval(([[1, 2], [3, 4], [5, 6]], [1, 0, 1])).tolist()
    [[3.0, 4.0], [6.0, 8.0]]

    Source: PyTorch, `torch.segment_reduce`; JAX, `jax.ops.segment_sum`.
    """

    @overload
    def __init__(
        # Any: integers, also a stack of them; whatever has rows
        self: SegmentReduce[tuple[Tensors, Any, Any]],
        reduction: Reduction,
        num_segments: None = None,
        name: str | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self: SegmentReduce[tuple[Tensors, Any]],  # Any: integers
        reduction: Reduction,
        num_segments: int,
        name: str | None = None,
    ) -> None: ...
    def __init__(
        self, reduction: Reduction, num_segments: int | None = None, name: str | None = None
    ) -> None:
        if reduction not in _REDUCTIONS:
            raise error_here(
                f"td.SegmentReduce: expected one of {', '.join(_REDUCTIONS)}, got {shown(reduction)}",
                BlockValueError,
            )
        if num_segments is not None and (not is_integer(num_segments) or int(num_segments) < 1):
            raise error_here(
                f"td.SegmentReduce: there is at least one segment, not {shown(num_segments)}", BlockValueError
            )
        count = None if num_segments is None else int(num_segments)
        function: Any = _Reduced(reduction, count)  # Any: of two tensors, or of three
        super().__init__(function, name)
