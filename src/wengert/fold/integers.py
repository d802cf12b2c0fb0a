"""Operations on integers, which make no layers: they are data, and are computed while an example is built.

Knows: which operations of the library have an integer result, and what it is.
Refuses to know: blocks, and what has a derivative.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

from wengert.arrays import namespace_of
from wengert.errors import DTypeError
from wengert.fold.types import Value
from wengert.ops import abs, add, maximum, minimum, multiply, negative, sign, square, subtract


def _of_one_dtype(function: Callable[[Value, Value], Value]) -> Callable[[Value, Value], Value]:
    def of_two(a: Value, b: Value) -> Value:
        if a.dtype != b.dtype:
            raise DTypeError(f"dtypes {a.dtype} and {b.dtype} do not mix")
        return function(a, b)

    return of_two


# Any: operations are typed for layers
_OF_INTEGERS: Final[dict[Any, Callable[..., Value]]] = {
    abs: operator.abs,
    add: _of_one_dtype(operator.add),
    maximum: _of_one_dtype(lambda a, b: namespace_of(a).maximum(a, b)),
    minimum: _of_one_dtype(lambda a, b: namespace_of(a).minimum(a, b)),
    multiply: _of_one_dtype(operator.mul),
    negative: operator.neg,
    sign: lambda x: namespace_of(x).sign(x),
    square: lambda x: x * x,
    subtract: _of_one_dtype(operator.sub),
}


def of_integers(function: Callable[..., Value]) -> Callable[..., Value]:
    """What computes the same of integer arrays: of an operation its own rule, of any other function itself."""
    return next((rule for operation, rule in _OF_INTEGERS.items() if operation is function), function)


def joined(parts: tuple[Value, ...], axis: int) -> Value:
    """Arrays of integers joined along one axis; scalars count as vectors of one element."""
    return namespace_of(parts[0]).concat([x if x.shape else x.reshape((1,)) for x in parts], axis=axis)
