"""Compositions: any acyclic graph of blocks as one block, written as a function of wires or connection by connection.

Knows: which blocks and wires enter which block, which connections make a graph, and in which order its blocks run.
Refuses to know: what the blocks do.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, NoReturn, final, overload

from wengert.arrays import plain
from wengert.errors import BlockIndexError, BlockUseError, BlockValueError, WengertError
from wengert.fold.block import (
    CONVERSIONS,
    A,
    AnyBlock,
    B,
    Block,
    C,
    D,
    K,
    Q,
    Read,
    Source,
    Wire,
    WireScope,
    X,
    Y,
    Z,
    convert_to_block,
)
from wengert.fold.convert import OBJECT, VOID
from wengert.fold.inference import Inferred, Solver, Unknown, Use, is_void, resolved
from wengert.fold.joining import Identity
from wengert.fold.kinds import Code, Written
from wengert.fold.types import ResultType, SequenceType, TupleType, error_here
from wengert.graph.operand import shown


class Wired(Written[A, B]):
    """Blocks in an order in which they can run, and what each of them reads."""

    def __init__(
        self, name: str | None, blocks: Sequence[Read], output: tuple[Source, ...], inputs: int = 1
    ) -> None:
        super().__init__(name)
        self._read, self._output, self._inputs = tuple(blocks), output, inputs

    def same_input(self) -> Iterable[Inferred]:
        return [block for block, sources in self._read if sources == ((0,),)]

    def constrain(self, solver: Solver, use: Use) -> None:
        if self._inputs > 1:
            solver.when_begun(use.input, self._check_inputs)
        sides: list[ResultType] = [use.input]
        for block, sources in self._read:
            part = solver.part(use, block)
            read = self._joined(solver, use, sides, sources)
            solver.equal(use, "a wire", read, f"the input of {block!r}", part.input)
            sides.append(part.output)
        made = self._joined(solver, use, sides, self._output)
        solver.equal(use, "what leaves", made, "its output", use.output)
        if not any(
            source[0] == 0 for _, sources in (*self._read, (self, self._output)) for source in sources
        ):
            solver.equal(use, "its input", use.input, "what it reads", VOID)
        if self._inputs > 1:
            solver.assume(use.input, TupleType([Unknown() for _ in range(self._inputs)]))

    def _check_inputs(self, of: ResultType) -> None:
        if not (of == OBJECT or (isinstance(of, TupleType) and len(of) == self._inputs)):
            raise self.error(f"it has {self._inputs} inputs, and reads {resolved(of)}")

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

        solver.when_begun(of, take)
        return part

    def _taken(self, whole: ResultType, key: int | slice) -> ResultType:
        if isinstance(whole, TupleType):
            if isinstance(key, int) and not -len(whole) <= key < len(whole):
                raise self.error(f"a wire is {resolved(whole)}, which has no part {key}", BlockIndexError)
            return whole[key]
        if whole == OBJECT:
            return OBJECT
        if type(whole) is SequenceType:
            return whole if isinstance(key, slice) else whole.element_type
        raise self.error(f"a wire is {resolved(whole)}, which has no parts")

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
@overload
def composition(function: Callable[[Wire[X], Wire[C]], Wire[Y]], /) -> Block[tuple[X, C], Y]: ...
@overload
def composition(
    function: Callable[[Wire[X], Wire[C]], tuple[Wire[Y], Wire[Z]]], /
) -> Block[tuple[X, C], tuple[Y, Z]]: ...
@overload
def composition(function: Callable[[Wire[X], Wire[C], Wire[D]], Wire[Y]], /) -> Block[tuple[X, C, D], Y]: ...
def composition(function: Callable[..., Any], /) -> AnyBlock:  # Any: typed by the overloads
    """A function of wires as a block: inside, blocks are applied to wires, each any number of times.

    `block(a, b)` reads the tuple of two wires, `wire[0]` is a part of one, and several wires may be returned. Of a
    function of several wires the block reads a tuple.
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
    scope = WireScope()
    name = getattr(function, "__name__", None)
    inputs = _wires_of(function)
    made = function(*([scope.input] if inputs == 1 else [Wire(scope, (0, i)) for i in range(inputs)]))
    wires = made if isinstance(made, tuple) else (made,)
    for wire in wires:
        if not isinstance(wire, Wire) or wire.scope is not scope:
            raise error_here(
                f"td.composition: {name} returned {shown(made)}, which is no wire of this composition"
            )
    scope.open = False
    block: AnyBlock = Wired(name, scope.blocks, tuple(wire.source for wire in wires), inputs)
    return block.settled()


def _wires_of(function: Callable[..., object]) -> int:
    """How many wires a function takes: its parameters without defaults."""
    positional = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = inspect.signature(function).parameters.values()
    return len([p for p in parameters if p.kind in positional and p.default is p.empty]) or 1


_open: Final[ContextVar[tuple[Composition[Any, Any], ...]]] = ContextVar("open compositions", default=())


class Port(Identity[Any]):
    """The beginning or the end of a composition; it is none of its blocks."""

    def __init__(self, of: str, owner: Composition[Any, Any]) -> None:
        super().__init__(of)
        self.owner = owner


@final
class BlockPart:
    """A part of what a block of a composition gives."""

    def __init__(self, block: AnyBlock, path: tuple[int | slice, ...]) -> None:
        self.block, self.path = block, path

    def __repr__(self) -> str:
        return f"{self.block!r}" + "".join(f"[{key!r}]" for key in self.path)

    def __rshift__(self, other: object) -> NoReturn:
        raise error_here(
            f"{self!r} is a part of what a block gives, for connections in a td.Composition; "
            f"{self.block!r} >> td.GetItem({self.path[-1]!r}) is a block",
            BlockUseError,
        )

    def __getitem__(self, key: int | slice) -> BlockPart:
        return BlockPart(self.block, (*self.path, key))

    __iter__ = None  # with `__getitem__` alone Python would count upwards without an end


class Composition(Wired[K, Q]):
    """Blocks and the connections between them, as one block; each block has one place.

    `connect(a, b)` makes b read a, or the tuple of several; inside `with c.scope()` that is written `b.reads(a)`.
    `input` and `output` are the ends; a block that reads nothing needs no connection.
    Raises BlockValueError for a connection that no graph can have, BlockError where something is not connected,
    BlockUseError for `reads` outside of a scope. Once it has been used it cannot be changed.
    >>> from wengert import add, fold as td
    >>> double, triple, total = (td.Function(f) for f in (lambda x: x * 2.0, lambda x: x * 3.0, add))
    >>> diamond = td.Composition([total, triple, double])
    >>> with diamond.scope():
    ...     _ = double.reads(diamond.input), triple.reads(diamond.input)
    ...     _ = diamond.output.reads(total.reads(double, triple))
    >>> (td.Scalar() >> diamond).eval(5).item()
    25.0

    Source: TensorFlow Fold, `td.Composition`.
    """

    def __init__(self, children: Iterable[AnyBlock] | None = None, name: str | None = None) -> None:
        super().__init__(name, (), ())
        self.input, self.output = Port("input", self), Port("output", self)
        self._children: dict[int, AnyBlock] = {}
        self._sources: dict[int, list[BlockPart]] = {}
        self._frozen = False
        for child in children or ():
            self._add(convert_to_block(child))

    def __getstate__(self) -> dict[str, Any]:  # Any: as in `Block`; identities do not outlive a process
        blocks = {**self._children, id(self.output): self.output}
        sources = [(blocks[key], parts) for key, parts in self._sources.items()]
        return {**super().__getstate__(), "_children": [*self._children.values()], "_sources": sources}

    def __setstate__(self, state: dict[str, Any]) -> None:
        children = {id(block): block for block in state["_children"]}
        sources = {id(block): parts for block, parts in state["_sources"]}
        self.__dict__.update(state, _children=children, _sources=sources)

    def connect(self, source: object, target: AnyBlock) -> None:
        """Make `target` read `source`: a block, a part of one, or a tuple of those."""
        if self._frozen:
            raise self._wrong("it has been used, and cannot be changed any more")
        sources = [_part(x) for x in (source if isinstance(source, tuple) else (source,))]
        for part in sources:
            if part.block is self.output:
                raise self._wrong("its output cannot be read inside of it")
            self._own(part.block)
        if target is self.input:
            raise self._wrong("its input cannot be written inside of it")
        self._own(target)
        if id(target) in self._sources:
            raise self._wrong(f"{target!r} is connected already")
        for block in (target, *(part.block for part in sources)):
            self._add(block)
        self._sources[id(target)] = sources

    @contextmanager
    def scope(self) -> Generator[Composition[K, Q], None, None]:
        """The context in which `block.reads(...)` connects in this composition; the last one opened ends first."""
        inside = (*_open.get(), self)
        _open.set(inside)
        try:
            yield self
            if _open.get() != inside:
                raise self.error("its scope ends before one that was opened inside of it", BlockUseError)
        finally:
            _open.set(tuple(some for some in _open.get() if some is not self))

    def constrain(self, solver: Solver, use: Use) -> None:
        self._freeze()
        super().constrain(solver, use)

    def same_input(self) -> Iterable[Inferred]:
        self._freeze()
        return super().same_input()

    def _freeze(self) -> None:
        if not self._frozen:
            self._read, self._output = self._ordered()
            self._frozen = True

    def _own(self, block: AnyBlock) -> None:
        if isinstance(block, Port) and block.owner is not self:
            raise self._wrong(f"{block!r} belongs to another composition")

    def _add(self, block: AnyBlock) -> None:
        if not isinstance(block, Port):
            self._children[id(block)] = block

    def _ordered(self) -> tuple[tuple[Read, ...], tuple[Source, ...]]:
        """The blocks, each after what it reads."""
        if id(self.output) not in self._sources:
            raise self.error("nothing is connected to its output")
        self._check_all_used()
        places = {id(self.input): 0}
        waiting = dict(self._children)
        ordered: list[Read] = []
        while waiting:
            ready = [
                b
                for b in waiting.values()
                if all(id(p.block) in places for p in self._sources.get(id(b), ()))
            ]
            if not ready:
                inside = ", ".join(map(repr, waiting.values()))
                raise self.error(f"its connections are a cycle, through {inside}", BlockValueError)
            for block in ready:
                ordered.append((block, self._sources_of(block, places)))
                places[id(block)] = len(ordered)
                del waiting[id(block)]
        return tuple(ordered), self._sources_of(self.output, places)

    def _sources_of(self, block: AnyBlock, places: dict[int, int]) -> tuple[Source, ...]:
        return tuple((places[id(part.block)], *part.path) for part in self._sources.get(id(block), ()))

    def _check_all_used(self) -> None:
        read = {id(part.block) for parts in self._sources.values() for part in parts}
        for key, block in self._children.items():
            if key not in read and block.output_type != VOID:
                raise self.error(f"nothing reads the output of {block!r}")
            if key not in self._sources and not is_void(block.input_type):
                raise self.error(f"{block!r} is not connected to anything that it reads")

    def _wrong(self, text: str) -> WengertError:
        return error_here(f"{self!r}: {text}", BlockValueError)


def _part(x: object) -> BlockPart:
    return x if isinstance(x, BlockPart) else BlockPart(convert_to_block(x), ())


def _reads(block: AnyBlock, *sources: object) -> AnyBlock:
    if not _open.get():
        raise error_here(f"{block!r}.reads has a meaning only in the scope of a composition", BlockUseError)
    _open.get()[-1].connect(sources, block)
    return block


def _taken(block: AnyBlock, key: object) -> BlockPart:
    place = plain(key)
    if not isinstance(place, (int, slice)):
        raise error_here(f"{block!r} has no part {shown(key)}: parts have places")
    return BlockPart(block, (place,))


CONVERSIONS["reads"] = _reads
CONVERSIONS["part"] = _taken
