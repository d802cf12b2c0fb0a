"""Expressions that are run again: the schedule is found by identity, and nothing is looked at node by node.

Knows: that an expression does not change, so neither does its schedule, nor its literals in their tables.
Refuses to know: how schedules are made; a run that fails is left to those who can say why.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from wengert.arrays import Value, all_quiet, one_like
from wengert.arrays.rows import stacked
from wengert.control import Run
from wengert.graph.node import Expression, Node
from wengert.run.batching.execution import Backward, BoundSchedule, RegionRun
from wengert.run.batching.schedule import Place
from wengert.run.commit import commit
from wengert.run.compiled.interrupted import Interrupted, settle
from wengert.run.compiled.plans import Mode, Plans
from wengert.run.received import handed_over


class Kept(Plans):
    """What an interpreter asks for plans: here they are the schedules that expressions remember."""

    def find(
        self, root: Expression, mode: Mode, targets: Sequence[Expression] = ()
    ) -> Any:  # Any: as `BoundSchedule`
        """The schedule of `root`, if it has run before: its own for predictions, and one with a way back.

        In the two rows stand in other orders, and a product of matrices has other bits then.
        """
        kept = getattr(root, "_kept", None)
        if kept is None or kept[0] is not self or mode == "gradients":
            return None
        found = kept[1].get(mode == "train")
        return None if found is None else KeptRun(*found)

    def key(self, nodes: Sequence[Node], mode: Mode, weights: int, targets: int = 0) -> int:
        """Nothing: a schedule is found by what has been recorded."""
        return 0

    def known(self, key: int, root: Node, mode: Mode, targets: Sequence[Expression] = ()) -> None:
        """None."""

    def earned(self, key: int, nodes: Sequence[Node], mode: Mode) -> bool:
        """Never: a schedule is made in the first run."""
        return False

    def advanced(self, key: int) -> bool:
        """Never."""
        return False

    def long(self, key: int) -> bool:
        """Never."""
        return False

    def keep(self, root: Node, bound: BoundSchedule, place: Place) -> None:
        """Have `root` remember its schedule, unless that would hold on to a node of it (S13)."""
        if bound.keepable:
            kept: Any = getattr(root, "_kept", None)  # Any: as in `find`
            others = kept[1] if kept is not None and kept[0] is self else {}
            root._kept = (self, {**others, bound.schedule.lost is None: (bound, place)})


class _Weights:
    """The data of weights as they were when a run began."""

    def __init__(self, snapshot: int) -> None:
        self.snapshot = snapshot

    def __getitem__(self, weight: Any) -> Value:  # Any: a weight of any kind
        return weight.ref.at(self.snapshot)

    def stacked(
        self, given: Sequence[Any]
    ) -> Value:  # Any: literals, as nothing that is kept has other values
        return stacked(given)


class KeptRun:
    """One run of a schedule that was found."""

    def __init__(self, bound: BoundSchedule, place: Place) -> None:
        self.bound = bound
        self.place = place

    def predict(self, root: Expression, snapshot: int) -> Value:
        """The data of the expression."""
        region = self._forward(snapshot, False, None)
        region.release()
        return handed_over(region.value(self.place), root.kind, {})

    def trained(self, loss: Expression, run: Run, snapshot: int) -> tuple[Value, Callable[[], Value]]:
        """The loss, to look at, and what makes the changes of weights and gives the loss."""
        region = self._forward(snapshot, True, run)
        value = region.value(self.place)
        deltas: dict[Expression, Value] = {}
        if loss.kind.trainable:
            try:
                with all_quiet():
                    deltas = Backward(region, [(self.place, one_like(value))], False).run(run.check)
            except Exception as failure:
                raise Interrupted from failure
        value = handed_over(value, loss.kind, {})

        def change() -> Value:
            settle(run, value)
            commit(deltas, snapshot, value, _interrupt)
            region.release()
            return value

        return value, change

    def _forward(self, snapshot: int, keeps: bool, run: Run | None) -> RegionRun:
        region = RegionRun(self.bound, _Weights(snapshot), keeps)
        try:
            with all_quiet():
                region.forward(_nothing if run is None else run.check)
        except Exception as failure:
            raise Interrupted from failure
        return region


def _nothing() -> None:
    """A prediction of what is kept is not cancelled on its way."""


def _interrupt(refusal: Exception) -> None:
    raise Interrupted from refusal
