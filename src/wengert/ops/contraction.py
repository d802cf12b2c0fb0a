"""Sums of products over named axes: einsum, tensordot.

Knows: that the derivative of a sum of products is one too.
Refuses to know: how a specification is read, and in which order products are computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

from wengert.arrays import Dv, T, Value, is_integer
from wengert.errors import ArgumentError
from wengert.graph.apply import apply
from wengert.graph.batch import Batch
from wengert.graph.expressions import ArrayExpression, ArrayLayer
from wengert.graph.kinds import Column, Kind, Shape, kind
from wengert.graph.operation import Operation, Rules
from wengert.ops.kinds import arrays_of, axes_in, integers, ruled
from wengert.ops.specification import DOTS, LETTERS, Contraction, contraction, parsed
from wengert.site import user_position
from wengert_shapes import contraction as rules

Axes = int | tuple[tuple[int, ...], tuple[int, ...]]


def _infer(kinds: Sequence[Kind], *, spec: str) -> Kind:
    shapes, dtype, device = arrays_of(kinds)
    parsed(spec, len(kinds))
    known = len(shapes) == len(kinds)
    return kind(Column.ARRAY, contraction(spec, tuple(shapes)).shape if known else None, dtype, device)


def _case(c: Value, spec: str) -> Contraction:
    return contraction(spec, tuple(c.shape(i) for i in range(len(c.kinds))))


def _operands(c: Value, of: Contraction, xs: Sequence[Value]) -> list[Value]:
    """The operands without the axes that are stretched."""
    return [
        x if c.shape(i) == shape else c.xp.reshape(x, shape)
        for i, (x, shape) in enumerate(zip(xs, of.shapes, strict=True))
    ]


def _value(c: Value, *xs: Value, spec: str) -> Value:
    of = _case(c, spec)
    return c.xp.einsum(f"{','.join(of.terms)}->{of.out}", *_operands(c, of, xs))


def _delta(index: int, c: Value, g: Value, y: Value, *xs: Value, spec: str) -> Value:
    """g times the other operands, by the indices of this one."""
    xp, of = c.xp, _case(c, spec)
    term = of.terms[index]
    terms = [of.out, *of.terms[:index], *of.terms[index + 1 :]]
    operands = _operands(c, of, xs)
    letters = "".join(dict.fromkeys(term))
    found = "".join(letter for letter in letters if letter in "".join(terms))
    delta = xp.einsum(f"{','.join(terms)}->{found}", g, *operands[:index], *operands[index + 1 :])
    if found != letters:  # the rest was summed before anything else
        spread = tuple(of.sizes[letter] if letter in found else 1 for letter in letters)
        delta = xp.broadcast_to(xp.reshape(delta, spread), of.shape_of(letters))
    if letters != term:  # a diagonal was taken before anything else
        places = dict(zip(letters, xp.mesh(of.shape_of(letters)), strict=True))
        key = tuple(places[letter] for letter in term)
        delta = xp.add_at(of.shapes[index], c.result.dtype, key, delta)
    return delta if of.shapes[index] == c.shape(index) else xp.reshape(delta, c.shape(index))


def _batched(b: Batch, *xs: Value, spec: str) -> Value:
    """The rows are one more index, of the stacked operands and of the result."""
    terms, out = parsed(spec, len(xs))
    rows = next((letter for letter in LETTERS if letter not in spec), None)
    if rows is None:
        return NotImplemented
    marked = [rows + term if stacked else term for term, stacked in zip(terms, b.stacked, strict=True)]
    return einsum(f"{','.join(marked)}->{rows}{out}".replace(DOTS, "..."), *xs)


EINSUM: Final = Operation("einsum", Rules(_infer, _value, _delta, batch=_batched, pure=True))


def einsum(spec: str, /, *xs: ArrayExpression[Any, T, Dv]) -> ArrayLayer[Any, T, Dv]:
    """The sum of products that a specification such as "ij,jk->ik" names, index by index.

    Each operand has a term of letters, one an axis, and so has the result. A letter that the result lacks is
    summed over; one that an operand has twice takes its diagonal; "..." stands for axes that broadcast. Without
    an arrow the result has the letters that occur once, in order.
    Derivative: g times the other operands, by the indices of this one.
    Shapes: one size for each letter. Raises ShapeError where a letter has two, DTypeError, DeviceError.
    >>> import numpy as np
    >>> einsum("bthd,bshd->bhts", np.ones((2, 5, 3, 4)), np.ones((2, 6, 3, 4))).shape
    (2, 3, 5, 6)
    >>> einsum("ii", np.array([[1.0, 2.0], [3.0, 4.0]])).predict().run().item()
    5.0

    Source: A. Einstein, "Die Grundlage der allgemeinen Relativitätstheorie", 1916, section 5; numpy, `einsum`.
    """
    if not isinstance(spec, str):
        raise ArgumentError(
            f'einsum: the first argument says what to sum, as in einsum("ij,jk->ik", a, b); '
            f"got {type(spec).__name__}\n  at {user_position()}"
        )
    layer: ArrayLayer[Any, T, Dv] = apply(EINSUM, xs, (("spec", spec),))
    return layer


def _pairs(a: Shape, b: Shape, axes: Axes) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The axes of a and of b that are summed over together."""
    ruled(rules.tensordot, [a, b], axes)
    if isinstance(axes, int):
        return tuple(range(len(a) - axes, len(a))), tuple(range(axes))
    return axes_in(axes[0], a), axes_in(axes[1], b)


@lru_cache(maxsize=1024)
def _spec(a: Shape, b: Shape, axes: Axes) -> str:
    """The specification of a `tensordot`."""
    summed, with_ = _pairs(a, b, axes)
    left, free = LETTERS[: len(a)], LETTERS[len(a) :]
    right = "".join(left[summed[with_.index(j)]] if j in with_ else free[j] for j in range(len(b)))
    out = [letter for letter in left + right if (letter in left) != (letter in right)]
    return f"{left},{right}->{''.join(out)}"


def _infer_tensordot(kinds: Sequence[Kind], *, axes: Axes) -> Kind:
    shapes, dtype, device = arrays_of(kinds)
    if len(shapes) < 2:
        return kind(Column.ARRAY, None, dtype, device)
    a, b = shapes
    return kind(Column.ARRAY, contraction(_spec(a, b, axes), (a, b)).shape, dtype, device)


def _of_pair(c: Value, axes: Axes) -> str:
    return _spec(c.shape(0), c.shape(1), axes)


TENSORDOT: Final = Operation(
    "tensordot",
    Rules(
        _infer_tensordot,
        lambda c, a, b, *, axes: _value(c, a, b, spec=_of_pair(c, axes)),
        lambda index, c, g, y, a, b, *, axes: _delta(index, c, g, y, a, b, spec=_of_pair(c, axes)),
        batch=lambda batch, a, b, *, axes: _batched(batch, a, b, spec=_of_pair(batch, axes)),
        pure=True,
    ),
)


def tensordot(
    a: ArrayExpression[Any, T, Dv],
    b: ArrayExpression[Any, T, Dv],
    /,
    *,
    axes: int | tuple[Sequence[int], Sequence[int]] = 2,
) -> ArrayLayer[Any, T, Dv]:
    """The product of a and b summed over pairs of axes: the last n of a with the first n of b, or those named.

    y[i..., j...] = Σ_k a[i..., k...] b[k..., j...], the axes k being those that are summed over.
    Derivative: g times the other operand, summed over its other axes.
    Shapes: the other axes of a, then those of b. Raises ShapeError where axes of a pair differ, DTypeError,
    DeviceError.
    >>> import numpy as np
    >>> tensordot(np.ones((2, 3, 4)), np.ones((4, 3, 5)), axes=((1, 2), (1, 0))).shape
    (2, 5)

    Source: Python array API standard, `tensordot`.
    """
    if is_integer(axes):
        pairs: Axes = int(axes)
    elif isinstance(axes, (tuple, list)) and len(axes) == 2:
        pairs = (integers(axes[0], "tensordot"), integers(axes[1], "tensordot"))
    else:
        raise ArgumentError(
            f"tensordot: axes are a number or a pair of tuples, as in ((1,), (0,)); got {axes!r:.60}\n"
            f"  at {user_position()}"
        )
    layer: ArrayLayer[Any, T, Dv] = apply(TENSORDOT, (a, b), (("axes", pairs),))
    return layer
