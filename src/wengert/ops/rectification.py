"""Activations that are x above 0 and something else below: leaky, exponential and hard ones.

Knows: formulas and derivatives, which of the two branches counts at 0, and that neither branch overflows where the
other one is taken.
Refuses to know: `relu`, which is elementary, and smooth activations.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from numbers import Real
from typing import Any, Final, overload

from wengert.arrays import Dv, S, T, Value
from wengert.errors import ArgumentError
from wengert.graph.apply import apply
from wengert.graph.batch import rowwise
from wengert.graph.expressions import (
    ArrayExpression,
    ArrayLayer,
    DoubleExpression,
    DoubleLayer,
    FloatExpression,
    FloatLayer,
)
from wengert.graph.kinds import Kind
from wengert.graph.operand import shown
from wengert.graph.operation import Operation, Rule, Rules
from wengert.ops import kinds
from wengert.ops.arithmetic import multiply
from wengert.ops.batching import by_elements
from wengert.ops.comparison import greater, where
from wengert.ops.families import composed, elementwise
from wengert.ops.kinds import ruled, shape_of_operand
from wengert.ops.manipulation import reshape
from wengert.site import user_position
from wengert_shapes import losses as rules


def _infer(operands: Sequence[Kind], **number: float) -> Kind:
    return kinds.elementwise(operands)


def _operation(name: str, value: Rule, delta: Rule) -> Operation:
    """An operation on each element that has a number besides."""
    return Operation(name, Rules(_infer, value, (delta,), batch=rowwise, ragged=by_elements, pure=True))


def _applied(operation: Operation, x: Value, name: str, number: float) -> Value:
    given: object = number
    if not isinstance(given, Real) or isinstance(given, bool) or not isfinite(given):
        raise ArgumentError(
            f"{operation.name}: {name} is a finite number; got {shown(given)}\n  at {user_position()}"
        )
    return apply(operation, (x,), ((name, float(given)),))


LEAKY_RELU: Final = _operation(
    "leaky_relu",
    lambda c, x, *, negative_slope: c.xp.where(c.xp.greater(x, 0.0), x, negative_slope * x),
    lambda c, g, y, x, *, negative_slope: c.xp.where(c.xp.greater(x, 0.0), g, negative_slope * g),
)


@overload
def leaky_relu(x: ArrayExpression[S, T, Dv], /, *, negative_slope: float = 0.01) -> ArrayLayer[S, T, Dv]: ...
@overload
def leaky_relu(x: DoubleExpression, /, *, negative_slope: float = 0.01) -> DoubleLayer: ...
@overload
def leaky_relu(x: FloatExpression, /, *, negative_slope: float = 0.01) -> FloatLayer: ...
def leaky_relu(x: Any, /, *, negative_slope: float = 0.01) -> Any:  # Any: typed by the overloads
    """x where it is greater than 0, x times a slope elsewhere.

    Derivative: g where x > 0, else g times the slope.
    Shapes: that of x. Raises ArgumentError for a slope that is no finite number.
    >>> leaky_relu(-2.0).predict().run()
    -0.02

    Source: A. Maas, A. Hannun, A. Ng, "Rectifier Nonlinearities Improve Neural Network Acoustic Models", 2013.
    """
    return _applied(LEAKY_RELU, x, "negative_slope", negative_slope)


def _elu(c: Value, x: Value, *, alpha: float) -> Value:
    return c.xp.maximum(x, 0.0) + alpha * c.xp.expm1(c.xp.minimum(x, 0.0))


def _elu_delta(c: Value, g: Value, y: Value, x: Value, *, alpha: float) -> Value:
    return c.xp.where(c.xp.greater(x, 0.0), g, g * (alpha * c.xp.exp(c.xp.minimum(x, 0.0))))


ELU: Final = _operation("elu", _elu, _elu_delta)


@overload
def elu(x: ArrayExpression[S, T, Dv], /, *, alpha: float = 1.0) -> ArrayLayer[S, T, Dv]: ...
@overload
def elu(x: DoubleExpression, /, *, alpha: float = 1.0) -> DoubleLayer: ...
@overload
def elu(x: FloatExpression, /, *, alpha: float = 1.0) -> FloatLayer: ...
def elu(x: Any, /, *, alpha: float = 1.0) -> Any:  # Any: typed by the overloads
    """x where it is greater than 0, alpha (exp(x) - 1) elsewhere.

    Derivative: g where x > 0, else g alpha exp(x).
    Shapes: that of x. Raises ArgumentError for an alpha that is no finite number.
    >>> elu(-1.0).predict().run()
    -0.6321205588285577

    Source: D. Clevert, T. Unterthiner, S. Hochreiter, "Fast and Accurate Deep Network Learning by Exponential Linear
    Units", 2016.
    """
    return _applied(ELU, x, "alpha", alpha)


def _celu(c: Value, x: Value, *, alpha: float) -> Value:
    return c.xp.maximum(x, 0.0) + alpha * c.xp.expm1(c.xp.minimum(x, 0.0) / alpha)


def _celu_delta(c: Value, g: Value, y: Value, x: Value, *, alpha: float) -> Value:
    return c.xp.where(c.xp.greater(x, 0.0), g, g * c.xp.exp(c.xp.minimum(x, 0.0) / alpha))


CELU: Final = _operation("celu", _celu, _celu_delta)


@overload
def celu(x: ArrayExpression[S, T, Dv], /, *, alpha: float = 1.0) -> ArrayLayer[S, T, Dv]: ...
@overload
def celu(x: DoubleExpression, /, *, alpha: float = 1.0) -> DoubleLayer: ...
@overload
def celu(x: FloatExpression, /, *, alpha: float = 1.0) -> FloatLayer: ...
def celu(x: Any, /, *, alpha: float = 1.0) -> Any:  # Any: typed by the overloads
    """x where it is greater than 0, alpha (exp(x / alpha) - 1) elsewhere: its derivative has no step at 0.

    Derivative: g where x > 0, else g exp(x / alpha).
    Shapes: that of x. Raises ArgumentError for an alpha that is no finite number greater than 0.
    >>> celu(-2.0, alpha=2.0).predict().run()
    -1.2642411176571153

    Source: J. Barron, "Continuously Differentiable Exponential Linear Units", 2017.
    """
    if isinstance(alpha, Real) and not alpha > 0.0:
        raise ArgumentError(f"celu: alpha is greater than 0; got {shown(alpha)}\n  at {user_position()}")
    return _applied(CELU, x, "alpha", alpha)


_SCALE: Final = 1.0507009873554804934193349852946  # with the next: a standard normal input stays one
_ALPHA: Final = 1.6732632423543772848170429916717


def _selu_delta(c: Value, g: Value, y: Value, x: Value) -> Value:
    below = g * ((_SCALE * _ALPHA) * c.xp.exp(c.xp.minimum(x, 0.0)))
    return c.xp.where(c.xp.greater(x, 0.0), _SCALE * g, below)


@elementwise(_selu_delta, pure=True)
def selu(c: Value, x: Value) -> Value:
    """s x where x is greater than 0, s a (exp(x) - 1) elsewhere, with s = 1.0507... and a = 1.6733...

    Derivative: g s where x > 0, else g s a exp(x).
    Shapes: that of x.
    >>> selu(1.0).predict().run()
    1.0507009873554805

    Source: G. Klambauer et al., "Self-Normalizing Neural Networks", 2017.
    """
    return _SCALE * c.xp.maximum(x, 0.0) + (_SCALE * _ALPHA) * c.xp.expm1(c.xp.minimum(x, 0.0))


def _hardswish_delta(c: Value, g: Value, y: Value, x: Value) -> Value:
    xp = c.xp
    between = g * (xp.minimum(xp.maximum(x, -3.0), 3.0) * (1.0 / 3.0) + 0.5)
    return xp.where(xp.greater(x, 3.0), g, xp.where(xp.less(x, -3.0), xp.zeros_like(g), between))


@elementwise(_hardswish_delta, pure=True)
def hardswish(c: Value, x: Value) -> Value:
    """x min(max(x + 3, 0), 6) / 6: `silu` of straight lines and a parabola.

    Derivative: 0 below -3, g above 3, and g (x / 3 + 1 / 2) between.
    Shapes: that of x.
    >>> hardswish(1.5).predict().run()
    1.125

    Source: A. Howard et al., "Searching for MobileNetV3", 2019.
    """
    xp = c.xp
    return xp.maximum(x, -3.0) * (xp.minimum(xp.maximum(x + 3.0, 0.0), 6.0) / 6.0)


@composed
def prelu(x: ArrayExpression[S, T, Dv], slope: ArrayExpression[Any, T, Dv], /) -> ArrayLayer[S, T, Dv]:
    """x where it is greater than 0, x times a learnt slope elsewhere: one slope for all, or one for each channel.

    Derivative: g or g times the slope for x; the sum of g x over all x that are not greater than 0 for a slope.
    Shapes: x (n, channels, ...) with slopes (channels,), or any x with (1,); result that of x. Raises ShapeError.
    >>> import numpy as np
    >>> prelu(np.array([[1.0, -2.0]]), np.array([0.5, 0.25])).predict().run().tolist()
    [[1.0, -0.5]]

    Source: K. He et al., "Delving Deep into Rectifiers", 2015.
    """
    shape, slopes = shape_of_operand(x), shape_of_operand(slope)
    ruled(rules.sloped, [shape, slopes])
    one = slopes == (1,)
    # Any: as x
    by_channel: Any = reshape(slope, (1,) * len(shape) if one else (-1, *(1,) * (len(shape) - 2)))
    made: ArrayLayer[S, T, Dv] = where(greater(x, 0.0), x, multiply(by_channel, x))
    return made
