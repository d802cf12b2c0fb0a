"""Which structures have earned a plan, and where the plan of an expression is found.

Knows: that a plan pays after some runs, so the interpreter goes first and counts; that an expression which is
run again remembers its plan, and one that is built anew finds it by its root's signature and its structure.
Refuses to know: how a plan is made and run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from operator import attrgetter, is_
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from wengert.graph.node import Expression, Node
from wengert.graph.operation import EXTERNAL, UNRESOLVED, Signature
from wengert.run.compiled.length import MOST, is_short
from wengert.run.evaluation import Evaluation

if TYPE_CHECKING:
    from wengert.run.compiled.plan import Bound, Plan
    from wengert.run.compiled.program import Program

    Made: TypeAlias = Callable[..., Plan | None]

Mode = Literal["predict", "train", "gradients"]

WORTH: Final = 8  # runs after which a structure gets its plan: making one costs about as much as 20 of them
_MOST_PLANS: Final = 8  # for one signature of a root; the one that was found least recently goes
_MOST_OF_ALL: Final = 64  # programs keep their buffers
_MOST_COUNTS: Final = 4096
_signature = attrgetter("_signature")


class Plans:
    """All plans of one interpreter."""

    def __init__(
        self, worth: int = WORTH, program: Callable[..., Program] | None = None, stacked: bool = True
    ) -> None:
        self._worth = worth
        self._program = program
        self._stacked = stacked
        self._counts: dict[object, int] = {}
        self._plans: dict[tuple[Mode, Signature], tuple[Plan, ...]] = {}  # those found last come last

    def find(self, root: Expression, mode: Mode, targets: Sequence[Expression] = ()) -> Bound | None:
        """The plan of `root`, if its structure has one."""
        kept = getattr(root, "_kept", None)
        if kept is not None and kept[0] is self and kept[1] == mode:
            found: Bound = kept[2]
            if _same(found.targets, targets):
                return found
        if not isinstance(root, Node):
            return None
        for plan in self._plans.get((mode, root._signature), ()):
            bound = plan.bound(root)
            if bound is not None and _same(bound.targets, targets):
                self._first(plan, root, mode)
                if not targets or all(root is not x for x in targets):  # or it would hold itself (S13)
                    root._kept = (self, mode, bound)
                return bound
        return None

    def _first(self, plan: Plan, root: Node, mode: Mode) -> None:
        """Have a plan be the first to be tried for such roots; a new tuple, for others may be reading."""
        key = (mode, root._signature)
        plans = self._plans.get(key, ())
        if not plans or plans[0] is not plan:
            self._plans.pop(key, None)
            self._plans[key] = (plan, *(other for other in plans if other is not plan))[:_MOST_PLANS]
            if sum(map(len, tuple(self._plans.values()))) > _MOST_OF_ALL:
                self._plans.pop(next(iter(self._plans)), None)

    def earned(self, nodes: Sequence[Node], mode: Mode) -> bool:
        """Count a run of this structure, the root last; whether it should be traced this time."""
        if not 0 < len(nodes) <= MOST:
            return False
        key = hash((mode, *map(_signature, nodes)))
        count = self._counts[key] = self._counts.get(key, 0) + 1
        if len(self._counts) > _MOST_COUNTS:
            self._counts = {}
        if count < self._worth or (mode != "predict" and not nodes[-1]._kind.trainable):
            return False
        self._counts.pop(key, None)  # should the plan be dropped for others, it has to be earned again
        return is_short(nodes) and all(n._signature.mode not in (EXTERNAL, UNRESOLVED) for n in nodes)

    def make(
        self, evaluation: Evaluation, nodes: Sequence[Node], mode: Mode, targets: Sequence[Expression] = ()
    ) -> bool:
        """Evaluate `nodes`, the root last, by tracing them, and keep the plan.

        False where that fails: nothing has changed then, and the interpreter has to tell why.
        """
        # loaded with the first plan: a tenth of what importing Wengert would take
        made: Made = import_module("wengert.run.compiled.making").made
        plan = made(evaluation, nodes, mode, targets, self._program, self._stacked)
        if plan is not None and not plan.early:
            self._first(plan, nodes[-1], mode)
        return plan is not None


def _same(a: Sequence[Expression], b: Sequence[Expression]) -> bool:
    return len(a) == len(b) and all(map(is_, a, b))
