"""Calls of the functions of layers: as they are, counted for depth, or written down by others.

Knows: one function for each block that computes, given when the block is compiled; the leaves of nested values.
Refuses to know: any single block, and what a layer computes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Final, Protocol, TypeAlias

from wengert.errors import WengertError
from wengert.fold.types import Endless, ResultType, TupleType, Value

Direct: TypeAlias = Callable[[Value], Value]  # what a block makes of one value, without asking another block


class Failing(Protocol):
    """A block as the calls of its functions see it: it makes errors."""

    def error(self, text: str) -> WengertError: ...


class Calls:
    """How blocks call their functions of layers: as they are. `joins`: two in a chain may be one function."""

    joins: ClassVar[bool] = True

    def cell(
        self, function: Callable[..., Value], given: ResultType, made: ResultType
    ) -> Callable[..., Value]:
        """A function of one input, of which a tuple enters as several arguments. All that computes comes here."""
        return function

    def rows(self, function: Callable[[Sequence[Value]], Value], made: ResultType) -> Direct:
        """A function of a list of layers, as long as it is in the example."""
        return function

    def parts(
        self, function: Callable[[Value], list[Value]], block: Failing
    ) -> Callable[[Value], list[Value]]:
        """A function of a layer that gives a list, as long as the layer is in the example."""
        return function

    def constant(self, x: Value, of: ResultType) -> Value:
        """A value that is the same for all examples."""
        return x


PLAIN: Final = Calls()


class Depths(Calls):
    """Also how deep every result lies; data and constants are at 0."""

    joins: ClassVar[bool] = False

    def __init__(self) -> None:
        self._depths: dict[int, tuple[object, int]] = {}  # by identity, with what keeps that identity alive

    def cell(
        self, function: Callable[..., Value], given: ResultType, made: ResultType
    ) -> Callable[..., Value]:
        return self._counted(function, single=not isinstance(given, TupleType))

    def rows(self, function: Callable[[Sequence[Value]], Value], made: ResultType) -> Direct:
        return self._counted(function, single=True)

    def parts(
        self, function: Callable[[Value], list[Value]], block: Failing
    ) -> Callable[[Value], list[Value]]:
        return self._counted(function, single=True)

    def _counted(self, plain: Callable[..., Value], *, single: bool) -> Callable[..., Value]:
        def counted(*given: Value) -> Value:
            result = plain(*given)
            if single and result is given[0]:  # nothing was computed
                return result
            depth = 1 + self.of(given)
            for leaf in leaves(result):
                self._depths[id(leaf)] = (leaf, depth)
            return result

        return counted

    def of(self, x: Value) -> int:
        """The greatest depth of anything in `x`."""
        depths = self._depths
        return max((depths[id(leaf)][1] for leaf in leaves(x) if id(leaf) in depths), default=0)


def leaves(x: Value) -> list[Value]:
    """The values in tuples, lists and endless repetitions, in order."""
    found: list[Value] = []
    todo: list[Value] = [x]
    while todo:
        item = todo.pop()
        if isinstance(item, (tuple, list)):
            todo.extend(reversed(item))
        elif isinstance(item, Endless):
            todo.append(next(item))
        else:
            found.append(item)
    return found
