"""The functions of `ScalarNamespace` for Python floats, with IEEE 754 results where `math` raises.

Knows: `math`.
Refuses to know: arrays. Functions that need axes do not exist here.
"""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable

from wengert.arrays.namespace import Shape, Value

_INF = math.inf
_NAN = math.nan
_exp = math.exp
_pow = math.pow

# Assigned as they are, because a Python function around each would double its cost.
abs = builtins.abs
tanh = math.tanh
erf = math.erf
atan = math.atan
asinh = math.asinh
atan2 = math.atan2
hypot = math.hypot
copysign = math.copysign
greater = operator.gt
greater_equal = operator.ge
less = operator.lt
less_equal = operator.le
equal = operator.eq
not_equal = operator.ne
logical_not = operator.not_
all_finite = math.isfinite


def two_norm(x: float, /) -> float:
    return builtins.abs(float(x))


def _nan_outside(function: Callable[[float], float]) -> Callable[[float], float]:
    """A function of `math` with NaN where its domain ends, and the infinity of its sign where it overflows."""

    def inside(x: float, /) -> float:
        try:
            return function(x)
        except ValueError:
            return _NAN
        except OverflowError:  # of what is odd or even: the sign is that of the value next to it
            return math.copysign(_INF, function(math.copysign(1.0, x)))

    return inside


asin, acos, acosh = map(_nan_outside, (math.asin, math.acos, math.acosh))
sin, cos, tan = map(_nan_outside, (math.sin, math.cos, math.tan))
sinh, cosh = map(_nan_outside, (math.sinh, math.cosh))


def _whole(function: Callable[[float], float]) -> Callable[[float], float]:
    """A function that rounds, with the sign of its operand at 0; infinities and NaN are themselves."""

    def rounded(x: float, /) -> float:
        return math.copysign(function(x), x) if math.isfinite(x) else x

    return rounded


floor, ceil, trunc, round = _whole(math.floor), _whole(math.ceil), _whole(math.trunc), _whole(builtins.round)


def atanh(x: float, /) -> float:
    try:
        return math.atanh(x)
    except ValueError:
        return math.copysign(_INF, x) if builtins.abs(x) == 1.0 else _NAN


def _logarithm(function: Callable[[float], float]) -> Callable[[float], float]:
    """A logarithm with -infinity at 0 and NaN below."""

    def of(x: float, /) -> float:
        try:
            return function(x)
        except ValueError:
            return -_INF if x == 0 else _NAN

    return of


log, log2, log10 = map(_logarithm, (math.log, math.log2, math.log10))


def sign(x: float, /) -> float:
    return 1.0 if x > 0 else -1.0 if x < 0 else x + 0.0


def square(x: float, /) -> float:
    return x * x


def sqrt(x: float, /) -> float:
    try:
        return math.sqrt(x)
    except ValueError:
        return _NAN


def exp(x: float, /) -> float:
    try:
        return _exp(x)
    except OverflowError:
        return _INF


def exp2(x: float, /) -> float:
    return pow(2.0, x)


def expm1(x: float, /) -> float:
    try:
        return math.expm1(x)
    except OverflowError:
        return _INF


def log1p(x: float, /) -> float:
    try:
        return math.log1p(x)
    except ValueError:
        return -_INF if x == -1 else _NAN


def sigmoid(x: float, /) -> float:
    try:
        return 1.0 / (1.0 + _exp(-x))
    except OverflowError:
        return 0.0


def relu(x: float, /) -> float:
    return x if x > 0.0 or x != x else 0.0


def pow(a: float, b: float, /) -> float:
    try:
        return _pow(a, b)
    except (ValueError, OverflowError) as error:
        return _pow_outside(a, b, overflow=isinstance(error, OverflowError))


def _pow_outside(a: float, b: float, overflow: bool) -> float:
    """`a ** b` where `math.pow` raises: a pole at 0, too large, or a root of a negative number."""
    if a != 0 and not overflow:
        return _NAN
    negative = math.copysign(1.0, a) < 0 and math.fmod(b, 2.0) in (1.0, -1.0)
    return -_INF if negative else _INF


def divide(a: float, b: float, /) -> float:
    try:
        return a / b
    except ZeroDivisionError:
        if a == 0 or a != a:
            return _NAN
        return math.copysign(_INF, a) * math.copysign(1.0, b)


def logaddexp(a: float, b: float, /) -> float:
    top, apart = maximum(a, b), -builtins.abs(a - b)
    return top if a == b == -_INF or top == _INF else top + math.log1p(_exp(apart))


def remainder(a: float, b: float, /) -> float:
    if b == 0 or a - a != 0:
        return _NAN
    left = math.fmod(a, b)
    return math.copysign(left, b) if left == 0 else left + b if (left < 0) != (b < 0) else left


def floor_divide(a: float, b: float, /) -> float:
    if b == 0 or a - a != 0 or b - b != 0:
        quotient = divide(a, b)
        return quotient if b == 0 else _NAN if a - a != 0 else floor(quotient) if quotient else _below(a, b)
    return a // b


def _below(a: float, b: float) -> float:
    """The quotient of a number and an infinity, rounded down."""
    return -1.0 if a != 0 and (a < 0) != (b < 0) else math.copysign(0.0, a) * math.copysign(1.0, b)


def maximum(a: float, b: float, /) -> float:
    return a if a >= b or a != a else b


def minimum(a: float, b: float, /) -> float:
    return a if a <= b or a != a else b


def where(condition: bool, a: float, b: float, /) -> float:
    return a if condition else b


def logical_and(a: bool, b: bool, /) -> bool:
    return a and b


def logical_or(a: bool, b: bool, /) -> bool:
    return a or b


def zeros_like(x: Value, /) -> float:
    return 0.0


def sum_to(g: float, shape: Shape, /) -> float:
    return g


def nonzero_safe(g: float, r: float, /) -> float:
    return r if g != 0 else 0.0


def item(x: float, dtype: Value, /) -> float:
    return x
