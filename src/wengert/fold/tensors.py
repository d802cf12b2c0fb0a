"""Blocks of tensors: there for every example, joined, stacked, or kept beside the result as metrics.

Knows: which layers zeros and joined tensors are; that all metrics under one name have one type.
Refuses to know: formulas, and what metrics are for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast, overload

from wengert.arrays import (
    ArrayLiteral,
    Dv,
    Float32,
    IntegerArray,
    S,
    T,
    is_array,
    is_float32,
    is_integer,
    namespace_of,
)
from wengert.arrays.stated import stated_array
from wengert.errors import BlockValueError
from wengert.fold.block import CONVERSIONS, Several, Tensors
from wengert.fold.calls import Calls, Direct
from wengert.fold.convert import OBJECT, VOID, convert_to_type, tensor_type, zeros_of_type
from wengert.fold.functions import data_of, floating, joined
from wengert.fold.inference import Solver, Unknown, Use, head, resolved, sequence_of
from wengert.fold.kinds import Code, Primitive, Written
from wengert.fold.plan import keep
from wengert.fold.types import ResultType, SequenceType, StackedType, TensorType, TupleType, Value
from wengert.generics import TypeVar
from wengert.graph import ArrayLayer, ArrayWeight
from wengert.graph.evidence import lift
from wengert.graph.node import Expression
from wengert.graph.operand import lift_any, shown
from wengert.ops import concat, reshape, stack

L = TypeVar("L", default=ArrayLayer)
Stacked = TypeVar("Stacked", default=ArrayLayer | IntegerArray)


class FromTensor(Written[object, L]):  # nothing is read, in a case or a record whatever is there
    """A literal or a weight, the same for every example; a float has rank 0 and is a float32.

    Raises BlockError for anything else, also for an int: its element type would be a guess.
    >>> from wengert import fold as td
    >>> td.FromTensor(1.5).eval(None).item()
    1.5

    Source: TensorFlow Fold, `td.FromTensor`.
    """

    @overload
    def __init__(
        self: FromTensor[ArrayLayer[tuple[()]]], tensor: float | Float32, name: str | None = None
    ) -> None: ...
    @overload
    def __init__(
        self: FromTensor[ArrayLayer[S, T, Dv]], tensor: ArrayWeight[S, T, Dv], name: str | None = None
    ) -> None: ...
    @overload  # Any: the shape of an array
    def __init__(
        self: FromTensor[ArrayLayer[Any, T, Dv]], tensor: ArrayLiteral[T, Dv], name: str | None = None
    ) -> None: ...
    @overload
    def __init__(self: FromTensor[IntegerArray], tensor: IntegerArray, name: str | None = None) -> None: ...
    @overload
    def __init__(
        self: FromTensor[ArrayLayer[S, T, Dv]], tensor: ArrayLayer[S, T, Dv], name: str | None = None
    ) -> None: ...
    def __init__(self, tensor: Any, name: str | None = None) -> None:  # Any: typed by the overloads
        super().__init__(name, tensor=tensor)
        if type(tensor) is float or is_float32(tensor):
            tensor = stated_array(tensor, "float32")
        if not isinstance(tensor, Expression) and not is_array(tensor):
            raise self.error(f"{shown(tensor)} is no tensor: give a float, an array, a weight or a layer")
        of = None if isinstance(tensor, Expression) else tensor_type(tensor)
        constant = of is not None and not of.floating  # integers make no layer
        self._tensor = stated_array(tensor, of.dtype) if of and constant else lift(cast(Any, tensor))
        self.settled()

    def constrain(self, solver: Solver, use: Use) -> None:
        of = tensor_type(self._tensor)
        assert of is not None, "checked when it was made"
        solver.equal(use, "the input", use.input, "what a constant reads", VOID)
        solver.equal(use, "the output", use.output, "the tensor", of)

    def write(self, use: Use, code: Code, x: str) -> str:
        return code.name(code.calls.constant(self._tensor, use.output))


class Concat(Primitive[Several[Any], Tensors]):  # Any: tensors of every shape, and tuples of them
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
        if not is_integer(concat_dim):
            raise self.error(f"an axis is an integer, not {shown(concat_dim)}")
        self._axis = int(concat_dim)
        self._flatten = flatten
        self._cell = self.cell(self._concat)
        self.settled()

    def constrain(self, solver: Solver, use: Use) -> None:
        solver.gives(use, "the joined tensor", self._joined)

    def _joined(self, of: ResultType) -> TensorType:
        if not isinstance(of, TupleType):
            raise self.error(f"its input is {of}; it joins a tuple of tensors")
        parts = list(of.terminal_types()) if self._flatten else list(of.parts)
        tensors = [_at_least_vector(t) for t in parts if isinstance(t, TensorType)]
        if not parts or len(tensors) < len(parts):
            nested = "; flatten=True takes nested tuples" * any(isinstance(t, TupleType) for t in parts)
            raise self.error(f"its input is {of}; it joins tensors, at least one{nested}")
        first, axis = tensors[0], self._axis
        if not 0 <= axis < first.ndim:
            raise self.error(f"a tensor of shape {first.shape} has no axis {axis}")
        for place, t in enumerate(tensors[1:], 1):
            around = (*t.shape[:axis], *t.shape[axis + 1 :]), (*first.shape[:axis], *first.shape[axis + 1 :])
            differ = {"dtypes": t.dtype != first.dtype, "numbers of axes": t.ndim != first.ndim}
            differ[f"sizes beside axis {axis}"] = around[0] != around[1]
            if any(differ.values()):
                what = next(name for name, found in differ.items() if found)
                raise self.error(
                    f"part 0 is {parts[0]} and part {place} is {parts[place]}, whose {what} differ"
                )
        total = sum(t.shape[axis] for t in tensors)
        return TensorType((*first.shape[:axis], total, *first.shape[axis + 1 :]), first.dtype)

    def direct(self, use: Use, calls: Calls) -> Direct:
        parts = TupleType(use.input.terminal_types())
        function = self._cell if floating(parts) else self._concat_integers
        join = calls.cell(function, parts, use.output)
        return (lambda x: join(*use.input.flatten(x))) if self._flatten else lambda x: join(*x)

    def function_of(self, use: Use) -> Callable[..., Value] | None:
        return self._concat if not self._flatten and floating(use.input) else None

    def _concat(self, *parts: Value) -> Value:
        vectors = [part if part.shape else reshape(part, (1,)) for part in parts]
        return concat(vectors, axis=self._axis) if len(vectors) > 1 else vectors[0]

    def _concat_integers(self, *parts: Value) -> Value:
        return joined(parts, self._axis)


def _at_least_vector(of: TensorType) -> TensorType:
    return of if of.shape else TensorType((1,), of.dtype)


class Zeros(Written[object, L]):  # as above
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

    def write(self, use: Use, code: Code, x: str) -> str:
        zeros, of = code.calls.constant(self._zeros, use.output), use.output
        if of.size is not None:
            return code.name(zeros)
        # a list may be changed
        return code.value(f"{code.name(lambda: of.unflatten(of.flatten(zeros), zeros))}()")


class Stack(Primitive[Several[Stacked], ArrayLayer[Any, Any, Any]]):  # Any: one axis more than L has
    """The tensors of a list as one tensor: the first axis is the list, and as long as that is in each example.

    Raises BlockError for an endless sequence, or what are no tensors; BlockValueError, when built, for an empty list.
    >>> from wengert import sum, fold as td
    >>> rows = td.Map(td.Vector(2)) >> td.Stack()
    >>> rows.eval([[1, 2], [3, 4]]).tolist(), rows.output_type
    ([[1.0, 2.0], [3.0, 4.0]], StackedType(TensorType((2,), 'float32')))
    >>> (rows >> td.Function(lambda x: sum(x, axis=0))).eval([[1, 2], [3, 4], [5, 6]]).tolist()
    [9.0, 12.0]

    Source: asked for by users of TensorFlow Fold, whose tensors have one shape for all examples.
    """

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name)
        self.settled()

    def constrain(self, solver: Solver, use: Use) -> None:
        item = Unknown()
        sequence_of(solver, use, "its input", use.input, item)

        def check(of: ResultType) -> None:
            if not isinstance(of, TensorType):
                raise self.error(f"it stacks tensors, and an element is {of}")
            solver.equal(use, "the output", use.output, "the stack", StackedType(of))

        solver.when_begun(item, check)

    def direct(self, use: Use, calls: Calls) -> Direct:
        rows = calls.rows(joined_rows, use.output)

        def stacked(x: Value) -> Value:
            elements = tuple(x)
            if not elements:
                raise self.error("an empty list has no stack", BlockValueError)
            return rows(elements)

        return stacked


def joined_rows(rows: Sequence[Value]) -> Value:
    """Rows as one tensor; rows of the data as one array, which is no node a list."""
    arrays = [data_of(x) for x in rows]
    if any(isinstance(x, Expression) for x in arrays):
        return stack(rows)
    joined = namespace_of(arrays[0]).stack(arrays)
    return lift_any(joined) if joined.dtype.kind == "f" else joined


class Unstack(Primitive[ArrayLayer[Any, Any, Any], "list[ArrayLayer[Any, Any, Any]]"]):  # Any: as in `Stack`
    """The slices of a tensor along its first axis as a list: the way back from `Stack` to blocks of elements.

    Raises BlockError for a scalar.
    >>> import wengert as wg
    >>> from wengert import fold as td
    >>> sums = td.Map(td.Scalar()) >> td.Stack() >> td.Function(wg.cumulative_sum) >> td.Unstack()
    >>> (sums >> td.Map(td.Function(wg.negative))).eval([1, 2, 3])
    [array(-1., dtype=float32), array(-3., dtype=float32), array(-6., dtype=float32)]

    Source: asked for by users of TensorFlow Fold, in which no tensor becomes a list.
    """

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name)
        self._rows = self.cell(_slices)
        self.settled()

    def constrain(self, solver: Solver, use: Use) -> None:
        def check(of: ResultType) -> None:
            if isinstance(of, TensorType) and of.ndim:
                row = TensorType(of.shape[1:], of.dtype)
            elif isinstance(of, StackedType):
                row = of.row
            else:
                raise self.error(f"its input is {of}; it takes a tensor with an axis to go along")
            solver.equal(use, "its output", use.output, "the list of slices", SequenceType(row))

        solver.when_begun(use.input, check)

    def direct(self, use: Use, calls: Calls) -> Direct:
        of = use.input
        if isinstance(of, TensorType) and of.shape[0]:
            row = TensorType(of.shape[1:], of.dtype)
            called = calls.cell(self._taken, of, TupleType([row] * of.shape[0]))
            return lambda x: list(called(x))
        return calls.parts(lambda x: list(self._taken(x)), self)

    def _taken(self, x: Value) -> tuple[Value, ...]:
        if not x.shape[0]:
            return ()
        taken: tuple[Value, ...] = (self._rows if x.dtype.kind == "f" else _slices)(x)
        return taken


def _slices(x: Value) -> tuple[Value, ...]:
    return tuple(x[i] for i in range(x.shape[0]))


CONVERSIONS["constant"] = FromTensor


class Metric(Primitive[Any, None]):  # Any: a tensor, or a tuple of one and of its label
    """Keeps a tensor, or a tensor and a label, under a name; gives nothing.

    `block.eval(x)` gives them beside the result, and batches have them, in the order in which blocks are asked.
    Raises BlockError for another input, and where one name has tensors of two types.
    >>> from wengert import fold as td
    >>> kept = td.Map(td.Scalar() >> td.AllOf(td.Metric("x"), td.Identity())) >> td.Void()
    >>> kept.eval([1, 2])
    (None, {'x': [array(1., dtype=float32), array(2., dtype=float32)]})

    Source: TensorFlow Fold, `td.Metric`.
    """

    def __init__(self, metric_name: str) -> None:
        super().__init__(metric_name)
        if not isinstance(metric_name, str):
            raise self.error(f"the name of a metric is a string, not {shown(metric_name)}")
        self._of = metric_name
        self.settled()

    def constrain(self, solver: Solver, use: Use) -> None:
        solver.equal(use, "its output", use.output, "what is left", VOID)
        kept = solver.metrics.setdefault(self._of, Unknown())

        def rule() -> bool:
            of = head(use.input)
            tensor = of
            if isinstance(of, TupleType) and len(of) == 2:
                tensor = head(of[0])
                solver.equal(use, "a label", of[1], "data", OBJECT)
            if isinstance(tensor, Unknown):
                return False
            if not isinstance(tensor, TensorType):
                raise self.error(f"its input is {resolved(of)}; it keeps a tensor, or a tensor and a label")
            solver.equal(use, f"a tensor under {self._of!r}", tensor, "another under that name", kept)
            return True

        solver.wait(rule)

    def direct(self, use: Use, calls: Calls) -> Direct:
        name = self._of
        if isinstance(use.input, TupleType):
            return lambda x: keep(name, *x)
        return lambda x: keep(name, x, None)
