"""Smooth activations, the error function that one of them is made of, and the gated linear unit.

Knows: formulas and derivatives; that a factor of exactly 0 wins over an infinite operand, as the limit does.
Refuses to know: activations with a kink, which are in `rectification`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final, Literal, overload

from wengert.arrays import Dv, S, T, Value
from wengert.errors import ArgumentError
from wengert.graph.apply import apply, binary, unary
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
from wengert.graph.operation import Operation, Rules
from wengert.ops.batching import aligned, by_elements
from wengert.ops.elementary import sigmoid
from wengert.ops.families import composed, elementwise
from wengert.ops.joining import split
from wengert.ops.kinds import broadcasting
from wengert.ops.kinds import elementwise as same_shape
from wengert.site import user_position

_FAR: Final = 1e4  # beyond it the gates below are 0 or 1 to the last bit, in both element types


def _bounded(c: Value, x: Value) -> Value:
    """x where a gate is neither 0 nor 1: instead of infinity, which times 0 is no number."""
    return c.xp.minimum(c.xp.maximum(x, -_FAR), _FAR)


@elementwise(lambda c, g, y, x: g * (2.0 / math.sqrt(math.pi) * c.xp.exp(-x * x)), pure=True)
def erf(c: Value, x: Value) -> Value:
    """The error function 2/√π ∫ exp(-t²) dt from 0 to x.

    Derivative: g 2/√π exp(-x²).
    Shapes: that of x.
    >>> erf(0.5).predict().run()
    0.5204998778130465

    Source: M. Abramowitz, I. Stegun, "Handbook of Mathematical Functions", 1964, 7.1.1.
    """
    return c.xp.erf(x)


@elementwise(lambda c, g, y, x: g * c.xp.sigmoid(x), pure=True)
def softplus(c: Value, x: Value) -> Value:
    """log(1 + exp(x)), without overflow.

    Derivative: g / (1 + exp(-x)).
    Shapes: that of x.
    >>> softplus(0.0).predict().run()
    0.6931471805599453

    Source: C. Dugas et al., "Incorporating Second-Order Functional Knowledge for Better Option Pricing", 2000.
    """
    return c.xp.maximum(x, 0.0) + c.xp.log1p(c.xp.exp(-c.xp.abs(x)))


@elementwise(lambda c, g, y, x: g * c.xp.sigmoid(-x), pure=True)
def log_sigmoid(c: Value, x: Value) -> Value:
    """-log(1 + exp(-x)), without overflow: the logarithm of a probability that is given by its logit.

    Derivative: g / (1 + exp(x)).
    Shapes: that of x.
    >>> log_sigmoid(0.0).predict().run()
    -0.6931471805599453

    Source: PyTorch, `torch.nn.functional.logsigmoid`; JAX, `jax.nn.log_sigmoid`.
    """
    return c.xp.minimum(x, 0.0) - c.xp.log1p(c.xp.exp(-c.xp.abs(x)))


@elementwise(lambda c, g, y, x: g / c.xp.square(1.0 + c.xp.abs(x)), pure=True)
def softsign(c: Value, x: Value) -> Value:
    """x / (1 + |x|).

    Derivative: g / (1 + |x|)².
    Shapes: that of x.
    >>> softsign(3.0).predict().run()
    0.75

    Source: X. Glorot, Y. Bengio, "Understanding the difficulty of training deep feedforward neural networks", 2010.
    """
    return x / (1.0 + c.xp.abs(x))


def _mish_gate(c: Value, x: Value) -> Value:
    """tanh(log(1 + exp(x))), without overflow."""
    return c.xp.tanh(c.xp.maximum(x, 0.0) + c.xp.log1p(c.xp.exp(-c.xp.abs(x))))


def _mish_delta(c: Value, g: Value, y: Value, x: Value) -> Value:
    gate = _mish_gate(c, x)
    return g * (gate + _bounded(c, x) * ((1.0 - gate * gate) * c.xp.sigmoid(x)))


@elementwise(_mish_delta, pure=True)
def mish(c: Value, x: Value) -> Value:
    """x tanh(log(1 + exp(x))).

    Derivative: g (t + x (1 - t²) s) with t = tanh(log(1 + exp(x))) and s = 1 / (1 + exp(-x)).
    Shapes: that of x.
    >>> mish(0.0).predict().run()
    0.0

    Source: D. Misra, "Mish: A Self Regularized Non-Monotonic Activation Function", 2019.
    """
    return c.xp.maximum(x, -_FAR) * _mish_gate(c, x)


def _silu_delta(c: Value, g: Value, y: Value, x: Value) -> Value:
    gate = c.xp.sigmoid(x)
    return g * (gate + _bounded(c, x) * (gate * (1.0 - gate)))


@elementwise(_silu_delta, pure=True)
def silu(c: Value, x: Value) -> Value:
    """x / (1 + exp(-x)), also called swish.

    Derivative: g (s + x s (1 - s)) with s = 1 / (1 + exp(-x)).
    Shapes: that of x.
    >>> silu(0.0).predict().run()
    0.0

    Source: D. Hendrycks, K. Gimpel, "Gaussian Error Linear Units", 2016.
    """
    return c.xp.maximum(x, -_FAR) * c.xp.sigmoid(x)


_SLOPE: Final = math.sqrt(2.0 / math.pi)
_CUBIC: Final = 0.044715


def _gate(c: Value, x: Value, *, approximate: str = "none") -> Value:
    """The probability that a standard normal number is less than x."""
    xp = c.xp
    if approximate == "tanh":
        return 0.5 + 0.5 * xp.tanh(_SLOPE * (x + _CUBIC * (x * x * x)))
    return 0.5 + 0.5 * xp.erf(math.sqrt(0.5) * x)


def _gate_delta(c: Value, g: Value, y: Value, x: Value, *, approximate: str = "none") -> Value:
    x = _bounded(c, x)
    if approximate == "tanh":
        density = y * (1.0 - y) * ((2.0 * _SLOPE) * (1.0 + (3.0 * _CUBIC) * (x * x)))
    else:
        density = (0.5 * _SLOPE) * c.xp.exp(-0.5 * (x * x))
    return g * density


def _same(kinds: Sequence[Kind], *, approximate: str = "none") -> Kind:
    return same_shape(kinds)


GELU_GATE: Final = Operation(
    "gelu_gate", Rules(_same, _gate, (_gate_delta,), batch=rowwise, ragged=by_elements, pure=True)
)  # a node of its own: its value is there on the way back, where the gate is needed once more
GELU: Final = Operation(
    "gelu",
    Rules(
        broadcasting,
        lambda c, x, gate: c.xp.maximum(x, -_FAR) * gate,
        (lambda c, g, y, x, gate: g * gate, lambda c, g, y, x, gate: g * _bounded(c, x)),
        broadcasts=True,  # for a launch in which one of the two is shared
        batch=aligned,
        ragged=by_elements,
        pure=True,
    ),
)
Approximation = Literal["none", "tanh"]


@overload
def gelu(x: ArrayExpression[S, T, Dv], /, *, approximate: Approximation = "none") -> ArrayLayer[S, T, Dv]: ...
@overload
def gelu(x: DoubleExpression, /, *, approximate: Approximation = "none") -> DoubleLayer: ...
@overload
def gelu(x: FloatExpression, /, *, approximate: Approximation = "none") -> FloatLayer: ...
def gelu(x: Any, /, *, approximate: str = "none") -> Any:  # Any: typed by the overloads
    """x Φ(x), Φ being the distribution function of the standard normal distribution.

    Φ(x) = (1 + erf(x/√2)) / 2; with approximate="tanh" it is (1 + tanh(√(2/π) (x + 0.044715 x³))) / 2.
    Derivative: g (Φ(x) + x Φ'(x)), of the form that is computed. Φ(x) is a node, `gelu_gate`, which the way back reads.
    Shapes: that of x. Raises ArgumentError for another approximation.
    >>> gelu(1.0).predict().run()
    0.841344746068543

    Source: D. Hendrycks, K. Gimpel, "Gaussian Error Linear Units", 2016.
    """
    if isinstance(approximate, str) and approximate == "none":
        gate = unary(GELU_GATE, x)
        return binary(GELU, gate.operands[0], gate)
    if not isinstance(approximate, str) or approximate != "tanh":
        raise ArgumentError(
            f"gelu: approximate is 'none' or 'tanh', got {shown(approximate)}\n  at {user_position()}"
        )
    gate = apply(GELU_GATE, (x,), (("approximate", approximate),))
    return binary(GELU, gate.operands[0], gate)


@composed
def glu(x: ArrayExpression[Any, T, Dv], /, *, axis: int = -1) -> ArrayLayer[Any, T, Dv]:
    """a / (1 + exp(-b)) of the two halves a and b of x along an axis: the gated linear unit.

    Derivative: g s for a, g a s (1 - s) for b, with s = 1 / (1 + exp(-b)).
    Shapes: (..., 2 n, ...) to (..., n, ...). Raises ShapeError for an axis of odd size or out of range.
    >>> import numpy as np
    >>> glu(np.array([4.0, 2.0, 0.0, 0.0])).predict().run().tolist()
    [2.0, 1.0]

    Source: Y. Dauphin et al., "Language Modeling with Gated Convolutional Networks", 2017.
    """
    value, gate = split(x, 2, axis=axis)
    return value * sigmoid(gate)
