"""The block: a typed function from data to layers, as a value; the wires between blocks; what is short for a block.

Knows: how blocks are joined by `>>` and by wires, declared, built and run; that tuples, dicts, lists and constants
are blocks.
Refuses to know: any single block.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, Literal, Self, TypeAlias, overload

from wengert.arrays import Float32, HostArray, is_array, is_float32
from wengert.control import Executor
from wengert.errors import BlockUseError, BlockValueError
from wengert.fold.convert import canonicalize_type, convert_to_type, tensor_type
from wengert.fold.inference import Classes, Inferred, Sides
from wengert.fold.plan import (
    BlockPlan,
    Example,
    Kept,
    Seeds,
    applied,
    depth_of,
    evaluated,
    made,
    planned,
    seeds,
)
from wengert.fold.types import ResultType, error_here
from wengert.generics import TypeVar
from wengert.graph import ArrayLayer
from wengert.graph.expressions import Predictable
from wengert.graph.node import Expression
from wengert.graph.operand import shown

A = TypeVar("A", contravariant=True)
B = TypeVar("B", covariant=True)

# Any: data, shapes and dtypes of every kind, where nothing is said
C = TypeVar("C", default=Any)
D = TypeVar("D", default=Any)
X = TypeVar("X", default=Any)
Y = TypeVar("Y", default=Any)
Z = TypeVar("Z", default=Any)
V = TypeVar("V", default=Any)
U = TypeVar("U", default=Any)
K = TypeVar("K", contravariant=True, default=Any)
Q = TypeVar("Q", covariant=True, default=Any)
Several: TypeAlias = Iterable[X]
Tensors: TypeAlias = ArrayLayer[Any, Any, Any]

Alone: TypeAlias = Literal[False] | None

# which block of the scope, 0 for the input, and the places in its output
Source: TypeAlias = tuple[int, *tuple[int | slice, ...]]
Read: TypeAlias = tuple[Inferred, tuple[Source, ...]]


class Wire(Generic[B]):
    """The output of a block in a composition; blocks are applied to it."""

    __slots__ = ("scope", "source")

    def __init__(self, scope: WireScope, source: Source) -> None:
        self.scope = scope
        self.source = source

    # Any: the parts after the one that is asked for
    @overload
    def __getitem__(self: Wire[tuple[X, *tuple[Any, ...]]], place: Literal[0], /) -> Wire[X]: ...
    @overload
    def __getitem__(self: Wire[tuple[Any, X, *tuple[Any, ...]]], place: Literal[1], /) -> Wire[X]: ...
    @overload
    def __getitem__(self: Wire[tuple[Any, Any, X, *tuple[Any, ...]]], place: Literal[2], /) -> Wire[X]: ...
    def __getitem__(self, place: int, /) -> Wire[Any]:
        """The wire of one part of a tuple."""
        if not isinstance(place, int):
            raise error_here(
                f"a part of a wire is asked for by its place; got {shown(place)}", BlockValueError
            )
        return Wire(self.scope, (*self.source, place))

    __iter__ = None  # with `__getitem__` alone Python would count upwards without an end

    def __repr__(self) -> str:
        return f"<wire {'.'.join(map(str, self.source))}>"


@dataclass(eq=False)
class WireScope:
    """The blocks of one composition with what they read."""

    blocks: list[Read] = field(default_factory=list)
    open: bool = True

    @staticmethod
    def of(wires: Sequence[Wire[Any]], block: object) -> WireScope:
        """The scope in which all wires lie."""
        for wire in wires:
            if not isinstance(wire, Wire):
                raise error_here(
                    f"{block!r} was called with {shown(wire)}: in a td.Function blocks are applied to layers, and in a "
                    f"td.composition they are applied to wires; for data write block.eval(x) or block.build(x)",
                    BlockUseError,
                )
            if not wire.scope.open or wire.scope is not wires[0].scope:
                raise error_here(f"{wire!r} belongs to another composition", BlockUseError)
        if not wires:
            raise error_here(f"{block!r} was called without a wire", BlockUseError)
        return wires[0].scope

    def read(self, block: Inferred, wires: Sequence[Wire[Any]]) -> Wire[Any]:
        """The wire that leaves `block` when these enter it."""
        self.blocks.append((block, tuple(wire.source for wire in wires)))
        return Wire(self, (len(self.blocks),))

    @property
    def input(self) -> Wire[Any]:
        """The wire that enters the composition."""
        return Wire(self, (0,))


# Any: blocks, and what is short for one, of every type; arrays of every shape and element type
AnyBlock: TypeAlias = "Block[Any, Any]"
Short: TypeAlias = (
    dict[Any, Any] | list[Any] | tuple[Any, ...] | float | Float32 | HostArray[Any, Any] | Expression
)
Convertible: TypeAlias = "AnyBlock | Short"
Pairs: TypeAlias = "Mapping[Any, Convertible] | Sequence[tuple[Any, Convertible]]"
# tuples that are short for a record, beyond those of two or three blocks
Longer: TypeAlias = "tuple[Convertible, Convertible, Convertible, Convertible, *tuple[Convertible, ...]]"
Nested: TypeAlias = "tuple[Convertible, Short] | tuple[Short, Convertible] | Triple"
Triple: TypeAlias = "tuple[Convertible, Convertible, Short] | tuple[Short, Convertible, Convertible] | Middle"
Middle: TypeAlias = "tuple[Convertible, Short, Convertible]"

# entered by the modules of the blocks: the chain of two, what a tuple or dict is, what a constant is
CONVERSIONS: Final[dict[str, Callable[..., Any]]] = {}  # Any: blocks of every type


class Block(Inferred, Generic[A, B]):
    """A typed function from data to layers.

    `build` computes nothing: its result runs under any executor. A block is never changed once it is made, has
    no parent, and may stand in any number of places, each with types of its own.
    >>> from wengert import fold as td
    >>> block = td.Scalar() >> td.Function(lambda x: x * 2.0)
    >>> block.eval(21).item(), block.input_type, block.output_type
    (42.0, PyObjectType(), TensorType((), 'float32'))

    Source: M. Looks et al., "Deep Learning with Dynamic Computation Graphs", 2017.
    """

    def __init__(self, name: str | None = None, /, **arguments: object) -> None:
        super().__init__(name, arguments)
        self._plans: dict[ResultType | None, BlockPlan] = {}

    def __getstate__(self) -> dict[str, Any]:  # Any: whatever the blocks keep
        return {**super().__getstate__(), "_plans": {}}  # plans are made anew, also of a copy

    # types

    def set_input_type(self, of: object) -> Self:
        """This block with an input of this type. Raises BlockError if it has another."""
        return self._with(canonicalize_type(convert_to_type(of)), None)

    def set_output_type(self, of: object) -> Self:
        """This block with an output of this type. Raises BlockError if it has another."""
        return self._with(None, canonicalize_type(convert_to_type(of)))

    def set_io_types(self, other: AnyBlock) -> Self:
        """This block with the types of another one."""
        return self._with(other.input_type, other.output_type)

    def _with(self, given: ResultType | None, result: ResultType | None) -> Self:
        for what, new, old in (("input", given, self.input_type), ("output", result, self.output_type)):
            if new is not None and old is not None and new != old:
                raise self.error(f"the {what} is {old}, and cannot be declared as {new}")
        return self._declaring((given or self.declared[0], result or self.declared[1]), self.classes)

    def set_input_type_classes(self, *classes: type[ResultType]) -> Self:
        """This block with an input whose type is of one of these classes. Raises BlockError if it is not."""
        return self._declaring(self.declared, (classes, self.classes[1]))

    def set_output_type_classes(self, *classes: type[ResultType]) -> Self:
        """This block with an output whose type is of one of these classes. Raises BlockError if it is not."""
        return self._declaring(self.declared, (self.classes[0], classes))

    def _declaring(self, declared: Sides, classes: tuple[Classes, Classes]) -> Self:
        made = copy.copy(self)
        made.declared, made.classes = declared, classes
        made.known_input = made.known_output = None
        return made.settled()

    # joining

    @overload
    def __rshift__(self, other: Block[B, C], /) -> Block[A, C]: ...
    @overload
    def __rshift__(
        self: Block[D, tuple[X, Y]], other: tuple[Block[X, C], Block[Y, Z]], /
    ) -> Block[D, tuple[C, Z]]: ...
    @overload
    def __rshift__(
        self: Block[D, tuple[X, Y, U]], other: tuple[Block[X, C], Block[Y, Z], Block[U, V]], /
    ) -> Block[D, tuple[C, Z, V]]: ...
    @overload  # Any: what the blocks of a longer or deeper tuple give
    def __rshift__(self, other: tuple[AnyBlock] | Longer | Nested, /) -> Block[A, tuple[Any, ...]]: ...
    @overload  # Any: a dict has values of many types under keys that no checker knows
    def __rshift__(self, other: Pairs, /) -> Block[A, tuple[Any, ...]]: ...
    @overload
    def __rshift__(self, other: float | HostArray[Any, Any], /) -> Block[A, Tensors]: ...
    def __rshift__(self, other: Any, /) -> Any:  # Any: typed by the overloads
        return CONVERSIONS["pipe"](self, other)

    @overload
    def __rrshift__(
        self: Block[tuple[C, Z], D], other: tuple[Block[X, C], Block[Y, Z]], /
    ) -> Block[tuple[X, Y], D]: ...
    @overload
    def __rrshift__(
        self: Block[tuple[C, Z, V], D], other: tuple[Block[X, C], Block[Y, Z], Block[U, V]], /
    ) -> Block[tuple[X, Y, U], D]: ...
    @overload  # Any: what the blocks of a tuple, each of its own type, read
    def __rrshift__(
        self: Block[Several[C], D], other: tuple[Block[Any, C], ...], /
    ) -> Block[tuple[Any, ...], D]: ...
    @overload  # Any: as above; a consumer of data takes no tuple of tensors, so it is not looked at here
    def __rrshift__(self: Block[tuple[Any, ...], D], other: Longer | Nested, /) -> Block[Any, D]: ...
    @overload  # Any: as above; a literal on the left of an operator has the type that its blocks have in common
    def __rrshift__(
        self: Block[tuple[Any, ...], D], other: Mapping[Any, object] | Sequence[tuple[Any, object]], /
    ) -> Block[Any, D]: ...
    @overload
    def __rrshift__(self: Block[Tensors, D], other: float | HostArray[Any, Any], /) -> Block[None, D]: ...
    def __rrshift__(self, other: Any, /) -> Any:  # Any: typed by the overloads
        return CONVERSIONS["pipe"](other, self)

    @overload
    def __call__(self, wire: Wire[A], /) -> Wire[B]: ...
    @overload
    def __call__(self: Block[tuple[X, Y], C], a: Wire[X], b: Wire[Y], /) -> Wire[C]: ...
    @overload
    def __call__(self: Block[tuple[X, Y, Z], C], a: Wire[X], b: Wire[Y], c: Wire[Z], /) -> Wire[C]: ...
    @overload
    def __call__(self, x: A, /) -> B: ...
    @overload
    def __call__(self: Block[tuple[X, Y], C], a: X, b: Y, /) -> C: ...
    def __call__(self, *given: Any) -> Any:  # Any: typed by the overloads
        """In a `td.composition`: the wire that leaves this block when these enter it; several are a tuple.

        Of layers or arrays, as in a `td.Function`: what this block computes of them.
        """
        types = [of for of in map(tensor_type, given) if of is not None]
        if given and len(types) == len(given):
            return applied(self, self._plans, given, types)
        return WireScope.of(given, self).read(self, given)

    def reads(self, *sources: object) -> Self:
        """In the scope of a `td.Composition`: connect these to this block; gives the block."""
        read: Self = CONVERSIONS["reads"](self, *sources)
        return read

    def __getitem__(self, key: Any, /) -> Any:  # Any: what a composition connects
        """For connections in a `td.Composition`: a part of what this block gives."""
        return CONVERSIONS["part"](self, key)

    __array_ufunc__ = None  # or numpy would join each element of an array to this block
    __iter__ = None  # with `__getitem__` alone Python would count upwards without an end

    def build(self, x: A, /, *, seed: Seeds | None = None) -> B:
        """The layers for one example; nothing is computed.

        Layers that draw random numbers do so if there is a seed, for training: give each step its own.
        Raises BlockError if a type is still unknown, or if the data are not what the blocks say.
        """
        layers: B = made(planned(self, self._plans, x), x, Example(seed=seeds(seed)))
        return layers

    @overload
    def eval(
        self: Block[X, Predictable[C]], x: X, /, executor: Executor | None = None, *, metrics: Alone = None
    ) -> C: ...
    @overload
    def eval(
        self: Block[X, tuple[Predictable[C], Predictable[D]]],
        x: X,
        /,
        executor: Executor | None = None,
        *,
        metrics: Alone = None,
    ) -> tuple[C, D]: ...
    @overload
    def eval(
        self: Block[X, tuple[Predictable[C], Predictable[D], Predictable[Y]]],
        x: X,
        /,
        executor: Executor | None = None,
        *,
        metrics: Alone = None,
    ) -> tuple[C, D, Y]: ...
    @overload  # Any: the structure that is built, with data in it; annotate what you get
    def eval(self, x: A, /, executor: Executor | None = None, *, metrics: Alone = None) -> Any: ...
    @overload  # Any: as above; data under each name
    def eval(
        self, x: A, /, executor: Executor | None = None, *, metrics: Literal[True]
    ) -> tuple[Any, dict[str, list[Any]]]: ...
    # Any: as typed
    def eval(self, x: Any, /, executor: Executor | None = None, *, metrics: bool | None = None) -> Any:
        """Build for one example and predict: arrays where layers are built, in the same structure.

        Of a block with metrics, or with `metrics=True`, that and what each `td.Metric` has kept, by its name. No
        checker knows which blocks have metrics: `metrics=False` is the structure alone, exactly as it is typed.
        """
        plan = planned(self, self._plans, x)
        wanted = bool(plan.metrics) if metrics is None else metrics
        kept: Kept | None = {name: [] for name in plan.metrics} if wanted else None
        result, data = evaluated(plan, x, executor, kept)
        return (result, dict(zip(kept, data, strict=True))) if kept is not None else result

    def max_depth(self, x: A, /, executor: Executor | None = None) -> int:
        """How many cells lie on the longest path to anything that is built or kept; data and weights are at 0.
        A block that waits for computed values is run for that.
        """
        return depth_of(planned(self, self._plans, x), x, executor)


def convert_to_block(x: object) -> AnyBlock:
    """The block that `x` is short for.

    A block is itself; a dict, a list of pairs or a tuple is a `Record`; a float, an array, a weight or a layer is
    a `FromTensor`. Raises BlockError for anything else.
    >>> from wengert import fold as td
    >>> td.convert_to_block((td.Scalar(), td.Vector(2)))
    <td.Record named_children=(<td.Scalar>, <td.Vector>)>
    """
    if isinstance(x, Block):
        return x
    if isinstance(x, (dict, list, tuple)):
        made: AnyBlock = CONVERSIONS["record"](x)
        return made
    if isinstance(x, (float, Expression)) or is_float32(x) or is_array(x):
        constant: AnyBlock = CONVERSIONS["constant"](x)
        return constant
    advice = "; write td.Function(f), or td.InputTransform(f) for data" * callable(x)
    raise error_here(f"{shown(x)} is no block{advice}")
