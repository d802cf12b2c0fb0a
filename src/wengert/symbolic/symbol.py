"""An expression as a rule for arrays meets it: operators, a shape, an element type, and no value.

Knows: that numpy broadcasts where the operations of people refuse to, so that shapes are made to fit first.
Refuses to know: which rule asks, and what the expression is for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NoReturn

from wengert import ops
from wengert.arrays import Value, is_array, is_float32, shape_of
from wengert.errors import ShapeError
from wengert.graph.kinds import Column, Kind, Shape
from wengert.graph.node import Expression
from wengert.graph.operand import lift_any
from wengert.ops import backward
from wengert.ops.kinds import broadcast_batch

_NUMBERS = (Column.DOUBLE, Column.FLOAT)


class Symbol:
    """An expression with the operators of arrays; each operator makes a node."""

    __slots__ = ("x",)
    __array_ufunc__: ClassVar[None] = None  # numpy's operators come to ours, its functions refuse

    def __init__(self, x: Any) -> None:  # Any: an expression with data of any column
        self.x = x

    def __add__(self, other: Value) -> Symbol:
        return _joined(ops.add, self, other)

    def __radd__(self, other: Value) -> Symbol:
        return _joined(ops.add, other, self)

    def __sub__(self, other: Value) -> Symbol:
        return _joined(ops.subtract, self, other)

    def __rsub__(self, other: Value) -> Symbol:
        return _joined(ops.subtract, other, self)

    def __mul__(self, other: Value) -> Symbol:
        return _product(self, other)

    def __rmul__(self, other: Value) -> Symbol:
        return _product(other, self)

    def __truediv__(self, other: Value) -> Symbol:
        return _joined(ops.divide, self, other)

    def __rtruediv__(self, other: Value) -> Symbol:
        return _joined(ops.divide, other, self)

    def __pow__(self, other: Value) -> Symbol:
        return _joined(ops.pow, self, other)

    def __rpow__(self, other: Value) -> Symbol:
        return _joined(ops.pow, other, self)

    def __matmul__(self, other: Value) -> Symbol:
        return Symbol(ops.matmul(self.x, bare(other)))

    def __rmatmul__(self, other: Value) -> Symbol:
        return Symbol(ops.matmul(bare(other), self.x))

    def __neg__(self) -> Symbol:
        return Symbol(ops.negative(self.x))

    def __abs__(self) -> Symbol:
        return Symbol(ops.abs(self.x))

    def __getitem__(self, key: Value) -> Symbol:
        return Symbol(ops.getitem(self.x, bare(key)))

    @property
    def shape(self) -> Shape:
        """The shape, which kinds fix for every run."""
        shape = known_shape(self.x)
        if shape is None:
            raise ShapeError(f"{self.x!r} has no shape")
        return shape

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def dtype(self) -> Any:  # Any: numpy's or cupy's
        return self.x.kind.dtype

    @property
    def T(self) -> Symbol:
        return Symbol(ops.permute_dims(self.x, tuple(reversed(range(self.ndim)))))

    # what a rule cannot decide by, or do outside its namespace, where there is no value yet
    def _refuse(self, *others: object) -> NoReturn:
        raise TypeError("it needs values, which an expression has only in a run")

    __bool__ = __float__ = __int__ = __index__ = __len__ = __iter__ = __array__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __eq__ = __ne__ = _refuse
    __hash__ = object.__hash__


def bare(x: Value) -> Value:
    """`x` with expressions in place of symbols."""
    if isinstance(x, Symbol):
        return x.x
    return type(x)(map(bare, x)) if isinstance(x, (tuple, list)) else x


def known_shape(x: Value) -> Shape | None:
    """The shape of an expression, of an array or of a number; None where data have none."""
    return x.kind.shape if isinstance(x, Expression) else shape_of(x)


def joint(*xs: Value) -> list[Value]:
    """Operands, bare, that the operations of people broadcast as numpy does: ranks that differ are made equal."""
    operands = [bare(x) for x in xs]
    shapes = [known_shape(x) for x in operands]
    known = [shape for shape in shapes if shape is not None]
    ranks = {len(shape) for shape in known if shape}
    if len(ranks) < 2 or len(known) < len(shapes) or broadcast_batch(*known) in known:
        return operands
    full = max(ranks)
    return [
        _reshaped(x, (1,) * (full - len(shape)) + shape) if 0 < len(shape) < full else x
        for x, shape in zip(operands, known, strict=True)
    ]


def _reshaped(x: Value, shape: Shape) -> Value:
    """An array, or a mask, which people cannot reshape, in another shape."""
    made: Any = lift_any(x)  # Any: of either kind
    if made.kind.column is not Column.MASK:
        return ops.reshape(made, shape)
    numbers: Any = ops.where(made, 1.0, 0.0)  # Any: of the rank of the mask
    return ops.not_equal(ops.reshape(numbers, shape), 0.0)


def _joined(function: Callable[..., Value], *xs: Value) -> Symbol:
    return Symbol(function(*joint(*xs)))


def _product(a: Value, b: Value) -> Symbol:
    """A product; of numbers and arrays one through which a delta of 0 stays 0, also beside an infinity."""
    others = any(map(_is_other, (bare(a), bare(b))))
    return _joined(ops.multiply if others else backward.safe_product, a, b)


def _is_other(x: Value) -> bool:
    """Whether an operand is of a user's type."""
    if isinstance(x, Expression):
        return x.kind.column is Column.OTHER
    return not (isinstance(x, (float, int)) or is_float32(x) or is_array(x))


def constant(value: float, of: Kind) -> Symbol:
    """A number as data of some kind."""
    return Symbol(backward.filled(value, of))


def fitted(delta: Value, of: Kind) -> Symbol:
    """The result of a rule, as the delta of an operand of kind `of`."""
    if not isinstance(delta, Symbol):
        return Symbol(lift_any(delta)) if is_array(delta) else constant(float(delta), of)
    got = delta.x.kind
    if of.column in _NUMBERS and got.column is Column.ARRAY:
        return Symbol(backward.item(delta.x))
    if of.column is Column.ARRAY and got.column in _NUMBERS:
        return delta * constant(1.0, of)
    if (got.shape, got.dtype) != (of.shape, of.dtype):
        raise ShapeError(f"it gave a delta of {got.text()} for an operand of {of.text()}")
    return delta
