"""The functions of `ScalarNamespace` for Python floats, with IEEE 754 results where `math` raises.

Knows: `math`.
Refuses to know: arrays. Functions that need axes do not exist here.
"""

from __future__ import annotations

import builtins
import math
import operator

from wengert.arrays.namespace import Shape, Value

_INF = math.inf
_NAN = math.nan
_exp = math.exp
_pow = math.pow

# Assigned as they are, because a Python function around each would double its cost.
abs = builtins.abs
tanh = math.tanh
erf = math.erf
greater = operator.gt
greater_equal = operator.ge
less = operator.lt
less_equal = operator.le
equal = operator.eq
not_equal = operator.ne
logical_not = operator.not_
all_finite = math.isfinite


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


def expm1(x: float, /) -> float:
    try:
        return math.expm1(x)
    except OverflowError:
        return _INF


def log(x: float, /) -> float:
    try:
        return math.log(x)
    except ValueError:
        return -_INF if x == 0 else _NAN


def log1p(x: float, /) -> float:
    try:
        return math.log1p(x)
    except ValueError:
        return -_INF if x == -1 else _NAN


def sin(x: float, /) -> float:
    try:
        return math.sin(x)
    except ValueError:
        return _NAN


def cos(x: float, /) -> float:
    try:
        return math.cos(x)
    except ValueError:
        return _NAN


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
