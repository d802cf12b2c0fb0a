"""Blocks one after the other, and side by side: of one input, or each of its own part.

Knows: that the output of one block is the input of the next; which part of an input a block reads, by key or by place.
Refuses to know: what the blocks inside do.
"""

from __future__ import annotations

from abc import ABCMeta
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import takewhile
from operator import itemgetter
from typing import Any, ClassVar, TypeAlias, overload

from wengert.errors import BlockKeyError, BlockStateError
from wengert.fold.block import (
    CONVERSIONS,
    A,
    AnyBlock,
    B,
    Block,
    C,
    Convertible,
    D,
    K,
    Longer,
    Nested,
    Pairs,
    Q,
    Short,
    U,
    X,
    Y,
    Z,
    convert_to_block,
)
from wengert.fold.convert import OBJECT, VOID
from wengert.fold.inference import Solver, Unknown, Use, head, is_void, resolved, unify
from wengert.fold.items import taken
from wengert.fold.kinds import Code, Written
from wengert.fold.types import ResultType, TupleType
from wengert.graph.operand import shown


class Identity(Written[X, X]):
    """The input, unchanged.

    >>> from wengert import fold as td
    >>> td.Identity().eval("foo")
    'foo'

    Source: TensorFlow Fold, `td.Identity`.
    """

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name)
        self.settled()

    def constrain(self, solver: Solver, use: Use) -> None:
        solver.equal(use, "the input", use.input, "the output", use.output)

    def write(self, use: Use, code: Code, x: str) -> str:
        return x


class Void(Written[object, None]):
    """A block that takes any value and gives None.

    >>> from wengert import fold as td
    >>> td.Void().eval("foo") is None
    True

    Source: TensorFlow Fold, `td.Void`.
    """

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name)
        self.settled()

    def constrain(self, solver: Solver, use: Use) -> None:
        solver.equal(use, "the output", use.output, "what is left", VOID)
        solver.assume(use.input, OBJECT)

    def write(self, use: Use, code: Code, x: str) -> str:
        return "None"


class _Chaining(ABCMeta):
    """The call of `Pipe`: where less than two blocks are left, it gives no chain."""

    def __call__(cls, *args: Any, **options: Any) -> Any:  # Any: as the class says; checkers look there
        if cls is Pipe and options.get("name") is None:
            return pipe(*args)
        return super().__call__(*args, **options)


class Pipe(Written[K, Q], metaclass=_Chaining):
    """Blocks, or what is convertible, one after the other: what one gives, the next one takes; `a >> b` is this.

    Identities are left out; one block by itself is that block, and none is `Identity()`, unless it has a name.
    Raises BlockError where what one gives is not what the next one takes, and for what is no block.
    >>> from wengert import fold as td
    >>> (td.GetItem("age") >> td.Scalar()).eval({"age": 7}).item()
    7.0
    >>> td.Pipe((td.Scalar(), td.Vector(2)), td.Concat()).eval((1, [2, 3])).tolist()
    [1.0, 2.0, 3.0]

    Source: TensorFlow Fold, `td.Pipe`.
    """

    @overload
    def __init__(self: Pipe[X, X], *, name: str | None = None) -> None: ...
    @overload
    def __init__(self: Pipe[X, Y], a: Block[X, Y], /, *, name: str | None = None) -> None: ...
    @overload
    def __init__(self: Pipe[X, Z], a: Block[X, Y], b: Block[Y, Z], /, *, name: str | None = None) -> None: ...
    @overload
    def __init__(
        self: Pipe[X, C], a: Block[X, Y], b: Block[Y, Z], c: Block[Z, C], /, *, name: str | None = None
    ) -> None: ...
    @overload
    def __init__(
        self: Pipe[X, D],
        a: Block[X, Y],
        b: Block[Y, Z],
        c: Block[Z, C],
        d: Block[C, D],
        /,
        *,
        name: str | None = None,
    ) -> None: ...
    @overload  # Any: a longer chain, or one that begins with what is short for a block
    def __init__(
        self: Pipe[Any, Any],
        a: AnyBlock,
        b: AnyBlock,
        c: AnyBlock,
        d: AnyBlock,
        e: AnyBlock,
        /,
        *more: Convertible,
        name: str | None = None,
    ) -> None: ...
    @overload
    def __init__(self: Pipe[Any, Any], a: Short, /, *more: Convertible, name: str | None = None) -> None: ...
    @overload
    def __init__(
        self: Pipe[X, Any], a: Block[X, Any], b: Short, /, *more: Convertible, name: str | None = None
    ) -> None: ...
    def __init__(self, *blocks: Convertible, name: str | None = None) -> None:
        given = tuple(map(convert_to_block, blocks))
        super().__init__(name, blocks=given)
        self.blocks: tuple[AnyBlock, ...] = ()
        chain: list[AnyBlock] = []
        for block in given:
            chain.extend(
                block.blocks
                if type(block) is Pipe and block.name is None and _undeclared(block)
                else (block,)
            )
        self.blocks = tuple(chain)
        self._given = given
        self._cells: dict[tuple[object, ...], Callable[..., Any]] = {}  # Any: of functions in a row, layers
        self.settled()

    chains: ClassVar[bool] = True

    def same_input(self) -> Iterable[AnyBlock]:
        return self.blocks[:1]

    def constrain(self, solver: Solver, use: Use) -> None:
        before, told = use.input, "its input"
        # to check a longer chain it is enough to know the two sides of the shorter one
        for block in self.blocks if solver.whole else self._given:
            part = solver.use(block)
            link = solver.link if use.parts else solver.equal
            link(use, told, before, f"the input of {_end(block, 0)!r}", part.input)
            before, told = part.output, f"the output of {_end(block, -1)!r}"
            use.parts.append(part)
        solver.link(use, told, before, "its output where it stands", use.output)

    def write(self, use: Use, code: Code, x: str) -> str:
        parts = [*use.parts]
        while parts:
            several = list(takewhile(lambda part: part.function is not None, parts))
            if len(several) > 1:
                x = self._write_functions(several, code, x)
                del parts[: len(several)]
                continue
            part = parts.pop(0)
            short = part.block.fused_with(parts[0]) if parts and part.input == OBJECT else None
            if short is None:
                x = code.ask(part, x)
                continue
            made = code.value(f"{code.name(short)}({x})")
            with code.under(f"if {made} is None:"):  # the long way says what is wrong with the data
                code.line(f"{made} = {code.ask(parts.pop(0), code.ask(part, x))}")
            x = made
        return x

    def _write_functions(self, several: Sequence[Use], code: Code, x: str) -> str:
        """Functions of layers in a row as one cell: half of the nodes, and of the launches that they have."""
        functions = tuple([use.function for use in several if use.function is not None])
        cell = self._cells.get(functions)
        if cell is None:
            called = [use.block.called(f) for use, f in zip(several, functions, strict=True)]
            cell = several[-1].block.cell(Chain(functions), " >> ".join(called))
            self._cells[functions] = cell
        first, last = several[0], several[-1]
        given = code.parts(x) if isinstance(first.input, TupleType) else x
        return code.value(f"{code.name(code.calls.cell(cell, first.input, last.output))}({given})")


class Chain:
    """Functions of layers one after the other; a tuple enters each as several arguments."""

    def __init__(self, functions: Sequence[Callable[..., Any]]) -> None:  # Any: layers
        self._functions = functions

    def __call__(self, *given: Any) -> Any:  # Any: as above
        made: Any = given  # Any: as above
        for function in self._functions:
            made = function(*given)
            given = made if isinstance(made, tuple) else (made,)
        return made


def _end(block: AnyBlock, place: int) -> AnyBlock:
    """The first or last block of a chain: what a message is about."""
    return block.blocks[place] if isinstance(block, Pipe) and block.blocks else block


def _undeclared(block: AnyBlock) -> bool:
    """True if nothing was declared of its types, so that a longer chain may take its blocks over."""
    return block.declared == (None, None) and block.classes == ((), ())


def pipe(*blocks: object) -> AnyBlock:
    """The chain of blocks, or of what is convertible; identities are left out, and one block is itself."""
    chain = [convert_to_block(x) for x in blocks]
    kept = [block for block in chain if type(block) is not Identity or not _undeclared(block)]
    if not kept:
        return Identity()
    return kept[0] if len(kept) == 1 else type.__call__(Pipe, *kept)


def feed(solver: Solver, use: Use, block: AnyBlock, source: ResultType, what: str) -> None:
    """Use a block inside another one; it reads `source`, unless it reads nothing at all."""
    part = solver.use(block)
    if not is_void(block.known_input):
        solver.equal(use, what, source, f"the input of {block!r}", part.input)
    use.parts.append(part)


CONVERSIONS["pipe"] = pipe


Key: TypeAlias = Any  # whatever the data are indexed by


class AllOf(Written[A, B]):
    """One input for every block; their outputs are a tuple, nothing for no block.

    >>> from wengert import fold as td
    >>> td.AllOf(td.Identity(), td.Scalar()).eval(3)
    (3, array(3., dtype=float32))

    Source: TensorFlow Fold, `td.AllOf`.
    """

    @overload
    def __init__(self: AllOf[object, None], *, name: str | None = None) -> None: ...
    @overload
    def __init__(self: AllOf[X, tuple[C]], a: Block[X, C], /, *, name: str | None = None) -> None: ...
    @overload
    def __init__(
        self: AllOf[X, tuple[C, D]], a: Block[X, C], b: Block[X, D], /, *, name: str | None = None
    ) -> None: ...
    @overload
    def __init__(
        self: AllOf[X, tuple[C, D, Y]],
        a: Block[X, C],
        b: Block[X, D],
        c: Block[X, Y],
        /,
        *,
        name: str | None = None,
    ) -> None: ...
    @overload  # Any: parts that are short for a block
    def __init__(
        self: AllOf[X, tuple[Any, Any]],
        a: Block[X, Any] | Short,
        b: Block[X, Any] | Short,
        /,
        *,
        name: str | None = None,
    ) -> None: ...
    @overload  # Any: as above
    def __init__(
        self: AllOf[X, tuple[Any, Any, Any]],
        a: Block[X, Any] | Short,
        b: Block[X, Any] | Short,
        c: Block[X, Any] | Short,
        /,
        *,
        name: str | None = None,
    ) -> None: ...
    @overload  # Any: more parts than a checker is told of
    def __init__(
        self: AllOf[X, tuple[Any, ...]],
        a: Block[X, Any] | Short,
        b: Block[X, Any] | Short,
        c: Block[X, Any] | Short,
        d: Block[X, Any] | Short,
        /,
        *more: Block[X, Any] | Short,
        name: str | None = None,
    ) -> None: ...
    def __init__(self, *blocks: Any, name: str | None = None) -> None:  # Any: typed by the overloads
        super().__init__(name, blocks=blocks)
        self._blocks = tuple(convert_to_block(block) for block in blocks)
        self.settled()

    def same_input(self) -> Iterable[AnyBlock]:
        return self._blocks

    def constrain(self, solver: Solver, use: Use) -> None:
        for block in self._blocks:
            feed(solver, use, block, use.input, "its input")
        made = TupleType([part.output for part in use.parts]) if use.parts else VOID
        solver.equal(use, "its output", use.output, "what the blocks give", made)
        if all(is_void(block.known_input) for block in self._blocks):
            solver.assume(use.input, VOID)

    def write(self, use: Use, code: Code, x: str) -> str:
        made = [code.ask(part, x) for part in use.parts]
        return code.tuple(made) if made else "None"


class Record(Written[A, B]):
    """A block for each key of the input: block k reads `x[k]`; what they give is a tuple.

    The order of the tuple is that of the children in an `OrderedDict`, in a list of pairs, whose keys may be slices,
    and in a tuple, whose keys are 0, 1, ...; such a record also takes a tuple of other blocks' results. A plain dict
    is a set of keys: its blocks come sorted by key, however it was written.
    Raises BlockError for children of another kind and where the number of parts differs, and BlockStateError
    where a plain dict meets a tuple.
    >>> from collections import OrderedDict
    >>> from wengert import fold as td
    >>> td.Record({"b": td.Scalar(), "a": td.Scalar()}).eval({"a": 1, "b": 2})
    (array(1., dtype=float32), array(2., dtype=float32))
    >>> td.Record(OrderedDict(b=td.Scalar(), a=td.Scalar())).eval({"a": 1, "b": 2})
    (array(2., dtype=float32), array(1., dtype=float32))

    Source: TensorFlow Fold, `td.Record`.
    """

    @overload
    def __init__(
        self: Record[tuple[X], tuple[C]], named_children: tuple[Block[X, C]], name: str | None = None
    ) -> None: ...
    @overload
    def __init__(
        self: Record[tuple[X, Y], tuple[C, D]],
        named_children: tuple[Block[X, C], Block[Y, D]],
        name: str | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self: Record[tuple[X, Y, Z], tuple[C, D, U]],
        named_children: tuple[Block[X, C], Block[Y, D], Block[Z, U]],
        name: str | None = None,
    ) -> None: ...
    @overload  # Any: the parts of a longer or deeper tuple
    def __init__(
        self: Record[tuple[Any, ...], tuple[Any, ...]],
        named_children: tuple[()] | Longer | Nested,
        name: str | None = None,
    ) -> None: ...
    @overload  # Any: the values under keys, which no checker knows
    def __init__(
        self: Record[Any, tuple[Any, ...]], named_children: Pairs, name: str | None = None
    ) -> None: ...
    def __init__(self, named_children: Any, name: str | None = None) -> None:  # Any: typed by the overloads
        super().__init__(name, named_children=named_children)
        if not isinstance(named_children, (Mapping, tuple, list)):
            raise self.error("children are a dict, a list of pairs, or a tuple")
        self._ordered = not isinstance(named_children, Mapping) or isinstance(named_children, OrderedDict)
        if isinstance(named_children, Mapping):
            pairs = list(named_children.items()) if self._ordered else _sorted(named_children)
        elif isinstance(named_children, list):
            if any(not isinstance(pair, tuple) or len(pair) != 2 for pair in named_children):
                raise self.error("a list of children has pairs of a key and a block")
            pairs = named_children
        else:
            pairs = list(enumerate(named_children))
        self._keys = [key for key, _ in pairs]
        self._blocks = tuple(convert_to_block(block) for _, block in pairs)
        self.settled()

    def constrain(self, solver: Solver, use: Use) -> None:
        sources = [Unknown() for _ in self._keys]
        for key, block, source in zip(self._keys, self._blocks, sources, strict=True):
            feed(solver, use, block, source, f"what is under {shown(key)}")
        made = TupleType([part.output for part in use.parts])
        solver.equal(use, "its output", use.output, "what the blocks give", made)

        def rule() -> bool:
            of = head(use.input)
            if isinstance(of, Unknown):
                if not sources or any(head(t) != OBJECT for t in sources):
                    return False
                unify(of, OBJECT)
            elif of == OBJECT:
                for t in sources:
                    solver.equal(use, "a part of data", OBJECT, "what a block reads", t)
            elif isinstance(of, TupleType):
                self._from_tuple(solver, use, of, sources)
            else:
                raise self.error(f"its input is {resolved(of)}; it takes data, or a tuple")
            return True

        solver.wait(rule)
        solver.assume(use.input, TupleType(sources) if self._ordered else OBJECT)

    def _from_tuple(self, solver: Solver, use: Use, of: TupleType, sources: list[Unknown]) -> None:
        if not self._ordered:
            raise self.error(
                f"its input is {resolved(of)}, and a dict has no order: give a tuple of blocks, or an OrderedDict",
                BlockStateError,
            )
        if len(of) != len(sources):
            raise self.error(f"its input has {len(of)} parts, and it has {len(sources)} blocks")
        for i, (part, source) in enumerate(zip(of.parts, sources, strict=True)):
            solver.equal(use, f"part {i} of its input", part, f"the input of {self._blocks[i]!r}", source)

    def __getitem__(self, key: Key, /) -> Any:  # Any: what a composition connects
        """For connections in a `td.Composition`: what the block under a key gives."""
        if key not in self._keys:
            raise self.error(f"it has no block under {shown(key)}", BlockKeyError)
        return super().__getitem__(self._keys.index(key))

    def write(self, use: Use, code: Code, x: str) -> str:
        keys = range(len(self._keys)) if isinstance(use.input, TupleType) else self._keys
        made = []
        for key, part in zip(keys, use.parts, strict=True):
            made.append(code.ask(part, "None" if is_void(part.input) else taken(self, code, x, key)))
        return code.tuple(made)


def _sorted(children: Mapping[Key, object]) -> list[tuple[Key, object]]:
    try:
        return sorted(children.items(), key=itemgetter(0))
    except TypeError:  # keys of several types have no order but that of their text
        return sorted(children.items(), key=lambda pair: shown(pair[0]))


CONVERSIONS["record"] = Record
