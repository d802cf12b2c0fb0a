"""Wires between the blocks of one composition.

Knows: which block reads which wires, in the order in which they were applied, so that no order has to be found.
Refuses to know: what flows, and any block.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, overload

from typing_extensions import TypeVar

from wengert.errors import BlockUseError, BlockValueError
from wengert.graph.operand import shown
from wengert.site import user_position

if TYPE_CHECKING:
    from wengert.fold.block import AnyBlock

W = TypeVar("W", covariant=True)
X = TypeVar("X")
Y = TypeVar("Y")
Z = TypeVar("Z")

# which block of the scope, 0 for the input, and the places in its output
Source: TypeAlias = tuple[int, *tuple[int | slice, ...]]
Read: TypeAlias = tuple["AnyBlock", tuple[Source, ...]]


class Wire(Generic[W]):
    """What a block of a composition gives; blocks are applied to it."""

    __slots__ = ("scope", "source")

    def __init__(self, scope: Scope, source: Source) -> None:
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
            raise BlockValueError(
                f"a part of a wire is asked for by its place; got {shown(place)}\n  at {user_position()}"
            )
        return Wire(self.scope, (*self.source, place))

    __iter__ = None  # with `__getitem__` alone Python would count upwards without an end

    def __repr__(self) -> str:
        return f"<wire {'.'.join(map(str, self.source))}>"


@dataclass(eq=False)
class Scope:
    """The blocks of one composition with what they read."""

    blocks: list[Read] = field(default_factory=list)
    open: bool = True

    @staticmethod
    def of(wires: Sequence[Wire[Any]], block: object) -> Scope:
        """The scope in which all wires lie."""
        for wire in wires:
            if not isinstance(wire, Wire):
                raise BlockUseError(
                    f"{block!r} was called with {shown(wire)}: inside a td.composition blocks are applied to "
                    f"wires; for data write block.eval(x) or block.build(x)\n  at {user_position()}"
                )
            if not wire.scope.open or wire.scope is not wires[0].scope:
                raise BlockUseError(f"{wire!r} belongs to another composition\n  at {user_position()}")
        if not wires:
            raise BlockUseError(f"{block!r} was called without a wire\n  at {user_position()}")
        return wires[0].scope

    def read(self, block: AnyBlock, wires: Sequence[Wire[Any]]) -> Wire[Any]:
        """The wire that leaves `block` when these enter it."""
        self.blocks.append((block, tuple(wire.source for wire in wires)))
        return Wire(self, (len(self.blocks),))

    @property
    def input(self) -> Wire[Any]:
        """The wire that enters the composition."""
        return Wire(self, (0,))
