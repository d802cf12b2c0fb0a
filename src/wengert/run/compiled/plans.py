"""Which structures have earned a plan, and where the plan of an expression is found.

Knows: that a plan pays after some runs, so that the interpreter goes first and counts; that an expression which is
run again remembers its plan, and one that is built anew finds it by its structure; that a plan which had to go for
others is made again after twice as many runs each time, so that the interpreter is never slowed down for long.
Refuses to know: how a plan is made and run, and how many bytes all of them may keep.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter, is_
from typing import TYPE_CHECKING, Final, Literal

from wengert.control import without_collector
from wengert.graph.node import Expression, Node
from wengert.graph.operation import EXTERNAL, UNRESOLVED, Signature
from wengert.later import later
from wengert.run.compiled.cache import Cache, clock, grown
from wengert.run.compiled.length import MOST, has_cells, is_light, is_short
from wengert.run.evaluation import Evaluation

if TYPE_CHECKING:
    from wengert.run.compiled.plan import Bound, Plan
    from wengert.run.compiled.program import PlanProgram


Mode = Literal["predict", "train", "gradients"]

WORTH: Final = 8  # runs after which a structure gets its plan: making one costs about as much as 20 of them
_ALIKE: Final = 8  # plans of one key: with other sharing, settings of optimizers, or targets
_VAIN: Final = 16  # times that no plan of a key has fitted, after which only one run in as many looks at them
_SAMPLE: Final = 1024  # nodes that tell an expression which is too long for a plan
_TINY: Final = 16  # nodes: a plan of fewer is made in 3 ms, which nobody sees, and not in steps
_MOST_COUNTS: Final = 4096
_MOST_GUESSES: Final = 1024
_traced_plan = later("wengert.run.compiled.compiler", "traced_plan")
_signature = attrgetter("signature")


class _Count:
    """Statistics of a structure."""

    __slots__ = ("long", "needed", "runs", "tried", "vain")

    def __init__(self, needed: int) -> None:
        self.runs = 0  # by the interpreter, since its latest plan was made
        self.needed = needed  # of them for the next plan
        self.tried = False  # whether there was to be a plan before
        self.long = False  # too long for one plan, with cells: these are worth programs of their own
        self.vain = 0  # times in turn that none of its plans has fitted


class _Guess:
    """The plan that roots of one signature had the last time."""

    __slots__ = ("again", "key")

    def __init__(self, key: int) -> None:
        self.key = key
        self.again = False  # twice in turn: it is worth a look before the structure is known


class Plans:
    """All plans of one interpreter."""

    def __init__(
        self,
        worth: int = WORTH,
        program: Callable[..., PlanProgram] | None = None,
        stacked: bool = True,
        in_steps: bool = False,
    ) -> None:
        self._worth = worth
        self._in_steps = (
            in_steps  # whether plans of many small nodes are made in several runs, a step in each
        )
        self._program = program
        self._stacked = stacked
        self._counts: dict[int, _Count] = {}
        self._guesses: dict[tuple[Mode, Signature], _Guess] = {}
        self._plans: Cache[int, Plan] = Cache(_ALIKE)

    def find(self, root: Expression, mode: Mode, targets: Sequence[Expression] = ()) -> Bound | None:
        """The plan of `root`, where nothing has to be known of its structure: it ran before, or one like it did."""
        kept = getattr(root, "_kept", None)
        if kept is not None and kept[0] is self and kept[1] == mode:
            found: Bound = kept[2]
            if found.plan.gone:
                root._kept = None  # type: ignore[attr-defined] # where it was found
            elif _same(found.targets, targets):
                found.plan.used = clock()
                return found
        if not isinstance(root, Node):
            return None
        guess = self._guesses.get((mode, root.signature))
        if guess is None or not guess.again:
            return None
        bound = self._fitting(guess.key, root, mode, targets)
        if bound is None:
            guess.again = False
        return bound

    def key(self, nodes: Sequence[Node], mode: Mode, weights: int, targets: int = 0) -> int:
        """Key of the expressions of one structure: their nodes, the root last, and two counts.

        It costs 2 to 3 % of what the interpreter takes; with the places of operands it would be 15 %, so expressions
        that differ in nothing else have it in common, too. Of one that is too long for a plan it is some of its nodes.
        """
        if len(nodes) > MOST:
            nodes = [*nodes[:: len(nodes) // _SAMPLE or 1], nodes[-1]]
            weights = -weights
        return hash((mode, weights, targets, *map(_signature, nodes)))

    def known(self, key: int, root: Node, mode: Mode, targets: Sequence[Expression] = ()) -> Bound | None:
        """The plan of `root`, whose structure has that key."""
        if not self._plans.of(key):
            return None
        count = self._counts.get(key)
        if count is not None and count.vain >= _VAIN and count.vain % _VAIN:
            count.vain += 1
            return None
        bound = self._fitting(key, root, mode, targets)
        if count is not None:
            count.vain = 0 if bound is not None else count.vain + 1
        if bound is None:
            return None
        guess = self._guesses.get((mode, root.signature))
        if guess is None or guess.key != key:
            if len(self._guesses) >= _MOST_GUESSES:
                self._guesses.pop(next(iter(self._guesses)), None)
            self._guesses[mode, root.signature] = _Guess(key)
        else:
            guess.again = True
        return bound

    def _fitting(self, key: int, root: Node, mode: Mode, targets: Sequence[Expression]) -> Bound | None:
        for plan in self._plans.of(key):
            bound = plan.bound(root)
            if bound is not None and _same(bound.targets, targets):
                self._plans.use(key, plan)
                if not targets or all(root is not x for x in targets):  # or it would hold itself (S13)
                    root._kept = (self, mode, bound)
                return bound
        return None

    def earned(self, key: int, nodes: Sequence[Node], mode: Mode) -> bool:
        """Count a run of this structure, the root last; whether it should be traced this time."""
        count = self._counts.get(key)
        if count is None:
            count = self._counts[key] = _Count(self._worth)
            if len(self._counts) > _MOST_COUNTS:
                self._counts.pop(next(iter(self._counts)), None)
        count.runs += 1
        if count.runs < count.needed or (mode != "predict" and not nodes[-1].kind.trainable):
            return False
        count.runs = 0
        if count.tried and len(self._plans.of(key)) in (0, _ALIKE):
            count.needed *= 2  # it had to go for others, or could not be made; or many have the key
        count.tried = True
        if any(n.signature.mode in (EXTERNAL, UNRESOLVED) for n in nodes):
            return False
        short = len(nodes) <= MOST and is_short(nodes)
        count.long = not short and has_cells(nodes)
        return short

    def advanced(self, key: int) -> bool:
        """Whether a plan of this structure is in the making: one more step of it has been made."""
        for plan in self._plans.of(key):
            if not plan.ready:
                self._plans.use(key, plan)
                with without_collector():
                    going = plan.advance()
                if not going:
                    if plan.early:
                        self._plans.drop(key, plan)
                    grown(plan.size())
                return True
        return False

    def long(self, key: int) -> bool:
        """Whether this structure has earned a plan and is too long for one, so that its parts get programs."""
        count = self._counts.get(key)
        return count is not None and count.long

    def make(
        self,
        key: int,
        evaluation: Evaluation,
        nodes: Sequence[Node],
        mode: Mode,
        targets: Sequence[Expression] = (),
    ) -> bool:
        """Evaluate `nodes`, the root last, by tracing them, and keep the plan.

        False where that fails: nothing has changed then, and the interpreter has to tell why.
        """
        at_once = not self._in_steps or len(nodes) < _TINY or not is_light(nodes)
        with (
            without_collector()
        ):  # it goes through all that a trace holds, again and again: 1.2 times as long
            plan: Plan | None = _traced_plan(
                evaluation, nodes, mode, targets, self._program, self._stacked, at_once
            )
        count = self._counts.get(key)
        if plan is not None and not plan.early:
            self._plans.keep(key, plan)
        elif plan is not None and count is not None:
            count.tried = False  # a run of some weight's first step tells nothing of the others
        return plan is not None


def answer(
    plans: Plans | None,
    evaluation: Evaluation,
    nodes: Sequence[Node],
    mode: Mode,
    targets: Sequence[Expression] = (),
) -> Bound | bool:
    """The plan for an expression with these nodes; else whether this evaluation made one, and so has been done."""
    if plans is None or not nodes:
        return False
    key = plans.key(nodes, mode, len(evaluation.values), len(targets))
    bound = plans.known(key, nodes[-1], mode, targets)
    if bound is not None:
        return bound
    if plans.advanced(key):
        return False
    if plans.earned(key, nodes, mode):
        return plans.make(key, evaluation, nodes, mode, targets)
    evaluation.segments.in_parts = plans.long(key)
    return False


def _same(a: Sequence[Expression], b: Sequence[Expression]) -> bool:
    return len(a) == len(b) and all(map(is_, a, b))
