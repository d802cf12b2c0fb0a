"""Elementary functions of one operand, and the two oldest activations.

Knows: formulas and derivatives; g is the delta that arrives at the result y.
Refuses to know: shapes, which no function here changes.
"""

from __future__ import annotations

import math
from typing import Final

from wengert.arrays import Value
from wengert.ops.families import elementwise

_LN2: Final = math.log(2.0)
_LN10: Final = math.log(10.0)


@elementwise(detached=True, pure=True)
def sign(c: Value, x: Value) -> Value:
    """-1, 0 or 1.

    Derivative: 0 everywhere, so that nothing below gets a delta.
    Shapes: that of x.
    >>> sign(-2.5).predict().run()
    -1.0

    Source: Python array API standard, `sign`.
    """
    return c.xp.sign(x)


@elementwise(lambda c, g, y, x: c.xp.nonzero_safe(g, c.xp.divide(g, 2.0 * y)), pure=True)
def sqrt(c: Value, x: Value) -> Value:
    """The square root; NaN for negative x.

    Derivative: g / (2 y); 0 where g is 0.
    Shapes: that of x.
    >>> sqrt(9.0).predict().run()
    3.0

    Source: Python array API standard, `sqrt`.
    """
    return c.xp.sqrt(x)


@elementwise(lambda c, g, y, x: c.xp.nonzero_safe(g, 2.0 * g * x), pure=True)
def square(c: Value, x: Value) -> Value:
    """x².

    Derivative: 2 g x.
    Shapes: that of x.
    >>> square(3.0).predict().run()
    9.0

    Source: Python array API standard, `square`.
    """
    return x * x


@elementwise(lambda c, g, y, x: c.xp.nonzero_safe(g, g * y), pure=True)
def exp(c: Value, x: Value) -> Value:
    """e to the power x; infinity on overflow, for numbers too.

    Derivative: g y.
    Shapes: that of x.
    >>> exp(0.0).predict().run()
    1.0

    Source: Python array API standard, `exp`.
    """
    return c.xp.exp(x)


@elementwise(lambda c, g, y, x: c.xp.nonzero_safe(g, c.xp.divide(g, x)), pure=True)
def log(c: Value, x: Value) -> Value:
    """The natural logarithm; -infinity at 0, NaN below.

    Derivative: g / x; 0 where g is 0.
    Shapes: that of x.
    >>> log(1.0).predict().run()
    0.0

    Source: Python array API standard, `log`.
    """
    return c.xp.log(x)


@elementwise(lambda c, g, y, x: c.xp.nonzero_safe(g, g * c.xp.exp(x)), pure=True)
def expm1(c: Value, x: Value) -> Value:
    """e to the power x, minus 1, exact near 0 too.

    Derivative: g exp(x).
    Shapes: that of x.
    >>> expm1(1e-12).predict().run()
    1.0000000000005e-12

    Source: Python array API standard, `expm1`.
    """
    return c.xp.expm1(x)


@elementwise(lambda c, g, y, x: c.xp.nonzero_safe(g, c.xp.divide(g, 1.0 + x)), pure=True)
def log1p(c: Value, x: Value) -> Value:
    """The natural logarithm of 1 + x, exact near 0 too; -infinity at -1, NaN below.

    Derivative: g / (1 + x); 0 where g is 0.
    Shapes: that of x.
    >>> log1p(1e-12).predict().run()
    9.999999999995e-13

    Source: Python array API standard, `log1p`.
    """
    return c.xp.log1p(x)


@elementwise(lambda c, g, y, x: c.xp.nonzero_safe(g, c.xp.divide(g, x * _LN2)), pure=True)
def log2(c: Value, x: Value) -> Value:
    """The logarithm to base 2; -infinity at 0, NaN below.

    Derivative: g / (x ln 2); 0 where g is 0.
    Shapes: that of x.
    >>> log2(8.0).predict().run()
    3.0

    Source: Python array API standard, `log2`.
    """
    return c.xp.log2(x)


@elementwise(lambda c, g, y, x: c.xp.nonzero_safe(g, c.xp.divide(g, x * _LN10)), pure=True)
def log10(c: Value, x: Value) -> Value:
    """The logarithm to base 10; -infinity at 0, NaN below.

    Derivative: g / (x ln 10); 0 where g is 0.
    Shapes: that of x.
    >>> log10(1000.0).predict().run()
    3.0

    Source: Python array API standard, `log10`.
    """
    return c.xp.log10(x)


@elementwise(lambda c, g, y, x: c.xp.nonzero_safe(g, g * (y * _LN2)), pure=True)
def exp2(c: Value, x: Value) -> Value:
    """2 to the power x; infinity on overflow, for numbers too.

    Derivative: g y ln 2.
    Shapes: that of x.
    >>> exp2(3.0).predict().run()
    8.0

    Source: C standard (ISO/IEC 9899:2018, 7.12.6.2), `exp2`; `numpy.exp2`.
    """
    return c.xp.exp2(x)


@elementwise(lambda c, g, y, x: c.xp.nonzero_safe(g, -g * (y * y)), pure=True)
def reciprocal(c: Value, x: Value) -> Value:
    """1 / x; infinite at 0.

    Derivative: -g / x²; 0 where g is 0.
    Shapes: that of x.
    >>> reciprocal(4.0).predict().run()
    0.25

    Source: Python array API standard, `reciprocal`.
    """
    return c.xp.divide(1.0, x)


@elementwise(lambda c, g, y, x: g, pure=True)
def positive(c: Value, x: Value) -> Value:
    """x, as a layer.

    Derivative: g.
    Shapes: that of x.
    >>> positive(-2.0).predict().run()
    -2.0

    Source: Python array API standard, `positive`.
    """
    return x


@elementwise(lambda c, g, y, x: c.xp.nonzero_safe(g, g * c.xp.cos(x)), pure=True)
def sin(c: Value, x: Value) -> Value:
    """The sine of an angle in radians; NaN for infinities.

    Derivative: g cos(x).
    Shapes: that of x.
    >>> sin(0.0).predict().run()
    0.0

    Source: Python array API standard, `sin`.
    """
    return c.xp.sin(x)


@elementwise(lambda c, g, y, x: c.xp.nonzero_safe(g, -g * c.xp.sin(x)), pure=True)
def cos(c: Value, x: Value) -> Value:
    """The cosine of an angle in radians; NaN for infinities.

    Derivative: -g sin(x).
    Shapes: that of x.
    >>> cos(0.0).predict().run()
    1.0

    Source: Python array API standard, `cos`.
    """
    return c.xp.cos(x)


@elementwise(lambda c, g, y, x: g * c.xp.sign(y), pure=True)
def relu(c: Value, x: Value) -> Value:
    """max(x, 0).

    Derivative: g where x > 0, else 0. It is computed from the result: g sign(y) is one pass.
    Shapes: that of x.
    >>> relu(-2.0).predict().run()
    0.0

    Source: V. Nair, G. Hinton, "Rectified Linear Units Improve Restricted Boltzmann Machines", 2010.
    """
    return c.xp.relu(x)


@elementwise(lambda c, g, y, x: g * (y * (1.0 - y)), pure=True)
def sigmoid(c: Value, x: Value) -> Value:
    """1 / (1 + exp(-x)), without overflow.

    Derivative: g y (1 - y).
    Shapes: that of x.
    >>> sigmoid(0.0).predict().run()
    0.5

    Source: D. Rumelhart, G. Hinton, R. Williams, "Learning representations by back-propagating errors", 1986.
    """
    return c.xp.sigmoid(x)


@elementwise(lambda c, g, y, x: g * (1.0 - y * y), pure=True)
def tanh(c: Value, x: Value) -> Value:
    """The hyperbolic tangent.

    Derivative: g (1 - y²).
    Shapes: that of x.
    >>> tanh(0.0).predict().run()
    0.0

    Source: Python array API standard, `tanh`.
    """
    return c.xp.tanh(x)


@elementwise(detached=True, pure=True)
def stop_gradient(c: Value, x: Value) -> Value:
    """x, as a constant.

    Derivative: none; nothing below gets a delta through here, and no backward work is done for it.
    Shapes: that of x.
    >>> stop_gradient(3.0).predict().run()
    3.0

    Source: the field's usual name for cutting a graph.
    """
    return x
