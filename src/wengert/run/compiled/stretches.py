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
from wengert.graph.operation import Signature
from wengert.run.compiled.cache import Cache
from wengert.run.compiled.length import MOST, is_short
from wengert.run.compiled.ways import Ways

if TYPE_CHECKING:
    from wengert.run.compiled.program import Program
    from wengert.run.compiled.stretch import Passage, Stretch

    Making = Callable[..., tuple[Stretch, Passage] | None]
Alike = tuple[int, Signature, Signature]

_ALIKE: Final = 8  # of as many nodes, with the same first and last one
_MOST_COUNTS: Final = 4096
_signature = attrgetter("signature")


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
        self._counts: dict[int, tuple[int, int]] = {}  # runs of the interpreter, and how many a program needs
        self._made: Cache[Alike, Stretch] = Cache(_ALIKE)
        self.ways = Ways(worth, program)

    def passage(
        self,
        nodes: Sequence[Node],
        values: Mapping[Expression, Value],
        allowed: Callable[[], bool] | None = None,
    ) -> Passage | None:
        """One run of a stretch, forward: the values of `nodes`, which read the others' `values`.

        `allowed`: whether programs may be made now, where something else has counted the runs.

        None where the interpreter has to run them: they have not come back often, or something fails in them.
        Raises Interrupted where programs fail that had been made.
        """
        if not 0 < len(nodes) <= MOST:
            return None
        key = len(nodes), nodes[0].signature, nodes[-1].signature
        for stretch in self._made.of(key):
            found = stretch.passage(nodes, values)
            if found is not None:
                self._made.use(key, stretch)
                return found
        if not (self._earned(nodes) if allowed is None else self._admitted(nodes) and allowed()):
            return None
        # loaded with the first programs: a tenth of what importing Wengert would take
        making: Making = import_module("wengert.run.compiled.stretching").made
        made = making(nodes, values, self._program)
        if made is None:
            return None
        self._made.keep(key, made[0])
        return made[1]

    def _earned(self, nodes: Sequence[Node]) -> bool:
        """Count a run; whether it should be traced this time."""
        key = hash(tuple(map(_signature, nodes)))
        runs, needed = self._counts.get(key, (0, self._worth))
        earned = runs + 1 >= needed
        # should the programs have to go for others, or be none, it takes twice as many runs until the next ones
        self._counts[key] = (0, 2 * needed) if earned else (runs + 1, needed)
        if len(self._counts) > _MOST_COUNTS:
            self._counts.pop(next(iter(self._counts)), None)
        if not earned:
            return False
        return self._admitted(nodes)

    def _admitted(self, nodes: Sequence[Node]) -> bool:
        return is_short(nodes) and (self._admits is None or self._admits(nodes))
