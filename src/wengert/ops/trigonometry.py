"""Trigonometric and hyperbolic functions, their inverses, and polar coordinates.

Knows: formulas and derivatives; g is the delta that arrives at the result y.
Refuses to know: how operands are broadcast and deltas summed back, which the family does.
"""

from __future__ import annotations

from wengert.arrays import Value
from wengert.ops.families import broadcasting, elementwise


@elementwise(lambda c, g, y, x: c.xp.nonzero_safe(g, g * (1.0 + y * y)), pure=True)
def tan(c: Value, x: Value) -> Value:
    """The tangent of an angle in radians; NaN for infinities.

    Derivative: g (1 + y²).
    Shapes: that of x.
    >>> tan(0.0).predict().run()
    0.0

    Source: Python array API standard, `tan`.
    """
    return c.xp.tan(x)


@elementwise(
    lambda c, g, y, x: c.xp.nonzero_safe(g, c.xp.divide(g, c.xp.sqrt((1.0 - x) * (1.0 + x)))), pure=True
)
def asin(c: Value, x: Value) -> Value:
    """The angle in [-π/2, π/2] of which x is the sine; NaN outside of [-1, 1].

    Derivative: g / √(1 - x²); 0 where g is 0.
    Shapes: that of x.
    >>> asin(0.5).predict().run()
    0.5235987755982989

    Source: Python array API standard, `asin`.
    """
    return c.xp.asin(x)


@elementwise(
    lambda c, g, y, x: c.xp.nonzero_safe(g, c.xp.divide(-g, c.xp.sqrt((1.0 - x) * (1.0 + x)))), pure=True
)
def acos(c: Value, x: Value) -> Value:
    """The angle in [0, π] of which x is the cosine; NaN outside of [-1, 1].

    Derivative: -g / √(1 - x²); 0 where g is 0.
    Shapes: that of x.
    >>> acos(1.0).predict().run()
    0.0

    Source: Python array API standard, `acos`.
    """
    return c.xp.acos(x)


@elementwise(lambda c, g, y, x: c.xp.nonzero_safe(g, c.xp.divide(g, 1.0 + x * x)), pure=True)
def atan(c: Value, x: Value) -> Value:
    """The angle in [-π/2, π/2] of which x is the tangent.

    Derivative: g / (1 + x²).
    Shapes: that of x.
    >>> atan(0.0).predict().run()
    0.0

    Source: Python array API standard, `atan`.
    """
    return c.xp.atan(x)


@elementwise(lambda c, g, y, x: c.xp.nonzero_safe(g, g * c.xp.cosh(x)), pure=True)
def sinh(c: Value, x: Value) -> Value:
    """The hyperbolic sine; infinite on overflow.

    Derivative: g cosh(x).
    Shapes: that of x.
    >>> sinh(0.0).predict().run()
    0.0

    Source: Python array API standard, `sinh`.
    """
    return c.xp.sinh(x)


@elementwise(lambda c, g, y, x: c.xp.nonzero_safe(g, g * c.xp.sinh(x)), pure=True)
def cosh(c: Value, x: Value) -> Value:
    """The hyperbolic cosine; infinite on overflow.

    Derivative: g sinh(x).
    Shapes: that of x.
    >>> cosh(0.0).predict().run()
    1.0

    Source: Python array API standard, `cosh`.
    """
    return c.xp.cosh(x)


@elementwise(lambda c, g, y, x: c.xp.nonzero_safe(g, c.xp.divide(g, c.xp.hypot(x, 1.0))), pure=True)
def asinh(c: Value, x: Value) -> Value:
    """The inverse of the hyperbolic sine.

    Derivative: g / √(x² + 1).
    Shapes: that of x.
    >>> asinh(0.0).predict().run()
    0.0

    Source: Python array API standard, `asinh`.
    """
    return c.xp.asinh(x)


@elementwise(
    lambda c, g, y, x: c.xp.nonzero_safe(g, c.xp.divide(g, c.xp.sqrt(x - 1.0) * c.xp.sqrt(x + 1.0))),
    pure=True,
)
def acosh(c: Value, x: Value) -> Value:
    """The inverse of the hyperbolic cosine; NaN below 1.

    Derivative: g / √(x² - 1); 0 where g is 0.
    Shapes: that of x.
    >>> acosh(1.0).predict().run()
    0.0

    Source: Python array API standard, `acosh`.
    """
    return c.xp.acosh(x)


@elementwise(lambda c, g, y, x: c.xp.nonzero_safe(g, c.xp.divide(g, (1.0 - x) * (1.0 + x))), pure=True)
def atanh(c: Value, x: Value) -> Value:
    """The inverse of the hyperbolic tangent; infinite at ±1, NaN outside of [-1, 1].

    Derivative: g / (1 - x²); 0 where g is 0.
    Shapes: that of x.
    >>> atanh(0.0).predict().run()
    0.0

    Source: Python array API standard, `atanh`.
    """
    return c.xp.atanh(x)


def _of_the_point(c: Value, g: Value, a: Value, b: Value) -> Value:
    """g a / (a² + b²), in two quotients, so that no square overflows; 0 at the origin, where there is no angle."""
    length = c.xp.hypot(a, b)
    length = c.xp.where(c.xp.equal(length, 0.0), 1.0, length)
    return c.xp.nonzero_safe(g, c.xp.divide(g * c.xp.divide(a, length), length))


@broadcasting(
    lambda c, g, y, a, b: _of_the_point(c, g, b, a),
    lambda c, g, y, a, b: -_of_the_point(c, g, a, b),
    pure=True,
)
def atan2(c: Value, a: Value, b: Value) -> Value:
    """The angle in [-π, π] of the point with ordinate a and abscissa b.

    Derivative: g b / (a² + b²), -g a / (a² + b²); 0 at the origin.
    Shapes: broadcast; one dtype. Raises ShapeError, DTypeError, DeviceError on the line of the call.
    >>> atan2(0.0, 2.0).predict().run()
    0.0

    Source: Python array API standard, `atan2`.
    """
    return c.xp.atan2(a, b)


def _share(c: Value, g: Value, y: Value, a: Value) -> Value:
    """g a / y, and 0 where y is."""
    return c.xp.nonzero_safe(g, g * c.xp.divide(a, c.xp.where(c.xp.equal(y, 0.0), 1.0, y)))


@broadcasting(lambda c, g, y, a, b: _share(c, g, y, a), lambda c, g, y, a, b: _share(c, g, y, b), pure=True)
def hypot(c: Value, a: Value, b: Value) -> Value:
    """√(a² + b²), without overflow.

    Derivative: g a / y, g b / y; 0 at the origin.
    Shapes: broadcast; one dtype. Raises ShapeError, DTypeError, DeviceError on the line of the call.
    >>> hypot(3.0, 4.0).predict().run()
    5.0

    Source: Python array API standard, `hypot`.
    """
    return c.xp.hypot(a, b)
