"""`Composition`: a graph of blocks that is written down connection by connection, as in TensorFlow Fold.

Knows: which connections make a graph, and in which order its blocks can run.
Refuses to know: what the blocks do.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, final

from wengert.arrays import plain
from wengert.errors import BlockError, BlockUseError, BlockValueError
from wengert.fold.block import CONVERSIONS, A, AnyBlock, B
from wengert.fold.composition import Identity
from wengert.fold.conversion import convert_to_block
from wengert.fold.convert import VOID
from wengert.fold.graph import Wired
from wengert.fold.solver import Solver, Use
from wengert.fold.unification import is_void
from wengert.fold.wires import Source
from wengert.graph.operand import shown
from wengert.site import user_position

_open: Final[ContextVar[tuple[Composition[Any, Any], ...]]] = ContextVar("open compositions", default=())


class Port(Identity[Any]):
    """Where a composition begins, or ends; in the list of its blocks it has no place."""

    def __init__(self, of: str, owner: Composition[Any, Any]) -> None:
        super().__init__(of)
        self.owner = owner


@final
class Part:
    """A part of what a block of a composition gives."""

    def __init__(self, block: AnyBlock, path: tuple[int | slice, ...]) -> None:
        self.block, self.path = block, path

    def __getitem__(self, key: int | slice) -> Part:
        return Part(self.block, (*self.path, key))

    __iter__ = None  # with `__getitem__` alone Python would count upwards without an end


class Composition(Wired[A, B]):
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
        self._sources: dict[int, list[Part]] = {}
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
            raise BlockValueError(self._wrong("it has been used, and cannot be changed any more"))
        sources = [_part(x) for x in (source if isinstance(source, tuple) else (source,))]
        for part in sources:
            if part.block is self.output:
                raise BlockValueError(self._wrong("its output cannot be read inside of it"))
            self._own(part.block)
        if target is self.input:
            raise BlockValueError(self._wrong("its input cannot be written inside of it"))
        self._own(target)
        if id(target) in self._sources:
            raise BlockValueError(self._wrong(f"{target!r} is connected already"))
        for block in (target, *(part.block for part in sources)):
            self._add(block)
        self._sources[id(target)] = sources

    @contextmanager
    def scope(self) -> Generator[Composition[A, B], None, None]:
        """Where `block.reads(...)` means a connection of this composition; the last one opened ends first."""
        inside = (*_open.get(), self)
        _open.set(inside)
        try:
            yield self
            if _open.get() != inside:
                raise BlockUseError(self.fault("its scope ends before one that was opened inside of it"))
        finally:
            _open.set(tuple(some for some in _open.get() if some is not self))

    def constrain(self, solver: Solver, use: Use) -> None:
        self._freeze()
        super().constrain(solver, use)

    def same_input(self) -> Iterable[AnyBlock]:
        self._freeze()
        return super().same_input()

    def _freeze(self) -> None:
        if not self._frozen:
            self._read, self._output = self._ordered()
            self._frozen = True

    def _own(self, block: AnyBlock) -> None:
        if isinstance(block, Port) and block.owner is not self:
            raise BlockValueError(self._wrong(f"{block!r} belongs to another composition"))

    def _add(self, block: AnyBlock) -> None:
        if not isinstance(block, Port):
            self._children[id(block)] = block

    def _ordered(self) -> tuple[tuple[tuple[AnyBlock, tuple[Source, ...]], ...], tuple[Source, ...]]:
        """The blocks, each after what it reads."""
        if id(self.output) not in self._sources:
            raise BlockError(self.fault("nothing is connected to its output"))
        self._check_all_used()
        places = {id(self.input): 0}
        waiting = dict(self._children)
        ordered: list[tuple[AnyBlock, tuple[Source, ...]]] = []
        while waiting:
            ready = [
                b
                for b in waiting.values()
                if all(id(p.block) in places for p in self._sources.get(id(b), ()))
            ]
            if not ready:
                inside = ", ".join(map(repr, waiting.values()))
                raise BlockValueError(self.fault(f"its connections are a cycle, through {inside}"))
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
                raise BlockError(self.fault(f"nothing reads the output of {block!r}"))
            if key not in self._sources and not is_void(block.input_type):
                raise BlockError(self.fault(f"{block!r} is not connected to anything that it reads"))

    def _wrong(self, text: str) -> str:
        return f"{self!r}: {text}\n  at {user_position()}"


def _part(x: object) -> Part:
    return x if isinstance(x, Part) else Part(convert_to_block(x), ())


def _reads(block: AnyBlock, *sources: object) -> AnyBlock:
    if not _open.get():
        raise BlockUseError(
            f"{block!r}.reads has a meaning only in the scope of a composition\n  at {user_position()}"
        )
    _open.get()[-1].connect(sources, block)
    return block


def _taken(block: AnyBlock, key: object) -> Part:
    if not _open.get():
        raise BlockUseError(
            f"a part of {block!r} has a meaning only in the scope of a composition; td.GetItem({shown(key)}) is a "
            f"block\n  at {user_position()}"
        )
    place = plain(key)
    if not isinstance(place, (int, slice)):
        raise BlockError(f"{block!r} has no part {shown(key)}: parts have places\n  at {user_position()}")
    return Part(block, (place,))


CONVERSIONS["reads"] = _reads
CONVERSIONS["part"] = _taken
