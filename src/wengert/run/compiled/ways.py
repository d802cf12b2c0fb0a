"""Whole ways back: where an evaluation went the same way often, its deltas and updates are one program.

Knows: that when all values are known no bind is in the way any more, so that what is left of a training is a plan
whose literals are those values; that a way is told by its stretches, by what they read of each other, through binds
too, and by the optimizers of its weights.
Refuses to know: what a plan does, and how stretches went forward.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from wengert.arrays import Value
from wengert.control import Run
from wengert.graph.node import Expression, Node
from wengert.graph.weights import Weight
from wengert.run.compiled.cache import Cache
from wengert.run.compiled.interrupted import Interrupted
from wengert.run.received import OwnTape, nowhere

if TYPE_CHECKING:
    from wengert.run.compiled.homeward import Way
    from wengert.run.compiled.stretch import Passage
    from wengert.run.evaluation import Evaluation

_MOST_STEPS: Final = 256  # stretches and binds; a longer way seldom comes back
_MOST_COUNTS: Final = 1024


class Bind(NamedTuple):
    """A bind on the way: its node, its value, and where its delta goes; None if nobody asks for it."""

    node: Node
    value: Value
    source: Expression | None


class Path(NamedTuple):
    """The way that an evaluation went."""

    key: object
    steps: list[Passage | Bind]  # last first
    weights: list[Weight]


class Ways:
    """All that one interpreter has."""

    def __init__(self, worth: int, program: Any = None) -> None:  # Any: as `Stretches`
        self._worth = worth
        self._program = program
        self._counts: dict[object, tuple[int, int]] = {}  # as in `Stretches`
        self._made: Cache[object, Way] = Cache()

    def back(self, evaluation: Evaluation, loss: Expression, run: Run) -> Callable[[], Value] | None:
        """The way back of a loss with a delta of 1: it has been gone, and what is left makes the changes.

        None where it has not been gone that often, or not by programs alone.
        """
        path = path_of(evaluation, loss)
        if path is None:
            return None
        for way in self._made.of(path.key):
            self._made.use(path.key, way)
            with suppress(Interrupted):
                return way.back(path, evaluation.snapshot, run)
            return None
        if self._earned(path.key):
            # loaded with the first program: see `Stretches`
            made, early = import_module("wengert.run.compiled.homeward").made(
                path, evaluation, loss, self._program
            )
            if early:
                self._counts[path.key] = self._worth - 1, self._worth  # the next run may tell
            elif made is not None:
                self._made.keep(path.key, made)
        return None

    def _earned(self, key: object) -> bool:
        runs, needed = self._counts.get(key, (0, self._worth))
        earned = runs + 1 >= needed
        self._counts[key] = (0, 2 * needed) if earned else (runs + 1, needed)  # as in `Stretches`
        if len(self._counts) > _MOST_COUNTS:
            self._counts.pop(next(iter(self._counts)), None)
        return earned


def path_of(evaluation: Evaluation, loss: Expression) -> Path | None:
    """The way that an evaluation went, if nothing but programs and binds without tapes of users' was on it."""
    order, passages, tapes = evaluation.order, evaluation.passages, evaluation.tapes
    if not passages or evaluation.failed or evaluation.pending or evaluation.resolved:
        return None
    places: dict[Expression, int] = {x: i for i, x in enumerate(order)}
    weights: dict[Expression, int] = {}

    def place(x: Expression) -> int:
        return places[x] if x in places else weights.setdefault(x, -2 - len(weights))

    keys: list[object] = [places.get(loss)]
    steps: list[Passage | Bind] = []
    at = len(order)
    while at:
        node = order[at - 1]
        passage = passages.that_ends(node)
        if passage is not None:
            at -= len(passage.nodes)
            keys.append((passage.stretch.number, *map(place, passage.leaves)))
            steps.append(passage)
        else:
            at -= 1
            tape = tapes.get(node)
            if not isinstance(tape, OwnTape) or tape.source is None:
                return None
            source = None if tape.backward is nowhere else tape.source
            keys.append(-1 if source is None else place(source))
            steps.append(Bind(node, evaluation.values[node], source))
        if len(steps) > _MOST_STEPS:
            return None
    read_here = [x for x in weights if isinstance(x, Weight)]
    snapshot = evaluation.snapshot
    if len(read_here) < len(weights) or any(w.ref.version > snapshot for w in read_here):
        return None
    keys += [(type(w.optimizer), id(w.settings)) for w in read_here]
    return Path(tuple(keys), steps, read_here)
