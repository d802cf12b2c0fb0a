"""Backward programs: where an evaluation came the same way often, its deltas and updates are one program.

Knows: that a path is told by its segments, by what they read of each other, through binds too, and by the optimizers of
its weights.
Refuses to know: what the program does, and how segments went forward.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from wengert.arrays import Value
from wengert.control import Run
from wengert.graph.node import Expression, Node
from wengert.graph.weights import Weight
from wengert.later import later
from wengert.run.commit import Interrupted
from wengert.run.compiled.cache import Cache, Item, RunCounts
from wengert.run.compiled.segment import SegmentRun
from wengert.run.evaluation import Evaluation
from wengert.run.tapes import OwnTape, nowhere

if TYPE_CHECKING:  # loaded with the first program
    from wengert.run.compiled.plan import Plan

_traced_path = later("wengert.run.compiled.compiler", "traced_path")
_MOST_STEPS: Final = 256  # segments and binds; a longer way seldom comes back


class Bind(NamedTuple):
    """A bind on the way: its node, its value, and where its delta goes; None if nobody asks for it."""

    node: Node
    value: Value
    source: Expression | None


class Path(NamedTuple):
    """The way that an evaluation went."""

    key: object
    steps: list[SegmentRun | Bind]  # last first
    weights: list[Weight]

    def values(self) -> list[Value]:
        """All that was read and found on the way there, after what nobody reads."""
        values: list[Value] = [None]
        for step in reversed(self.steps):
            if isinstance(step, Bind):
                values.append(step.value)
            else:
                values += step.inputs
                values += step.computed
        return values


class BackwardProgram(Item):
    """The program of one path: what is left of a training is a plan whose literals are the values on the way."""

    def __init__(self, plan: Plan, sources: Sequence[int], settings: Sequence[object]) -> None:
        super().__init__()
        self.plan = plan
        self.pick: Callable[[Sequence[Value]], tuple[Value, ...]] = itemgetter(0, 0, *sources)
        self.settings = settings  # they have to live as long as their ids count

    def size(self) -> int:
        return self.plan.size()

    def let_go(self) -> None:
        self.plan.let_go()

    def back(self, path: Path, snapshot: int, run: Run) -> Callable[[], Value]:
        """Maker of the changes of weights, which are computed here. Raises Interrupted where the program fails."""
        _, _, *literals = self.pick(path.values())
        _, change = self.plan.with_leaves(path.weights, literals).computed(run, snapshot)
        return change


class BackwardPrograms:
    """All that one interpreter has."""

    def __init__(self, worth: int, program: Any = None) -> None:  # Any: as `Segments`
        self._runs = RunCounts(worth)
        self._program = program
        self._made: Cache[object, BackwardProgram] = Cache()

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
            if way.plan.failed:  # in its first run
                self._made.drop(path.key, way)
            return None
        if self._runs.earned(path.key):
            made, early = _traced_path(path, loss, self._program)
            if early:
                self._runs.soon(path.key)
            elif made is not None:
                self._made.keep(path.key, made)
        return None


def path_of(evaluation: Evaluation, loss: Expression) -> Path | None:
    """The way that an evaluation went, if nothing but programs and binds without tapes of users' was on it."""
    order, segments, tapes = evaluation.order, evaluation.segments, evaluation.tapes
    if not segments or evaluation.failed or evaluation.pending or evaluation.resolved:
        return None
    places: dict[Expression, int] = {x: i for i, x in enumerate(order)}
    weights: dict[Expression, int] = {}

    def place(x: Expression) -> int:
        return places[x] if x in places else weights.setdefault(x, -2 - len(weights))

    keys: list[object] = [places.get(loss)]
    steps: list[SegmentRun | Bind] = []
    at = len(order)
    while at:
        node = order[at - 1]
        segment_run = segments.that_ends(node)
        if segment_run is not None:
            at -= len(segment_run.nodes)
            keys.append((segment_run.segment.number, *map(place, segment_run.leaves)))
            steps.append(segment_run)
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
