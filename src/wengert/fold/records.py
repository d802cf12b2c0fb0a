"""Blocks side by side: of one input, or each of its own part.

Knows: which part of the input each block inside reads, by key or by place.
Refuses to know: what the blocks inside do.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from operator import itemgetter
from typing import Any, TypeAlias, overload

from wengert.errors import BlockError, BlockKeyError, BlockStateError
from wengert.fold.block import CONVERSIONS, A, AnyBlock, B, Block, C, D, U, X, Y, Z
from wengert.fold.code import Code, Written
from wengert.fold.composition import feed
from wengert.fold.conversion import convert_to_block
from wengert.fold.convert import OBJECT, VOID
from wengert.fold.items import taken
from wengert.fold.solver import Solver, Use
from wengert.fold.structures import TupleType
from wengert.fold.unification import Unknown, head, is_void, resolved, unify
from wengert.graph.operand import shown

Key: TypeAlias = Any  # whatever the data are indexed by


class AllOf(Written[A, B]):
    """The same input to each block; what they give is a tuple, for no block nothing.

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
    @overload  # Any: more parts than a checker is told of
    def __init__(
        self: AllOf[X, tuple[Any, ...]],
        a: Block[X, Any],
        b: Block[X, Any],
        c: Block[X, Any],
        d: Block[X, Any],
        /,
        *more: Block[X, Any],
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
            solver.input_otherwise(use, VOID)

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
        self: Record[tuple[X], tuple[C]], children: tuple[Block[X, C]], name: str | None = None
    ) -> None: ...
    @overload
    def __init__(
        self: Record[tuple[X, Y], tuple[C, D]],
        children: tuple[Block[X, C], Block[Y, D]],
        name: str | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self: Record[tuple[X, Y, Z], tuple[C, D, U]],
        children: tuple[Block[X, C], Block[Y, D], Block[Z, U]],
        name: str | None = None,
    ) -> None: ...
    @overload  # Any: the values under keys, which no checker knows
    def __init__(
        self: Record[Any, tuple[C, ...]],
        children: Mapping[Any, Block[Any, C]] | list[tuple[Key, Block[Any, C]]],
        name: str | None = None,
    ) -> None: ...
    def __init__(self, children: Any, name: str | None = None) -> None:  # Any: typed by the overloads
        super().__init__(name, children=children)
        if not isinstance(children, (Mapping, tuple, list)):
            raise BlockError(self.fault("children are a dict, a list of pairs, or a tuple"))
        self._ordered = not isinstance(children, Mapping) or isinstance(children, OrderedDict)
        if isinstance(children, Mapping):
            pairs = list(children.items()) if self._ordered else _sorted(children)
        elif isinstance(children, list):
            if any(not isinstance(pair, tuple) or len(pair) != 2 for pair in children):
                raise BlockError(self.fault("a list of children has pairs of a key and a block"))
            pairs = children
        else:
            pairs = list(enumerate(children))
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
                raise BlockError(self.fault(f"its input is {resolved(of)}; it takes data, or a tuple"))
            return True

        def default() -> bool:
            if not isinstance(head(use.input), Unknown):
                return False
            unify(use.input, TupleType(sources) if self._ordered else OBJECT)
            return True

        solver.wait(use, rule)
        solver.otherwise(use, default)

    def _from_tuple(self, solver: Solver, use: Use, of: TupleType, sources: list[Unknown]) -> None:
        if not self._ordered:
            raise BlockStateError(
                self.fault(
                    f"its input is {resolved(of)}, and a dict has no order: give a tuple of blocks, or an OrderedDict"
                )
            )
        if len(of) != len(sources):
            raise BlockError(self.fault(f"its input has {len(of)} parts, and it has {len(sources)} blocks"))
        for i, (part, source) in enumerate(zip(of.parts, sources, strict=True)):
            solver.equal(use, f"part {i} of its input", part, f"the input of {self._blocks[i]!r}", source)

    def __getitem__(self, key: Key, /) -> Any:  # Any: what a composition connects
        """In the scope of a `td.Composition`: what the block under a key gives."""
        if key not in self._keys:
            raise BlockKeyError(self.fault(f"it has no block under {shown(key)}"))
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
