"""Blocks whose tensors are there for every example, and the one that joins tensors.

Knows: which layers zeros and joined tensors are.
Refuses to know: formulas.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

from typing_extensions import TypeVar

from wengert.arrays import is_array, is_float32
from wengert.arrays.stated import stated_array
from wengert.errors import BlockError
from wengert.fold.block import CONVERSIONS, Leaf, Tensors
from wengert.fold.convert import VOID, convert_to_type, tensor_type
from wengert.fold.machine import Run
from wengert.fold.solver import Solver, Use, known
from wengert.fold.types import (
    BroadcastSequenceType,
    PyObjectType,
    ResultType,
    SequenceType,
    TensorType,
    TupleType,
    Value,
)
from wengert.graph import ArrayLayer
from wengert.graph.node import Expression
from wengert.graph.operand import lift_any, shown
from wengert.ops import concat, reshape

L = TypeVar("L", default=ArrayLayer)


def zeros_of_type(of: ResultType, fault: Callable[[str], str]) -> Value:
    """Zeros in the structure of a type; recursive over the type, which a person has written."""
    if isinstance(of, TensorType):
        return lift_any(zero_array(of)) if of.floating else zero_array(of)
    if isinstance(of, TupleType):
        return tuple(zeros_of_type(t, fault) for t in of.parts)
    if isinstance(of, BroadcastSequenceType) or of == PyObjectType():
        raise BlockError(fault(f"there are no zeros of {of}"))
    return [] if isinstance(of, SequenceType) else None


def zero_array(of: TensorType) -> Value:
    """An array of zeros of a type."""
    row: Value = 0
    for n in reversed(of.shape):
        row = [row] * n
    array = stated_array(row, of.dtype)
    return array.reshape(of.shape)


class FromTensor(Leaf[None, L]):
    """A literal or a weight, the same for every example; a float has rank 0 and is a float32.

    Raises BlockError for anything else, also for an int: its element type would be a guess.
    >>> from wengert import fold as td
    >>> td.FromTensor(1.5).eval(None).item()
    1.5

    Source: TensorFlow Fold, `td.FromTensor`.
    """

    @overload
    def __init__(self: FromTensor[ArrayLayer[tuple[()]]], tensor: float, name: str | None = None) -> None: ...
    @overload
    def __init__(self, tensor: L, name: str | None = None) -> None: ...
    def __init__(self, tensor: Any, name: str | None = None) -> None:  # Any: typed by the overloads
        super().__init__(name, tensor=tensor)
        if type(tensor) is float or is_float32(tensor):
            tensor = stated_array(tensor, "float32")
        if not isinstance(tensor, Expression) and not is_array(tensor):
            raise BlockError(
                self.fault(f"{shown(tensor)} is no tensor: give a float, an array, a weight or a layer")
            )
        of = None if isinstance(tensor, Expression) else tensor_type(tensor)
        constant = of is not None and not of.floating  # integers make no layer
        self._tensor = stated_array(tensor, of.dtype) if of and constant else lift_any(tensor)
        self.settled()

    def constrain(self, solver: Solver, use: Use) -> None:
        of = tensor_type(self._tensor)
        assert of is not None, "checked when it was made"
        solver.equal(use, "the input", use.input, "what a constant reads", VOID)
        solver.equal(use, "the output", use.output, "the tensor", of)

    def value(self, use: Use, x: Value, run: Run) -> Value:
        return self._tensor


class Concat(Leaf[tuple[Any, ...], Tensors]):
    """The tensors of a tuple joined along one axis; scalars count as vectors of one element.

    With `flatten`, nested tuples are taken apart. Raises BlockError for an empty tuple, parts that are no tensors,
    ranks that are too low, and shapes or dtypes that differ.
    >>> from wengert import fold as td
    >>> (td.Record((td.Scalar(), td.Vector(2))) >> td.Concat()).eval((1, [2, 3])).tolist()
    [1.0, 2.0, 3.0]

    Source: TensorFlow Fold, `td.Concat`.
    """

    def __init__(self, concat_dim: int = 0, flatten: bool = False, name: str | None = None) -> None:
        super().__init__(name, concat_dim=concat_dim, flatten=flatten)
        self._axis = concat_dim
        self._flatten = flatten
        self.settled()

    def constrain(self, solver: Solver, use: Use) -> None:
        def rule() -> bool:
            of = known(use.input)
            if of is None:
                return False
            solver.equal(use, "the output", use.output, "the joined tensor", self._joined(of))
            return True

        solver.wait(use, rule)

    def _joined(self, of: ResultType) -> TensorType:
        if not isinstance(of, TupleType):
            raise BlockError(self.fault(f"its input is {of}; it joins a tuple of tensors"))
        parts = list(of.terminal_types()) if self._flatten else list(of.parts)
        tensors = [_at_least_vector(t) for t in parts if isinstance(t, TensorType)]
        if not parts or len(tensors) < len(parts):
            nested = "; flatten=True takes nested tuples" * any(isinstance(t, TupleType) for t in parts)
            raise BlockError(self.fault(f"its input is {of}; it joins tensors, at least one{nested}"))
        first, axis = tensors[0], self._axis
        if not 0 <= axis < first.ndim:
            raise BlockError(self.fault(f"a tensor of shape {first.shape} has no axis {axis}"))
        for t in tensors[1:]:
            around = (*t.shape[:axis], *t.shape[axis + 1 :]), (*first.shape[:axis], *first.shape[axis + 1 :])
            if t.dtype != first.dtype or t.ndim != first.ndim or around[0] != around[1]:
                raise BlockError(self.fault(f"{first} and {t} differ not only in the size of axis {axis}"))
        total = sum(t.shape[axis] for t in tensors)
        return TensorType((*first.shape[:axis], total, *first.shape[axis + 1 :]), first.dtype)

    def value(self, use: Use, x: Value, run: Run) -> Value:
        parts = use.input.flatten(x)
        shapes = [t.shape for t in use.input.terminal_types() if isinstance(t, TensorType)]

        def joined(*given: Value) -> Value:
            vectors = [
                part if shape else reshape(part, (1,)) for part, shape in zip(given, shapes, strict=True)
            ]
            return concat(vectors, axis=self._axis) if len(vectors) > 1 else vectors[0]

        return run.call(joined, *parts)


def _at_least_vector(of: TensorType) -> TensorType:
    return of if of.shape else TensorType((1,), of.dtype)


class Zeros(Leaf[None, L]):
    """Zeros of a type: of a tensor, a tuple of them; None for nothing, [] for a list.

    Raises BlockError where the type has an object, or an endless repetition, in it.
    >>> from wengert import fold as td
    >>> td.Zeros((td.VoidType(), "float32")).eval(None)
    (None, array(0., dtype=float32))

    Source: TensorFlow Fold, `td.Zeros`.
    """

    def __init__(self, of: object, name: str | None = None) -> None:
        self._of = convert_to_type(of)
        super().__init__(name, of=self._of)
        self._zeros = zeros_of_type(self._of, self.fault)
        self.settled()

    def constrain(self, solver: Solver, use: Use) -> None:
        solver.equal(use, "the input", use.input, "what a constant reads", VOID)
        solver.equal(use, "the output", use.output, "the zeros", self._of)

    def value(self, use: Use, x: Value, run: Run) -> Value:
        return self._zeros


CONVERSIONS["constant"] = FromTensor
