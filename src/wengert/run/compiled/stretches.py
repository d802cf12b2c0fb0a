"""Which nodes between binds have earned programs, and where those of a structure are found.

Knows: that a stretch, which is nodes that are computed one after the other with no bind between them, comes back
where its structure does: its nodes' signatures and sharing, and the types and shapes of what it reads.
Refuses to know: what the programs do, and what is made of the values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from wengert.arrays import Value
from wengert.graph.node import Expression, Node
from wengert.run.compiled.length import MOST, is_short
from wengert.run.compiled.ways import Ways

if TYPE_CHECKING:
    from wengert.run.compiled.program import Program
    from wengert.run.compiled.stretch import Passage, Stretch

    Making = Callable[..., tuple[Stretch, Passage] | None]

_MOST_ALIKE: Final = 8  # of as many nodes, with the same first and last one
_MOST_OF_ALL: Final = 128  # programs keep their buffers
_MOST_COUNTS: Final = 4096
_signature = attrgetter("_signature")


class Stretches:
    """All that one interpreter has."""

    def __init__(
        self,
        worth: int,
        program: Callable[..., Program] | None = None,
        admits: Callable[[Sequence[Node]], bool] | None = None,
    ) -> None:
        self._worth = worth
        self._program = program
        self._admits = admits  # what else a stretch has to be, if it is anything
        self._counts: dict[int, int] = {}
        self._made: dict[object, tuple[Stretch, ...]] = {}  # those found last come first
        self.ways = Ways(worth, program)

    def passage(self, nodes: Sequence[Node], values: Mapping[Expression, Value]) -> Passage | None:
        """One run of a stretch, forward: the values of `nodes`, which read the others' `values`.

        None where the interpreter has to run them: they have not come back often, or something fails in them.
        Raises Interrupted where programs fail that had been made.
        """
        if not 0 < len(nodes) <= MOST:
            return None
        key = len(nodes), nodes[0]._signature, nodes[-1]._signature
        alike = self._made.get(key, ())
        for stretch in alike:
            found = stretch.passage(nodes, values)
            if found is not None:
                if stretch is not alike[0]:
                    self._first(key, stretch)
                return found
        if not self._earned(nodes):
            return None
        # loaded with the first programs: a tenth of what importing Wengert would take
        making: Making = import_module("wengert.run.compiled.stretching").made
        made = making(nodes, values, self._program)
        if made is None:
            return None
        self._first(key, made[0])
        return made[1]

    def _first(self, key: object, stretch: Stretch) -> None:
        """Have it be the first to be tried; a new tuple, for others may be reading."""
        alike = [other for other in self._made.pop(key, ()) if other is not stretch]
        self._made[key] = (stretch, *alike)[:_MOST_ALIKE]
        if sum(map(len, tuple(self._made.values()))) > _MOST_OF_ALL:
            self._made.pop(next(iter(self._made)), None)

    def _earned(self, nodes: Sequence[Node]) -> bool:
        """Count a run; whether it should be traced this time."""
        key = hash(tuple(map(_signature, nodes)))
        count = self._counts[key] = self._counts.get(key, 0) + 1
        if len(self._counts) > _MOST_COUNTS:
            self._counts = {}
        if count < self._worth:
            return False
        self._counts.pop(key, None)  # should the programs be dropped for others, they have to be earned again
        return is_short(nodes) and (self._admits is None or self._admits(nodes))
