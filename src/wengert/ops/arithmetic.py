"""Arithmetic: the operations behind Python's operators on numbers, bounds, and rounding.

Knows: formulas and derivatives; g is the delta that arrives at the result y; that rounding is constant between its
jumps, so that no delta passes it.
Refuses to know: how operands are broadcast and deltas summed back, which the family does.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, Final, overload

from wengert.arrays import Dv, S, T, Value
from wengert.errors import ArgumentError
from wengert.graph.apply import apply
from wengert.graph.expressions import (
    ArrayExpression,
    ArrayLayer,
    DoubleExpression,
    DoubleLayer,
    FloatExpression,
    FloatLayer,
    ScalarOperand,
)
from wengert.graph.kinds import Column, Kind
from wengert.graph.operation import Operation, Rules
from wengert.ops import kinds
from wengert.ops.batching import aligned, by_elements
from wengert.ops.families import broadcasting, elementwise
from wengert.site import user_position


@broadcasting(lambda c, g, y, a, b: g, lambda c, g, y, a, b: g, value=operator.add, pure=True)
def add(c: Value, a: Value, b: Value) -> Value:
    """a + b.

    Derivative: g, g.
    Shapes: broadcast; one dtype. Raises ShapeError, DTypeError, DeviceError on the line of the call.
    >>> add(2.0, 3.0).predict().run()
    5.0

    Source: Python array API standard, `add`.
    """
    return a + b


@broadcasting(lambda c, g, y, a, b: g, lambda c, g, y, a, b: -g, value=operator.sub, pure=True)
def subtract(c: Value, a: Value, b: Value) -> Value:
    """a - b.

    Derivative: g, -g.
    Shapes: broadcast; one dtype. Raises ShapeError, DTypeError, DeviceError on the line of the call.
    >>> subtract(2.0, 3.0).predict().run()
    -1.0

    Source: Python array API standard, `subtract`.
    """
    return a - b


@broadcasting(lambda c, g, y, a, b: g * b, lambda c, g, y, a, b: g * a, value=operator.mul, pure=True)
def multiply(c: Value, a: Value, b: Value) -> Value:
    """a b, element by element.

    Derivative: g b, g a.
    Shapes: broadcast; one dtype. Raises ShapeError, DTypeError, DeviceError on the line of the call.
    >>> multiply(2.0, 3.0).predict().run()
    6.0

    Source: Python array API standard, `multiply`.
    """
    return a * b


@broadcasting(
    lambda c, g, y, a, b: c.xp.nonzero_safe(g, c.xp.divide(g, b)),
    lambda c, g, y, a, b: c.xp.nonzero_safe(g, -c.xp.divide(g * y, b)),
    pure=True,
)
def divide(c: Value, a: Value, b: Value) -> Value:
    """a / b; a zero divisor gives an infinity or NaN as IEEE 754 says, for numbers too.

    Derivative: g / b, -g a / b²; 0 where g is 0.
    Shapes: broadcast; one dtype. Raises ShapeError, DTypeError, DeviceError on the line of the call.
    >>> divide(3.0, 2.0).predict().run()
    1.5

    Source: Python array API standard, `divide`.
    """
    return c.xp.divide(a, b)


def _pow_base(c: Value, g: Value, y: Value, a: Value, b: Value) -> Value:
    left = c.xp.nonzero_safe(g, g * b)
    return c.xp.nonzero_safe(left, left * c.xp.pow(a, b - 1.0))


def _pow_exponent(c: Value, g: Value, y: Value, a: Value, b: Value) -> Value:
    left, log = c.xp.nonzero_safe(g, g * y), c.xp.log(a)
    if c.kinds[0].column is Column.NUMBER:  # whose logarithm numpy gives as a float64, which is not weak
        log = c.xp.item(log, c.result.dtype)
    return c.xp.nonzero_safe(left, left * log)


@broadcasting(_pow_base, _pow_exponent, pure=True)
def pow(c: Value, a: Value, b: Value) -> Value:
    """a to the power b; a negative base with a fractional exponent gives NaN.

    Derivative: g b a^(b-1), which is 0 at b = 0; g y ln a, which is 0 at a = 0 < b. A literal's is not computed.
    Shapes: broadcast; one dtype. Raises ShapeError, DTypeError, DeviceError on the line of the call.
    >>> pow(2.0, 3.0).predict().run()
    8.0

    Source: Python array API standard, `pow`.
    """
    return c.xp.pow(a, b)


def _part(c: Value, g: Value, y: Value, x: Value) -> Value:
    """g exp(x - y), of two infinities 1: the part of one term in the sum."""
    alike = c.xp.equal(x, y)
    return c.xp.nonzero_safe(g, g * c.xp.exp(c.xp.where(alike, 0.0, x - y)))


@broadcasting(lambda c, g, y, a, b: _part(c, g, y, a), lambda c, g, y, a, b: _part(c, g, y, b), pure=True)
def logaddexp(c: Value, a: Value, b: Value) -> Value:
    """log(exp(a) + exp(b)), without overflow.

    Derivative: g exp(a - y), g exp(b - y).
    Shapes: broadcast; one dtype. Raises ShapeError, DTypeError, DeviceError on the line of the call.
    >>> logaddexp(-1000.0, 0.0).predict().run()
    0.0

    Source: Python array API standard, `logaddexp`.
    """
    return c.xp.logaddexp(a, b)


@broadcasting(lambda c, g, y, a, b: c.xp.where(c.xp.equal(y, a), g, -g), None, pure=True)
def copysign(c: Value, a: Value, b: Value) -> Value:
    """|a| with the sign of b, that of a zero too.

    Derivative: g where a has the sign of b, else -g; none for b.
    Shapes: broadcast; one dtype. Raises ShapeError, DTypeError, DeviceError on the line of the call.
    >>> copysign(2.0, -0.0).predict().run()
    -2.0

    Source: Python array API standard, `copysign`.
    """
    return c.xp.copysign(a, b)


@elementwise(lambda c, g, y, x: -g, value=operator.neg, pure=True)
def negative(c: Value, x: Value) -> Value:
    """-x.

    Derivative: -g.
    Shapes: that of x.
    >>> negative(2.0).predict().run()
    -2.0

    Source: Python array API standard, `negative`.
    """
    return -x


@elementwise(lambda c, g, y, x: g * c.xp.sign(x), value=operator.abs, pure=True)
def abs(c: Value, x: Value) -> Value:
    """|x|.

    Derivative: g sign(x), and 0 at 0.
    Shapes: that of x.
    >>> abs(-2.0).predict().run()
    2.0

    Source: Python array API standard, `abs`.
    """
    return c.xp.abs(x)


def _tie(wins: str) -> Value:
    def rule(c: Value, g: Value, y: Value, a: Value, b: Value) -> Value:
        xp = c.xp
        return xp.where(xp.equal(a, b), 0.5 * g, xp.where(getattr(xp, wins)(a, b), g, 0.0))

    return rule


_to_greater, _to_less = _tie("greater"), _tie("less")


@broadcasting(_to_greater, _to_less, pure=True)
def maximum(c: Value, a: Value, b: Value) -> Value:
    """The greater of a and b; NaN if either is.

    Derivative: g to the greater; at a tie half to each, for numbers and arrays alike.
    Shapes: broadcast; one dtype. Raises ShapeError, DTypeError, DeviceError on the line of the call.
    >>> maximum(2.0, 3.0).predict().run()
    3.0

    Source: Python array API standard, `maximum`.
    """
    return c.xp.maximum(a, b)


@broadcasting(_to_less, _to_greater, pure=True)
def minimum(c: Value, a: Value, b: Value) -> Value:
    """The smaller of a and b; NaN if either is.

    Derivative: g to the smaller; at a tie half to each, for numbers and arrays alike.
    Shapes: broadcast; one dtype. Raises ShapeError, DTypeError, DeviceError on the line of the call.
    >>> minimum(2.0, 3.0).predict().run()
    2.0

    Source: Python array API standard, `minimum`.
    """
    return c.xp.minimum(a, b)


_BOUNDS: Final = {"min": ("maximum", _to_greater), "max": ("minimum", _to_less)}


def _infer_clip(operands: Sequence[Kind], *, ends: tuple[str, ...]) -> Kind:
    return kinds.broadcasting(operands)


def _within(c: Value, x: Value, *bounds: Value, ends: tuple[str, ...]) -> Value:
    for end, bound in zip(ends, bounds, strict=True):
        x = getattr(c.xp, _BOUNDS[end][0])(x, bound)
    return x


def _clip_delta(
    index: int, c: Value, g: Value, y: Value, x: Value, *bounds: Value, ends: tuple[str, ...]
) -> Value:
    for i in reversed(range(len(ends))):
        before = _within(c, x, *bounds[:i], ends=ends[:i])
        share = _BOUNDS[ends[i]][1]
        if index == i + 1:
            return share(c, g, y, bounds[i], before)
        g = share(c, g, y, before, bounds[i])
    return g


CLIP: Final = Operation(
    "clip",
    Rules(_infer_clip, _within, _clip_delta, broadcasts=True, batch=aligned, ragged=by_elements, pure=True),
)


@overload
def clip(
    x: ArrayExpression[S, T, Dv], /, min: T | float | None = None, max: T | float | None = None
) -> ArrayLayer[S, T, Dv]: ...
@overload
def clip(
    x: ArrayExpression[Any, T, Dv],
    /,
    min: ArrayExpression[Any, T, Dv] | ScalarOperand[T] | T | float | None = None,
    max: ArrayExpression[Any, T, Dv] | ScalarOperand[T] | T | float | None = None,
) -> ArrayLayer[Any, T, Dv]: ...
@overload
def clip(
    x: DoubleExpression, /, min: DoubleExpression | None = None, max: DoubleExpression | None = None
) -> DoubleLayer: ...
@overload
def clip(
    x: FloatExpression,
    /,
    min: FloatExpression | float | None = None,
    max: FloatExpression | float | None = None,
) -> FloatLayer: ...
def clip(x: Any, /, min: Any = None, max: Any = None) -> Any:  # Any: typed by the overloads
    """x, but min where it is less and max where it is greater; None bounds nothing. NaN stays.

    Derivative: g to what was chosen, x or a bound; half to each at a tie, as minimum(maximum(x, min), max) has it.
    Shapes: broadcast; one dtype. Raises ShapeError, DTypeError, DeviceError on the line of the call, ArgumentError
    for two numbers of which min is the greater.
    >>> clip(3.0, 0.0, 1.0).predict().run()
    1.0

    Source: Python array API standard, `clip`.
    """
    if isinstance(min, (float, int)) and isinstance(max, (float, int)) and min > max:
        raise ArgumentError(f"clip: min {min} is greater than max {max}\n  at {user_position()}")
    given = {end: bound for end, bound in (("min", min), ("max", max)) if bound is not None}
    return apply(CLIP, (x, *given.values()), (("ends", tuple(given)),))


@elementwise(detached=True, pure=True)
def floor(c: Value, x: Value) -> Value:
    """The greatest integer that is not greater than x.

    Derivative: 0 everywhere, so that nothing below gets a delta.
    Shapes: that of x.
    >>> floor(-2.5).predict().run()
    -3.0

    Source: Python array API standard, `floor`.
    """
    return c.xp.floor(x)


@elementwise(detached=True, pure=True)
def ceil(c: Value, x: Value) -> Value:
    """The smallest integer that is not less than x.

    Derivative: 0 everywhere, so that nothing below gets a delta.
    Shapes: that of x.
    >>> ceil(-2.5).predict().run()
    -2.0

    Source: Python array API standard, `ceil`.
    """
    return c.xp.ceil(x)


@elementwise(detached=True, pure=True)
def trunc(c: Value, x: Value) -> Value:
    """x without its fraction: the nearest integer towards 0.

    Derivative: 0 everywhere, so that nothing below gets a delta.
    Shapes: that of x.
    >>> trunc(-2.5).predict().run()
    -2.0

    Source: Python array API standard, `trunc`.
    """
    return c.xp.trunc(x)


@elementwise(detached=True, pure=True)
def round(c: Value, x: Value) -> Value:
    """The nearest integer; of two that are as near the even one.

    Derivative: 0 everywhere, so that nothing below gets a delta.
    Shapes: that of x.
    >>> round(2.5).predict().run()
    2.0

    Source: Python array API standard, `round`.
    """
    return c.xp.round(x)


@broadcasting(detached=True, pure=True)
def floor_divide(c: Value, a: Value, b: Value) -> Value:
    """The greatest integer that is not greater than a / b; a zero divisor as in `divide`.

    Derivative: 0 everywhere, so that nothing below gets a delta.
    Shapes: broadcast; one dtype. Raises ShapeError, DTypeError, DeviceError on the line of the call.
    >>> floor_divide(7.0, -2.0).predict().run()
    -4.0

    Source: Python array API standard, `floor_divide`.
    """
    return c.xp.floor_divide(a, b)


@broadcasting(
    lambda c, g, y, a, b: g,
    lambda c, g, y, a, b: c.xp.nonzero_safe(g, -g * c.xp.floor(c.xp.divide(a, b))),
    pure=True,
)
def remainder(c: Value, a: Value, b: Value) -> Value:
    """a - b ⌊a / b⌋, which has the sign of b; NaN for a divisor of 0.

    Derivative: g, -g ⌊a / b⌋.
    Shapes: broadcast; one dtype. Raises ShapeError, DTypeError, DeviceError on the line of the call.
    >>> remainder(7.0, -2.0).predict().run()
    -1.0

    Source: Python array API standard, `remainder`.
    """
    return c.xp.remainder(a, b)
