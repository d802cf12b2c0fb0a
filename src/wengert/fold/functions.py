"""Functions of layers as blocks: traced for their types, called as cells; operations on integers, which make no layers.

Knows: what a function takes and gives, from a trace of sample layers that computes nothing; which operations of the
library have an integer result, computed while an example is built.
Refuses to know: formulas, and what has a derivative.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, overload

from wengert.arrays import Cpu, Floating, Gpu, namespace_of
from wengert.errors import BlockError, DTypeError
from wengert.fold.block import Block, C, K, Q, Tensors, X, Y, Z
from wengert.fold.convert import tensor_type, zero_array
from wengert.fold.inference import Solver, Use
from wengert.fold.kinds import Code, Written
from wengert.fold.types import ResultType, SequenceType, StackedType, TensorType, TupleType, Value
from wengert.generics import TypeVar
from wengert.graph import ArrayLayer
from wengert.graph.kinds import Column, Role, kind
from wengert.graph.node import Node
from wengert.graph.operand import LITERAL, external, shown
from wengert.ops import abs, add, maximum, minimum, multiply, negative, reshape, sign, square, subtract
from wengert.ops.families import Broadcasting, Elementwise, Reduction


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
    """A function of integer arrays: of an operation its own rule, any other one itself."""
    return next((rule for operation, rule in _OF_INTEGERS.items() if operation is function), function)


def joined(parts: tuple[Value, ...], axis: int) -> Value:
    """Arrays of integers joined along one axis; scalars count as vectors of one element."""
    return namespace_of(parts[0]).concat([x if x.shape else x.reshape((1,)) for x in parts], axis=axis)


# Any: the shape, dtype and device of what enters a lambda, which says nothing of them
P = TypeVar("P", bound=tuple[Any, ...], default=Any)
E = TypeVar("E", bound=Floating, default=Any)
I = TypeVar("I", bound=Cpu | Gpu, default=Any)

Fault = Callable[[str], str]
_ROWS = (5, 7)  # sizes of a stack to trace with: what is as long as the stack differs between them


def floating(of: ResultType) -> bool:
    """True if all tensors in a type are of floating numbers."""
    return all(isinstance(t, (TensorType, StackedType)) and t.floating for t in of.terminal_types())


def traced_type(function: Callable[..., Value], of: ResultType, fault: Fault) -> ResultType:
    """The type of what the function gives; of a stack, from two samples with different numbers of rows."""
    parts = list(of.terminal_types())
    if not parts or not all(isinstance(t, (TensorType, StackedType)) for t in parts) or _has_list(of):
        raise BlockError(fault(f"its input is {of}; a function takes a tensor, or a tuple of tensors"))
    sizes = _ROWS if any(isinstance(t, StackedType) for t in parts) else _ROWS[:1]
    results = []
    for rows in sizes:
        sample = _sample(of, rows)
        arguments = sample if isinstance(of, TupleType) else (sample,)
        _check_takes(function, arguments, of, fault)
        results.append(_type_of(function(*arguments), fault))
    return _common(results[0], results[-1], fault)


def _check_takes(
    function: Callable[..., Value], given: Sequence[Value], of: ResultType, fault: Fault
) -> None:
    """Refuse another number of arguments than the function has; what says nothing of that is called."""
    try:
        takes = inspect.signature(function)
    except ValueError:
        return
    try:
        takes.bind(*given)
    except TypeError as error:
        raise BlockError(
            fault(f"its input is {of}, and a function of {takes} does not take that: {error}")
        ) from None


def _has_list(of: ResultType) -> bool:
    return isinstance(of, SequenceType) or any(map(_has_list, of.parts))


def _sample(of: ResultType, rows: int) -> Value:
    """A value that has a type and is never computed."""
    if isinstance(of, StackedType):
        return _sample(of.of(rows), rows)
    if isinstance(of, TensorType):
        role = kind(Column.ARRAY, of.shape, zero_array(TensorType((), of.dtype)).dtype, "cpu", Role.CONSTANT)
        return external(None, role) if of.floating else zero_array(of)
    return tuple([_sample(t, rows) for t in of.parts]) if isinstance(of, TupleType) else None


def _type_of(x: Value, fault: Fault) -> ResultType:
    if isinstance(x, tuple) and x:
        return TupleType([_type_of(part, fault) for part in x])
    found = tensor_type(x)
    if found is None:
        raise BlockError(fault(f"it gave {shown(x)}; a function gives a layer, or a tuple of layers"))
    return found


def _common(a: ResultType, b: ResultType, fault: Fault) -> ResultType:
    """The type of two results that may differ in the number of rows."""
    if a == b:
        return a
    if isinstance(a, TupleType) and isinstance(b, TupleType) and len(a) == len(b):
        return TupleType([_common(x, y, fault) for x, y in zip(a, b, strict=True)])
    if isinstance(a, TensorType) and isinstance(b, TensorType) and a.ndim:
        rows = StackedType(TensorType(a.shape[1:], a.dtype))
        if (a, b) == (rows.of(_ROWS[0]), rows.of(_ROWS[1])):
            return rows
    raise BlockError(
        fault(
            f"of {_ROWS[0]} rows it makes {a}, and of {_ROWS[1]} rows {b}: only the first axis may be as long as a list"
        )
    )


class Function(Written[K, Q]):
    """A function of one example's layers, traced once for each type into a cell.

    A tuple enters as several arguments; nested tuples enter and leave as such. With `batched=True` the function is
    written for many examples, as Fold's are: the first axis of all that enters and leaves counts them. A block of
    tensors, such as `td.FC(3)`, may be called in it, and is, by itself, that block.
    Raises BlockError if it is not callable, if no tensor enters, or if what it gives is no layer.
    >>> import wengert as wg
    >>> from wengert import fold as td
    >>> (td.Record((td.Scalar(), td.Scalar())) >> td.Function(wg.multiply)).eval((2.0, 3.0)).item()
    6.0

    Source: TensorFlow Fold, `td.Function`, whose functions see a batch.
    """

    # an operation of the library is a family of functions, of which a checker would have to choose one
    @overload
    def __init__(
        self: Function[Tensors, Tensors],
        function: Elementwise,
        name: str | None = None,
        *,
        batched: bool = False,
    ) -> None: ...
    @overload
    def __init__(
        self: Function[tuple[Tensors, Tensors], Tensors],
        function: Broadcasting,
        name: str | None = None,
        *,
        batched: bool = False,
    ) -> None: ...
    @overload
    def __init__(
        self: Function[Tensors, ArrayLayer[tuple[()], Any, Any]],
        function: Reduction,
        name: str | None = None,
        *,
        batched: bool = False,
    ) -> None: ...
    @overload
    def __init__(self, function: Block[K, Q], name: str | None = None, *, batched: bool = False) -> None: ...
    @overload  # before the next: of a lambda without a type it computes with a layer, and not with anything
    def __init__(
        self: Function[ArrayLayer[P, E, I], C],
        function: Callable[[ArrayLayer[P, E, I]], C],
        name: str | None = None,
        *,
        batched: bool = False,
    ) -> None: ...
    @overload
    def __init__(
        self, function: Callable[[K], Q], name: str | None = None, *, batched: bool = False
    ) -> None: ...
    @overload
    def __init__(
        self: Function[tuple[X, Y], C],
        function: Callable[[X, Y], C],
        name: str | None = None,
        *,
        batched: bool = False,
    ) -> None: ...
    @overload
    def __init__(
        self: Function[tuple[X, Y, Z], C],
        function: Callable[[X, Y, Z], C],
        name: str | None = None,
        *,
        batched: bool = False,
    ) -> None: ...
    # Any: typed by the overloads
    def __init__(self, function: Any, name: str | None = None, *, batched: bool = False) -> None:
        super().__init__(name, function=function)
        if not callable(function):
            raise self.error("it takes a function of layers")
        self._layer = function if isinstance(function, Block) else None
        self._function = partial(_of_one, function, self.fault) if batched else function
        if self._layer is None:
            self._cell = self.cell(self._function)
        self._traced: dict[ResultType, ResultType] = {}
        self.settled()

    def constrain(self, solver: Solver, use: Use) -> None:
        if self._layer is None:
            solver.gives(use, "what the function gives", self._result)
            return
        part = solver.part(use, self._layer)
        solver.equal(use, "its input", use.input, f"the input of {self._layer!r}", part.input)
        solver.equal(use, "its output", use.output, f"the output of {self._layer!r}", part.output)

    def _result(self, of: ResultType) -> ResultType:
        """The type of what the function gives, from a trace; remembered."""
        if of not in self._traced:
            try:
                self._traced[of] = traced_type(self._for(of), of, self.fault)
            except Exception as error:
                if not isinstance(error, BlockError):
                    error.add_note(f"while {self!r} was traced for {of}; the block was made at {self.site}")
                raise
        return self._traced[of]

    def write(self, use: Use, code: Code, x: str) -> str:
        if self._layer is not None:
            return code.ask(use.parts[0], x)
        function = self._cell if self._is_cell(use) else self._for(use.input)
        if function is self._cell and any(isinstance(t, StackedType) for t in use.input.terminal_types()):
            function = partial(_of_data, function)
        given = code.parts(x) if isinstance(use.input, TupleType) else x
        return code.value(f"{code.name(code.calls.cell(function, use.input, use.output))}({given})")

    def function_of(self, use: Use) -> Callable[..., Value] | None:
        if self._layer is not None:
            return use.parts[0].block.function_of(use.parts[0])
        tensors = list(use.input.terminal_types())
        return self._function if all(isinstance(t, TensorType) and t.floating for t in tensors) else None

    def _is_cell(self, use: Use) -> bool:
        """True if a call can be one node: not where the function gives integers, or asks for those that it takes."""
        if floating(use.input):
            return True
        try:
            return floating(use.output) and traced_type(self._cell, use.input, self.fault) == use.output
        except Exception:  # the function has been traced by itself; in a cell its integers have no value
            return False

    def _for(self, of: ResultType) -> Callable[..., Value]:
        """The function for inputs of a type, where it is no cell."""
        layers = any(isinstance(t, (TensorType, StackedType)) and t.floating for t in of.terminal_types())
        return self._function if layers else of_integers(self._function)


class ScopedLayer(Function[K, Q]):
    """A function with weights of its own, such as a cell of `wengert.nn`, as a block: all uses share its weights.

    Raises as `Function`.
    >>> import numpy as np
    >>> import wengert as wg
    >>> from wengert import fold as td, nn
    >>> linear = nn.Linear.make(wg.plugins.SGD(learning_rate=0.1), 2, 3, seed=0, name="linear")
    >>> layer = td.ScopedLayer(linear, name="layer")
    >>> (td.Vector(2) >> layer).eval([1, 2]).shape
    (3,)

    Source: TensorFlow Fold, `td.ScopedLayer`, which finds weights by the name of a scope.
    """

    @overload
    def __init__(
        self, function: Callable[[K], Q], name: str | None = None, *, batched: bool = False
    ) -> None: ...
    @overload
    def __init__(
        self: ScopedLayer[tuple[X, Y], C],
        function: Callable[[X, Y], C],
        name: str | None = None,
        *,
        batched: bool = False,
    ) -> None: ...
    def __init__(
        self, function: Any, name: str | None = None, *, batched: bool = False
    ) -> None:  # Any: typed by the overloads
        super().__init__(function, name, batched=batched)


def _of_data(function: Callable[..., Value], *given: Value) -> Value:
    """A cell of stacks of data: these are literals of the call, of which examples of unlike sizes have one table."""
    return function(*[data_of(x) for x in given])


def data_of(x: Value) -> Value:
    """The array of a layer that was made of data; anything else as it is."""
    return x.operands[0] if isinstance(x, Node) and x.signature.operation is LITERAL else x


def _of_one(function: Callable[..., Value], fault: Callable[[str], str], *given: Value) -> Value:
    """A function that is written for a batch, of a batch of one."""

    def first(x: Value) -> Value:
        if isinstance(x, tuple):
            return tuple(map(first, x))
        if not getattr(x, "shape", None) or x.shape[0] != 1:
            raise BlockError(
                fault(f"it gave {shown(x)}, which has no axis of the batch; it had a batch of 1")
            )
        return reshape(x, x.shape[1:])

    return first(function(*map(_batch_of_one, given)))


def _batch_of_one(x: Value) -> Value:
    if isinstance(x, tuple):
        return tuple(map(_batch_of_one, x))
    return reshape(x, (1, *x.shape))
