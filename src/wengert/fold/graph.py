"""Compositions: any acyclic graph of blocks, as one block.

Knows: which wires enter which block, and that a block runs when its wires are there.
Refuses to know: what the blocks do, and how a graph is written down.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, overload

from wengert.errors import BlockError, BlockIndexError
from wengert.fold.block import A, AnyBlock, B, Block, D, X, Y, Z
from wengert.fold.code import Code, Written
from wengert.fold.convert import OBJECT, VOID
from wengert.fold.solver import Solver, Use
from wengert.fold.structures import SequenceType, TupleType
from wengert.fold.types import ResultType
from wengert.fold.unification import Unknown, resolved
from wengert.fold.wires import Read, Scope, Source, Wire
from wengert.graph.operand import shown
from wengert.site import user_position


class Wired(Written[A, B]):
    """Blocks in an order in which they can run, and what each of them reads."""

    def __init__(self, name: str | None, blocks: Sequence[Read], output: tuple[Source, ...]) -> None:
        super().__init__(name)
        self._read, self._output = tuple(blocks), output

    def same_input(self) -> Iterable[AnyBlock]:
        return [block for block, sources in self._read if sources == ((0,),)]

    def constrain(self, solver: Solver, use: Use) -> None:
        sides: list[ResultType] = [use.input]
        for block, sources in self._read:
            part = solver.use(block)
            use.parts.append(part)
            read = self._joined(solver, use, sides, sources)
            solver.equal(use, "a wire", read, f"the input of {block!r}", part.input)
            sides.append(part.output)
        made = self._joined(solver, use, sides, self._output)
        solver.equal(use, "what leaves", made, "its output", use.output)
        if not any(
            source[0] == 0 for _, sources in (*self._read, (self, self._output)) for source in sources
        ):
            solver.equal(use, "its input", use.input, "what it reads", VOID)

    def _joined(
        self, solver: Solver, use: Use, sides: list[ResultType], sources: tuple[Source, ...]
    ) -> ResultType:
        """The type of what a block reads: of one wire, of a tuple of several, or nothing."""
        found = []
        for place, *path in sources:
            of = sides[int(place)]
            for key in path:
                of = self._part(solver, use, of, key)
            found.append(of)
        if not found:
            return VOID
        return found[0] if len(found) == 1 else TupleType(found)

    def _part(self, solver: Solver, use: Use, of: ResultType, key: int | slice) -> ResultType:
        part = Unknown()

        def take(whole: ResultType) -> None:
            solver.equal(use, f"part {key} of a wire", self._taken(whole, key), "what is read", part)

        solver.when_begun(use, of, take)
        return part

    def _taken(self, whole: ResultType, key: int | slice) -> ResultType:
        if isinstance(whole, TupleType):
            if isinstance(key, int) and not -len(whole) <= key < len(whole):
                raise BlockIndexError(self.fault(f"a wire is {resolved(whole)}, which has no part {key}"))
            return whole[key]
        if whole == OBJECT:
            return OBJECT
        if type(whole) is SequenceType:
            return whole if isinstance(key, slice) else whole.item
        raise BlockError(self.fault(f"a wire is {resolved(whole)}, which has no parts"))

    def write(self, use: Use, code: Code, x: str) -> str:
        values = [x]
        for (_, sources), part in zip(self._read, use.parts, strict=True):
            values.append(code.ask(part, _value(code, values, sources)))
        return _value(code, values, self._output)


def _value(code: Code, values: list[str], sources: tuple[Source, ...]) -> str:
    read = [values[int(place)] + "".join(f"[{code.name(key)}]" for key in path) for place, *path in sources]
    if not read:
        return "None"
    return code.value(read[0]) if len(read) == 1 else code.tuple(read)


@overload
def composition(function: Callable[[Wire[X]], Wire[Y]], /) -> Block[X, Y]: ...
@overload
def composition(function: Callable[[Wire[X]], tuple[Wire[Y], Wire[Z]]], /) -> Block[X, tuple[Y, Z]]: ...
@overload
def composition(
    function: Callable[[Wire[X]], tuple[Wire[Y], Wire[Z], Wire[D]]], /
) -> Block[X, tuple[Y, Z, D]]: ...
def composition(function: Callable[[Wire[Any]], Any], /) -> AnyBlock:  # Any: typed by the overloads
    """A function of wires as a block: inside, blocks are applied to wires, each any number of times.

    `block(a, b)` reads the tuple of two wires, `wire[0]` is a part of one, and several wires may be returned.
    Raises BlockError where the function returns no wire of its own.
    >>> from wengert import add, fold as td
    >>> double, sum_ = td.Function(lambda x: x * 2.0), td.Function(add)
    >>> @td.composition
    ... def diamond(x: td.Wire[td.Tensors]) -> td.Wire[td.Tensors]:
    ...     return sum_(double(x), double(double(x)))
    >>> (td.Scalar() >> diamond).eval(5).item()
    30.0

    Source: TensorFlow Fold, `td.Composition`, in which a block has one place.
    """
    scope = Scope()
    name = getattr(function, "__name__", None)
    made = function(scope.input)
    wires = made if isinstance(made, tuple) else (made,)
    for wire in wires:
        if not isinstance(wire, Wire) or wire.scope is not scope:
            raise BlockError(
                f"td.composition: {name} returned {shown(made)}, which is no wire of this composition"
                f"\n  at {user_position()}"
            )
    scope.open = False
    block: AnyBlock = Wired(name, scope.blocks, tuple(wire.source for wire in wires))
    return block.settled()
