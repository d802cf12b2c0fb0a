"""Operations that derivatives are made of and that people have no use for: they stand in expressions of derivatives.

Knows: each as what a derivative rule asks of its namespace, and its own derivative, so that derivatives can be
differentiated again; that a delta of exactly 0 stays 0, whatever it is multiplied by.
Refuses to know: whose derivative they are part of.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Final

from wengert.arrays import FLOAT32, Value
from wengert.arrays.namespace import Pair
from wengert.errors import DTypeError
from wengert.graph.apply import apply, binary
from wengert.graph.batch import rowwise
from wengert.graph.index import Part, index_of, key_of
from wengert.graph.kinds import Column, Kind, Shape, kind
from wengert.graph.operation import Operation, Rules
from wengert.ops.batching import aligned, all_stacked, batched_add_at, reshaped
from wengert.ops.joining import stack
from wengert.ops.kinds import broadcasting, common, common_device

Slide = tuple[Pair, Pair, Pair]  # size, stride and dilation of windows


# -- constants ---------------------------------------------------------------------------------------


def _filled(c: Value, *, of: Kind, value: float) -> Value:
    if of.column is Column.ARRAY:
        return c.xp.full(of.shape, value, of.dtype)
    return c.xp.item(value, of.dtype)


FILLED: Final = Operation("filled", Rules(lambda kinds, *, of, value: of, _filled, pure=True))


def filled(value: float, of: Kind) -> Value:
    """`value` as every element of an array, or as a number, of one kind; made in the run."""
    literal = kind(of.column, of.shape, of.dtype, of.device)
    return apply(FILLED, (), (("of", literal), ("value", value)))


# -- numbers -----------------------------------------------------------------------------------------


def _infer_item(kinds: Sequence[Kind]) -> Kind:
    _, dtype, device = common(kinds)
    return kind(Column.FLOAT if dtype == FLOAT32 else Column.DOUBLE, (), dtype, device)


ITEM: Final = Operation(
    "item",
    Rules(
        _infer_item,
        lambda c, x: c.xp.item(x, c.result.dtype),
        (lambda c, g, y, x: c.xp.full((), g, c.result.dtype),),
        batch=reshaped,
        pure=True,
    ),
)


def item(x: Value) -> Value:
    """An array of shape () as a double or a float."""
    return apply(ITEM, (x,))


# -- products that a delta of 0 survives ---------------------------------------------------------------


def _behind_the_guard(c: Value, d: Value, y: Value, g: Value, r: Value) -> Value:
    """d, but 0 where g is 0 and r is not finite: what is put there is a constant."""
    guarded = c.xp.logical_and(c.xp.equal(g, 0.0), c.xp.not_equal(r - r, 0.0))
    return c.xp.where(guarded, 0.0, d)


NONZERO_SAFE: Final = Operation(
    "nonzero_safe",
    Rules(
        broadcasting,
        lambda c, g, r: c.xp.nonzero_safe(g, r),
        (None, _behind_the_guard),
        broadcasts=True,
        batch=lambda b, g, r: b.again(*all_stacked(b, (g, r))),  # its value is r as it is, most of the time
        pure=True,
    ),
)
SAFE_PRODUCT: Final = Operation(
    "safe_product",
    Rules(
        broadcasting,
        operator.mul,
        (
            lambda c, g, y, a, b: c.xp.nonzero_safe(g, g * b),
            lambda c, g, y, a, b: c.xp.nonzero_safe(g, g * a),
        ),
        broadcasts=True,
        batch=aligned,
        pure=True,
    ),
)


def nonzero_safe(g: Value, r: Value) -> Value:
    """r, a product of g and a local derivative, with 0 where g is 0 and r is not finite."""
    return binary(NONZERO_SAFE, g, r)


def safe_product(a: Value, b: Value) -> Value:
    """a b; a delta of exactly 0 is 0 for both, whatever they are."""
    return binary(SAFE_PRODUCT, a, b)


# -- places ------------------------------------------------------------------------------------------


def _infer_add_at(kinds: Sequence[Kind], *, shape: Shape, key: tuple[Part, ...]) -> Kind:
    return kind(Column.ARRAY, shape, kinds[0].dtype, common_device(kinds))


ADD_AT: Final = Operation(
    "add_at",
    Rules(
        _infer_add_at,
        lambda c, g, *arrays, shape, key: c.xp.add_at(shape, g.dtype, key_of(key, arrays), g),
        (lambda c, d, y, g, *arrays, shape, key: c.xp.getitem(d, key_of(key, arrays)),),
        batch=batched_add_at,
        pure=True,
    ),
)


def add_at(shape: Shape, key: Value, g: Value) -> Value:
    """Zeros of `shape` with g added at a key, equal indices adding up."""
    operands, static = index_of(g, key)
    return apply(ADD_AT, operands, (("shape", shape), ("key", static)))


def _infer_hot(kinds: Sequence[Kind], *, classes: int, dtype: Value) -> Kind:
    (labels,) = kinds
    if labels.column is not Column.INDEX:
        raise DTypeError(f"labels are integers, not {labels.text()}")
    shape = None if labels.shape is None else (*labels.shape, classes)
    return kind(Column.ARRAY, shape, dtype, labels.device)


ONE_HOT: Final = Operation(
    "one_hot",
    Rules(
        _infer_hot,
        lambda c, labels, *, classes, dtype: c.xp.one_hot(labels, classes, dtype),
        detached=True,
        batch=rowwise,
        pure=True,
    ),
)


def one_hot(labels: Value, classes: int, dtype: Value) -> Value:
    """1 at each label along a new last axis, 0 elsewhere."""
    return apply(ONE_HOT, (labels,), (("classes", classes), ("dtype", dtype)))


# -- windows -----------------------------------------------------------------------------------------


def _infer_windows(kinds: Sequence[Kind], *, slide: Slide) -> Kind:
    (x,) = kinds
    assert x.shape is not None, "derivatives are made of known kinds only"
    counts = tuple((n - d * (k - 1) - 1) // s + 1 for n, k, s, d in zip(x.shape[-2:], *slide, strict=True))
    height, width = slide[0]
    return kind(Column.ARRAY, (*x.shape[:-2], height * width, *counts), x.dtype, x.device)


WINDOWS: Final = Operation(
    "windows",
    Rules(
        _infer_windows,
        lambda c, x, *, slide: c.xp.windows(x, *slide),
        (lambda c, g, y, x, *, slide: c.xp.unwindows(g, c.shape(0), *slide),),
        batch=rowwise,
        pure=True,
    ),
)
UNWINDOWS: Final = Operation(
    "unwindows",
    Rules(
        lambda kinds, *, shape, slide: kind(Column.ARRAY, shape, kinds[0].dtype, kinds[0].device),
        lambda c, g, *, shape, slide: c.xp.unwindows(g, shape, *slide),
        (lambda c, d, y, g, *, shape, slide: c.xp.windows(d, *slide),),
        batch=lambda b, g, *, shape, slide: b.again(g, shape=(b.rows, *shape), slide=slide),
        pure=True,
    ),
)


def windows(x: Value, slide: Slide) -> Value:
    """The elements in windows that slide over the last two axes, their places on an axis before these two."""
    return apply(WINDOWS, (x,), (("slide", slide),))


def unwindows(g: Value, shape: Shape, slide: Slide) -> Value:
    """Zeros of `shape` with what each window has seen added where it saw it."""
    g = stack(g, axis=-3) if isinstance(g, (tuple, list)) else g
    return apply(UNWINDOWS, (g,), (("shape", shape), ("slide", slide)))
