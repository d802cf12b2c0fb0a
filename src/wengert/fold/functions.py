"""Functions of layers as blocks: traced for their types, called as cells.

Knows: what a function takes and gives, from a trace that computes nothing.
Refuses to know: formulas.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, overload

from wengert.errors import BlockError
from wengert.fold.block import A, B, C, Tensors, X, Y, Z
from wengert.fold.code import Code, Written
from wengert.fold.integers import of_integers
from wengert.fold.solver import Solver, Use
from wengert.fold.structures import TupleType
from wengert.fold.traces import floating, traced_type
from wengert.fold.types import ResultType, StackedType, TensorType, Value
from wengert.graph import ArrayLayer
from wengert.graph.operand import shown
from wengert.ops import reshape
from wengert.ops.families import Broadcasting, Elementwise, Reduction


class Function(Written[A, B]):
    """A function of one example's layers, traced once for each type into a cell.

    A tuple enters as several arguments; nested tuples enter and leave as such. With `batched=True` the function is
    written for many examples, as Fold's are: the first axis of all that enters and leaves counts them.
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
    def __init__(
        self, function: Callable[[A], B], name: str | None = None, *, batched: bool = False
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
    def __init__(
        self, function: Any, name: str | None = None, *, batched: bool = False
    ) -> None:  # Any: typed by the overloads
        super().__init__(name, function=function)
        if not callable(function):
            raise BlockError(self.fault("it takes a function of layers"))
        self._function = partial(_of_one, function, self.fault) if batched else function
        self._cell = self.cell(self._function)
        self._traced: dict[ResultType, ResultType] = {}
        self.settled()

    def constrain(self, solver: Solver, use: Use) -> None:
        solver.gives(use, "what the function gives", self._result)

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
        function = self._cell if self._is_cell(use) else self._for(use.input)
        given = code.parts(x) if isinstance(use.input, TupleType) else x
        return code.value(f"{code.name(code.calls.cell(function, use.input, use.output))}({given})")

    def _is_cell(self, use: Use) -> bool:
        """Whether a call can be one node: not where the function gives integers, or asks for those that it takes."""
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


class ScopedLayer(Function[A, B]):
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
