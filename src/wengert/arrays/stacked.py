"""Functions for several equal branches at once: their values stand in one array, a branch along its first axis.

Knows: which calls on stacked arrays give every branch what a call on its own values would give it.
Refuses to know: whether the bits are the same, which `agreement` finds out; which calls are branches of one thing,
and whether stacking them pays.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from wengert.arrays import host, reductions
from wengert.arrays.kernels import (
    KERNELS,
    branch,
    gathered,
    in_each,
    minus_one_at,
    ones_at,
    picked,
    subtract_into,
    transposed,
)  # fmt: skip
from wengert.arrays.namespace import Axis, Function, Shape, Value
from wengert.arrays.ownership import new_array
from wengert.arrays.scatter import places

__all__ = ["CHANGES", "FORMS", "WHOLE", "Case", "Operand", "branch", "gathered", "rows_of"]

Emit = Callable[..., Any]  # calls a function, or writes the call down; Any: as Function


class Operand(NamedTuple):
    """Argument of a call of several branches: an array with a value of each, or one value for all."""

    value: Value
    rank: int  # of a branch's value
    stacked: bool


class Case(NamedTuple):
    """A call of several branches."""

    function: Function
    operands: Sequence[Operand]
    options: Mapping[str, Any]  # Any: constants of every type
    shape: Shape  # of a branch's result
    branches: int


Form = Callable[[Emit, Case], Any]  # None: there is no such call; Any: what Emit gives


def _elementwise(emit: Emit, c: Case) -> Value:
    aligned, rank = [], len(c.shape)
    for x in c.operands:
        lower = x.stacked and x.rank < rank
        aligned.append(_with_ones(emit, x, rank, c.branches) if lower else x.value)
    return emit(c.function, *aligned, **c.options)


def _with_ones(emit: Emit, x: Operand, rank: int, count: int) -> Value:
    """`x` with axes of size 1 after that of the stack, where its branch has fewer axes than the result."""
    return emit(host.reshape, x.value, (count, *(1,) * (rank - x.rank), *x.value.shape[1:]))


def _changed(emit: Emit, c: Case) -> Value:
    target, d, *rest = c.operands
    if not (target.stacked and d.stacked) or d.value.shape != target.value.shape:
        return None
    return emit(c.function, target.value, d.value, *(x.value for x in rest))


def _product(emit: Emit, c: Case) -> Value:
    a, b = c.operands
    if a.rank == b.rank == 1:
        return emit(np.vecdot, a.value, b.value)
    if any(x.rank != 2 and (x.rank != 1 or x.stacked) for x in c.operands):
        return None  # `matmul` would take the stack's axis for another
    return emit(np.matmul, a.value, b.value)


def _reduced(emit: Emit, c: Case) -> Value:
    axis = c.options.get("axis")
    along = tuple(range(1, c.operands[0].rank + 1)) if axis is None else _shifted(axis)
    return emit(c.function, c.operands[0].value, **{**c.options, "axis": along})


def _along(emit: Emit, c: Case) -> Value:
    return emit(c.function, c.operands[0].value, axis=_shifted(c.options["axis"]))


def _shifted(axis: Axis) -> Axis:
    """The axis of a stack that is `axis` in a branch; one that counts from the end is the same."""
    if isinstance(axis, tuple):
        return tuple(a + (a >= 0) for a in axis)
    return None if axis is None else axis + (axis >= 0)


def _transposed(emit: Emit, c: Case) -> Value:
    x = c.operands[0]
    return emit(host.swap_last, x.value) if x.rank == 2 or c.function is host.swap_last else None


def _reshaped(emit: Emit, c: Case) -> Value:
    return emit(host.reshape, c.operands[0].value, (c.branches, *c.shape))


def _spread(emit: Emit, c: Case) -> Value:
    return emit(
        host.broadcast_to, _with_ones(emit, c.operands[0], len(c.shape), c.branches), (c.branches, *c.shape)
    )


def _places(emit: Emit, c: Case) -> Value:
    labels, classes = c.operands
    return emit(places, labels.value, classes.value)  # the lines of all branches count on


def _picked(emit: Emit, c: Case) -> Value:
    x, at, _ = c.operands
    return emit(picked, x.value, _in_all(emit, at, x), (c.branches, *c.shape))


def _marked(emit: Emit, c: Case) -> Value:
    x, at = c.operands
    return emit(minus_one_at, x.value, _in_all(emit, at, x))


def _in_all(emit: Emit, at: Operand, x: Operand) -> Value:
    return at.value if at.stacked else emit(in_each, at.value, x.value)


def _ones(emit: Emit, c: Case) -> Value:
    at, form = c.operands
    return emit(ones_at, at.value, ((c.branches, *c.shape), form.value[1]))


_ELEMENTWISE: Final[tuple[Function, ...]] = (
    *(f for f in KERNELS if isinstance(f, np.ufunc) and f.signature is None),
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.neg, operator.abs, operator.pos),
    np.where,
)
FORMS: Final[Mapping[Function, Form]] = {
    **dict.fromkeys(_ELEMENTWISE, _elementwise),
    **dict.fromkeys((np.dot, np.matmul), _product),
    **dict.fromkeys((reductions.add_reduce, reductions.max_reduce, reductions.min_reduce), _reduced),
    **dict.fromkeys((host.squeeze, host.expand_dims), _along),
    **dict.fromkeys((transposed, host.swap_last), _transposed),
    **dict.fromkeys((subtract_into, host.scaled_update), _changed),
    host.reshape: _reshaped,
    host.broadcast_to: _spread,
    places: _places,
    picked: _picked,
    minus_one_at: _marked,
    ones_at: _ones,
}
WHOLE: Final = frozenset({places})  # functions whose stacked result is no array of the branches' results
CHANGES: Final = frozenset({subtract_into, host.scaled_update})  # functions that change their first argument


def rows_of(xs: Sequence[Value], /) -> Value:
    """A new array whose rows these arrays are."""
    rows: Value = np.stack(xs, out=new_array((len(xs), *xs[0].shape), xs[0].dtype))
    return rows
