"""Functions of layers as blocks: traced for their types, called as cells.

Knows: what a function takes and gives, from a trace that computes nothing.
Refuses to know: formulas.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

from wengert.arrays.stated import stated_array
from wengert.errors import BlockError, WengertError
from wengert.fold.block import A, B, C, Leaf, Tensors, X, Y, Z
from wengert.fold.convert import tensor_type
from wengert.fold.machine import Run
from wengert.fold.solver import Solver, Use, known
from wengert.fold.tensors import zero_array
from wengert.fold.types import (
    ResultType,
    SequenceType,
    TensorType,
    TupleType,
    Value,
)
from wengert.graph import ArrayLayer
from wengert.graph.kinds import Column, Role, kind
from wengert.graph.operand import external, shown
from wengert.ops.families import Broadcasting, Elementwise, Reduction
from wengert.run.cell import cell


def _sample(of: ResultType) -> Value:
    """A value that has a type and is never computed, for the trace of a function."""
    if isinstance(of, TensorType):
        role = kind(Column.ARRAY, of.shape, stated_array(0, of.dtype).dtype, "cpu", Role.CONSTANT)
        return external(None, role) if of.floating else zero_array(of)
    if isinstance(of, TupleType):
        return tuple(_sample(t) for t in of.parts)
    if isinstance(of, SequenceType):
        raise BlockError("")
    return None


class Function(Leaf[A, B]):
    """A function of one example's layers, traced once for each type into a cell.

    A tuple enters as several arguments; nested tuples enter and leave as such.
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
        self: Function[Tensors, Tensors], function: Elementwise, name: str | None = None
    ) -> None: ...
    @overload
    def __init__(
        self: Function[tuple[Tensors, Tensors], Tensors], function: Broadcasting, name: str | None = None
    ) -> None: ...
    @overload
    def __init__(
        self: Function[Tensors, ArrayLayer[tuple[()], Any, Any]], function: Reduction, name: str | None = None
    ) -> None: ...
    @overload
    def __init__(self, function: Callable[[A], B], name: str | None = None) -> None: ...
    @overload
    def __init__(
        self: Function[tuple[X, Y], C], function: Callable[[X, Y], C], name: str | None = None
    ) -> None: ...
    @overload
    def __init__(
        self: Function[tuple[X, Y, Z], C], function: Callable[[X, Y, Z], C], name: str | None = None
    ) -> None: ...
    def __init__(self, function: Any, name: str | None = None) -> None:  # Any: typed by the overloads
        super().__init__(name, function=function)
        if not callable(function):
            raise BlockError(self.fault("it takes a function of layers"))
        self._function = function
        self._cell = cell(function)
        self._traced: dict[ResultType, ResultType] = {}
        self.settled()

    def constrain(self, solver: Solver, use: Use) -> None:
        def rule() -> bool:
            of = known(use.input)
            if of is None:
                return False
            solver.equal(use, "the output", use.output, "what the function gives", self._result(of))
            return True

        solver.wait(use, rule)

    def _result(self, of: ResultType) -> ResultType:
        """The type of what the function gives, from a trace; remembered."""
        if of not in self._traced:
            parts = list(of.terminal_types())
            if not parts or any(not isinstance(t, TensorType) for t in parts) or _has_sequence(of):
                raise BlockError(
                    self.fault(f"its input is {of}; a function takes a tensor, or a tuple of tensors")
                )
            sample = _sample(of)
            try:
                result = self._function(*sample) if isinstance(of, TupleType) else self._function(sample)
            except WengertError as error:
                error.add_note(f"while {self!r} was traced for {of}; the block was made at {self.site}")
                raise
            self._traced[of] = self._type_of(result)
        return self._traced[of]

    def _type_of(self, x: Value) -> ResultType:
        if isinstance(x, tuple) and x:
            return TupleType([self._type_of(part) for part in x])
        found = tensor_type(x)
        if found is None:
            raise BlockError(
                self.fault(f"it gave {shown(x)}; a function gives a layer, or a tuple of layers")
            )
        return found

    def value(self, use: Use, x: Value, run: Run) -> Value:
        if use.memo is None:
            floating = all(isinstance(t, TensorType) and t.floating for t in use.input.terminal_types())
            # integers make no layer, so a function of them is no cell: its operations are nodes of their own
            use.memo = self._cell if floating else self._function, isinstance(use.input, TupleType)
        function, several = use.memo
        return run.call(function, *x) if several else run.call(function, x)


def _has_sequence(of: ResultType) -> bool:
    return isinstance(of, SequenceType) or any(_has_sequence(t) for t in of.parts)
