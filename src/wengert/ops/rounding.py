"""Rounding, and quotients that are rounded.

Knows: that rounding is constant between its jumps, so that no delta passes it; that a remainder is x minus multiples.
Refuses to know: how operands are broadcast and deltas summed back, which the family does.
"""

from __future__ import annotations

from typing import Any

from wengert.ops.families import broadcasting, elementwise

Value = Any  # data of any column, or an expression: a rule is written once for all of them


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
