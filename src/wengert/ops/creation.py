"""Arrays made of nothing but sizes and numbers, as literals with a typed shape.

Knows: the values.
Refuses to know: weights; arrays on a device, which `to_device` copies there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final, overload

from wengert.arrays import (
    FLOAT32,
    FLOAT64,
    HOST,
    Cpu,
    DType,
    Dv,
    Float32,
    Float64,
    S,
    T,
    Value,
    dtype_from,
    integer_array,
    is_integer,
    is_number,
)
from wengert.errors import ArgumentError, DTypeError
from wengert.generics import TypeVar
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
from wengert.graph.literals import literal
from wengert.graph.operand import shown
from wengert.graph.operation import Operation, Rules
from wengert.ops import kinds
from wengert.ops.families import elementwise
from wengert.ops.kinds import integers
from wengert.site import user_position

U = TypeVar("U", bound=Float32 | Float64, default=Float32)  # a default, as those before it have one


def _element_type(dtype: object, who: str) -> Value:
    wanted = dtype_from(dtype)
    if wanted is None or wanted not in (FLOAT32, FLOAT64):
        raise DTypeError(
            f"{who}: expected numpy.float32 or numpy.float64, got {shown(dtype)}\n  at {user_position()}"
        )
    return wanted


def _sizes(shape: int | tuple[int, ...], who: str) -> tuple[int, ...]:
    sizes = integers(shape, who)
    if any(n < 0 for n in sizes):
        raise ArgumentError(f"{who}: a size is 0 or more; got {sizes}\n  at {user_position()}")
    return sizes


def _number(x: object, who: str) -> float:
    if not is_number(x):
        raise ArgumentError(f"{who}: expected a finite number, got {shown(x)}\n  at {user_position()}")
    return float(x)


@overload
def zeros(shape: int | tuple[int, ...], /, *, dtype: type[U] | DType[U]) -> ArrayLayer[Any, U, Cpu]: ...
@overload
def zeros(shape: int | tuple[int, ...], /) -> ArrayLayer[Any, Float32, Cpu]: ...
def zeros(shape: int | tuple[int, ...], /, *, dtype: Any = Float32) -> Any:  # Any: typed by the overloads
    """An array of zeros.

    Derivative: none, it is a literal.
    Shapes: `shape`. Raises ArgumentError for a negative size, DTypeError for any other element
    type than numpy.float32 and numpy.float64.
    >>> zeros((2, 3)).shape
    (2, 3)

    Source: Python array API standard, `zeros`.
    """
    return literal(HOST.full(_sizes(shape, "zeros"), 0.0, _element_type(dtype, "zeros")))


@overload
def ones(shape: int | tuple[int, ...], /, *, dtype: type[U] | DType[U]) -> ArrayLayer[Any, U, Cpu]: ...
@overload
def ones(shape: int | tuple[int, ...], /) -> ArrayLayer[Any, Float32, Cpu]: ...
def ones(shape: int | tuple[int, ...], /, *, dtype: Any = Float32) -> Any:  # Any: typed by the overloads
    """An array of ones.

    Derivative: none, it is a literal.
    Shapes: `shape`. Raises ArgumentError for a negative size, DTypeError for any other element
    type than numpy.float32 and numpy.float64.
    >>> ones((2, 3)).shape
    (2, 3)

    Source: Python array API standard, `ones`.
    """
    return literal(HOST.full(_sizes(shape, "ones"), 1.0, _element_type(dtype, "ones")))


@overload
def full(
    shape: int | tuple[int, ...], fill_value: float, /, *, dtype: type[U] | DType[U]
) -> ArrayLayer[Any, U, Cpu]: ...
@overload
def full(shape: int | tuple[int, ...], fill_value: float, /) -> ArrayLayer[Any, Float32, Cpu]: ...
# Any: typed by the overloads
def full(shape: int | tuple[int, ...], fill_value: float, /, *, dtype: Any = Float32) -> Any:
    """An array of one number.

    Derivative: none, it is a literal.
    Shapes: `shape`. Raises ArgumentError for a negative size, DTypeError for any other element
    type than numpy.float32 and numpy.float64.
    >>> full(2, 0.5).predict().run().tolist()
    [0.5, 0.5]

    Source: Python array API standard, `full`.
    """
    value = _number(fill_value, "full")
    return literal(HOST.full(_sizes(shape, "full"), value, _element_type(dtype, "full")))


@overload
def eye(
    n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: type[U] | DType[U]
) -> ArrayLayer[Any, U, Cpu]: ...
@overload
def eye(n_rows: int, n_cols: int | None = None, /, *, k: int = 0) -> ArrayLayer[Any, Float32, Cpu]: ...
def eye(
    n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: Any = Float32
) -> Any:  # Any: typed by the overloads
    """Ones on a diagonal, the main one if k is 0, above it for a positive k; zeros elsewhere.

    Derivative: none, it is a literal.
    Shapes: (n_rows, n_cols), as many columns as rows if None. Raises ArgumentError for a negative
    size, DTypeError for any other element type than numpy.float32 and numpy.float64.
    >>> eye(2).predict().run().tolist()
    [[1.0, 0.0], [0.0, 1.0]]

    Source: Python array API standard, `eye`.
    """
    rows, columns = HOST.mesh(_sizes((n_rows, n_rows if n_cols is None else n_cols), "eye"))
    return literal(HOST.astype(columns - rows == k, _element_type(dtype, "eye")))


@overload
def arange(
    start: float, /, stop: float | None = None, step: float = 1.0, *, dtype: type[U] | DType[U]
) -> ArrayLayer[Any, U, Cpu]: ...
@overload
def arange(
    start: float, /, stop: float | None = None, step: float = 1.0
) -> ArrayLayer[Any, Float32, Cpu]: ...
def arange(
    start: float, /, stop: float | None = None, step: float = 1.0, *, dtype: Any = Float32
) -> Any:  # Any: typed by the overloads
    """Numbers from start on, each greater by step, before stop is reached; with one number those from 0 to it.

    Derivative: none, it is a literal.
    Shapes: ⌈(stop - start) / step⌉ elements. Raises ArgumentError for a step of 0 and for what is no number,
    DTypeError as `zeros`.
    >>> arange(3).predict().run().tolist()
    [0.0, 1.0, 2.0]

    Source: Python array API standard, `arange`.
    """
    first, last = (0.0, start) if stop is None else (start, stop)
    first, last, each = (_number(x, "arange") for x in (first, last, step))
    if each == 0.0:
        raise ArgumentError(f"arange: step is 0\n  at {user_position()}")
    (line,) = HOST.mesh((max(math.ceil((last - first) / each), 0),))
    return literal(HOST.astype(first + line * each, _element_type(dtype, "arange")))


@overload
def linspace(
    start: float, stop: float, /, num: int, *, endpoint: bool = True, dtype: type[U] | DType[U]
) -> ArrayLayer[Any, U, Cpu]: ...
@overload
def linspace(
    start: float, stop: float, /, num: int, *, endpoint: bool = True
) -> ArrayLayer[Any, Float32, Cpu]: ...
def linspace(
    start: float, stop: float, /, num: int, *, endpoint: bool = True, dtype: Any = Float32
) -> Any:  # Any: typed by the overloads
    """num numbers from start to stop, as far from each other; without `endpoint` stop is not among them.

    Derivative: none, it is a literal.
    Shapes: num elements. Raises ArgumentError for a negative num and for no numbers, DTypeError as `zeros`.
    >>> linspace(0.0, 1.0, 3).predict().run().tolist()
    [0.0, 0.5, 1.0]

    Source: Python array API standard, `linspace`.
    """
    (count,) = _sizes(num, "linspace")
    first, last = _number(start, "linspace"), _number(stop, "linspace")
    (line,) = HOST.mesh((count,))
    each = (last - first) / max(count - endpoint, 1)
    return literal(HOST.astype(first + line * each, _element_type(dtype, "linspace")))


def _frequencies(who: str, numbers: list[int], n: int, d: float, dtype: object) -> Any:  # Any: of that dtype
    distance = _number(d, who)
    if not is_integer(n) or int(n) < 1 or distance == 0.0:
        raise ArgumentError(
            f"{who}: expected at least one element at a distance that is not 0; got {shown(n)} at {shown(d)}\n"
            f"  at {user_position()}"
        )
    return literal(HOST.astype(integer_array(numbers) / (int(n) * distance), _element_type(dtype, who)))


@overload
def fftfreq(n: int, /, *, d: float = 1.0, dtype: type[U] | DType[U]) -> ArrayLayer[Any, U, Cpu]: ...
@overload
def fftfreq(n: int, /, *, d: float = 1.0) -> ArrayLayer[Any, Float32, Cpu]: ...
def fftfreq(n: int, /, *, d: float = 1.0, dtype: Any = Float32) -> Any:  # Any: typed by the overloads
    """The frequencies of `fft` of n elements at a distance d of each other: k / (n d), the negative ones last.

    Derivative: none, it is a literal.
    Shapes: (n,). Raises ArgumentError for an n below 1 and a d that is 0, DTypeError as `zeros`.
    >>> fftfreq(4, d=0.5).predict().run().tolist()
    [0.0, 0.5, -1.0, -0.5]

    Source: Python array API standard, `fft.fftfreq`.
    """
    count = int(n) if is_integer(n) else 0
    half = (count + 1) // 2
    return _frequencies("fftfreq", [*range(half), *range(half - count, 0)], n, d, dtype)


@overload
def rfftfreq(n: int, /, *, d: float = 1.0, dtype: type[U] | DType[U]) -> ArrayLayer[Any, U, Cpu]: ...
@overload
def rfftfreq(n: int, /, *, d: float = 1.0) -> ArrayLayer[Any, Float32, Cpu]: ...
def rfftfreq(n: int, /, *, d: float = 1.0, dtype: Any = Float32) -> Any:  # Any: typed by the overloads
    """The frequencies of `rfft` of n elements at a distance d of each other: k / (n d) from 0 up.

    Derivative: none, it is a literal.
    Shapes: (⌊n / 2⌋ + 1,). Raises what `fftfreq` raises.
    >>> rfftfreq(4, d=0.5).predict().run().tolist()
    [0.0, 0.5, 1.0]

    Source: Python array API standard, `fft.rfftfreq`.
    """
    return _frequencies("rfftfreq", [*range(int(n) // 2 + 1)] if is_integer(n) else [], n, d, dtype)


@elementwise(detached=True, pure=True)
def zeros_like(c: Value, x: Value) -> Value:
    """Zeros of the shape and the element type of x.

    Derivative: none; nothing below gets a delta.
    Shapes: that of x.
    >>> zeros_like(2.0).predict().run()
    0.0

    Source: Python array API standard, `zeros_like`.
    """
    return c.xp.zeros_like(x)


@elementwise(detached=True, pure=True)
def ones_like(c: Value, x: Value) -> Value:
    """Ones of the shape and the element type of x.

    Derivative: none; nothing below gets a delta.
    Shapes: that of x.
    >>> ones_like(2.0).predict().run()
    1.0

    Source: Python array API standard, `ones_like`.
    """
    return c.xp.zeros_like(x) + 1.0


def _infer_full(operands: Sequence[Kind], *, fill_value: float) -> Kind:
    return kinds.elementwise(operands)


FULL_LIKE: Final = Operation(
    "full_like",
    Rules(
        _infer_full,
        lambda c, x, *, fill_value: fill_value - c.xp.zeros_like(x),  # 0.0 + -0.0 is 0.0
        detached=True,
        batch=rowwise,
        pure=True,
    ),
)


@overload
def full_like(x: ArrayExpression[S, T, Dv], /, fill_value: float) -> ArrayLayer[S, T, Dv]: ...
@overload
def full_like(x: DoubleExpression, /, fill_value: float) -> DoubleLayer: ...
@overload
def full_like(x: FloatExpression, /, fill_value: float) -> FloatLayer: ...
def full_like(x: Any, /, fill_value: float) -> Any:  # Any: typed by the overloads
    """One number in the shape and the element type of x.

    Derivative: none; nothing below gets a delta.
    Shapes: that of x. Raises ArgumentError for what is no number.
    >>> full_like(2.0, 0.5).predict().run()
    0.5

    Source: Python array API standard, `full_like`.
    """
    return apply(FULL_LIKE, (x,), (("fill_value", _number(fill_value, "full_like")),))
