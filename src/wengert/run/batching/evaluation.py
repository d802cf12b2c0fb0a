"""An evaluation in rounds: what is known to be needed runs as one batch, and what waits for it goes on after.

Knows: that a round is a region of the graph, run forward at once and backward at its turn; that where a batch
fails, its nodes run one by one, which says whose failure it is.
Refuses to know: how a region runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby
from time import perf_counter
from typing import Any, Final

from wengert.arrays import Value, all_quiet
from wengert.control import Context, Do, Run, Steps
from wengert.differentiable import Tape
from wengert.graph.node import Expression, Node
from wengert.graph.order import below_all
from wengert.run.batching.cache import KeptSchedules, ScheduleCache
from wengert.run.batching.execution import RegionRun
from wengert.run.batching.rounds import Known, Order, Recorded, Round, sent_through, serial
from wengert.run.batching.scheduler import STOPS, Scheduler, Waves
from wengert.run.evaluation import Evaluation
from wengert.run.fibers import Fiber, Fork, Wait
from wengert.run.loops import ONE_THREAD, Loops
from wengert.run.notes import noted, raise_all
from wengert.run.received import OwnTape, checked, received

_FAILED: Final = "its nodes ran one by one; unless one of them failed too, this is a defect of Wengert:"


class Batching(Evaluation):
    """The values and deltas of one run, round by round."""

    # a class with room for attributes, so that a run without an own evaluation can be one of both kinds
    def __init__(
        self,
        schedules: ScheduleCache,
        kept: KeptSchedules,
        waves: Waves | None,
        snapshot: int,
        loops: Loops = ONE_THREAD,
    ) -> None:
        super().__init__(snapshot, loops)
        self.begins(schedules, kept, waves)

    def begins(self, schedules: ScheduleCache, kept: KeptSchedules, waves: Waves | None) -> None:
        """`waves`: fibers that can go on do so together."""
        self.schedules = schedules
        self.before = schedules.latest
        self.kept = kept
        self.timeline: list[Round | Node] = []
        self.order = Order(self.timeline)
        self.known = Known(self.values)
        self.scheduler = Scheduler(self, waves)

    def __exit__(self, *failure: object) -> None:
        super().__exit__(*failure)
        for item in self.timeline:
            if isinstance(item, Round):
                item.region.release()
        self.scheduler.close()
        self.known.close()

    # -- forward ------------------------------------------------------------------------------------

    def begin(self, root: Expression) -> list[Node]:
        if not isinstance(root, Node):
            return super().begin(root)
        if root in self.known:
            return []
        return self.recorded([root])

    def evaluate(self, root: Expression, context: Context, nodes: list[Node] | None = None) -> Steps[Value]:
        if not isinstance(root, Node):
            self.begin(root)
        elif root not in self.known and root not in self.failed:
            if self.scheduler.current is not None:  # others may wait as well
                yield Wait(root)
            else:
                yield from self.carefully(self.begin(root) if nodes is None else nodes, context)
        return self.value(root)

    def branches(self, parts: Sequence[Do[Any]], context: Context) -> Steps[tuple[Any, ...]]:
        """The values of a `gather`: all branches run until each waits."""
        fork = Fork(parts)
        if self.scheduler.current is not None:
            return fork.steps()
        fibers = [self.scheduler.begin(fiber) for fiber in fork.begin(context, STOPS)]
        return fork.steps(self.scheduler.run(context, fibers))

    def there_and_back(self, loss: Expression, run: Run, nodes: list[Node]) -> list[Node]:
        if not isinstance(nodes, Recorded):
            return super().there_and_back(loss, run, nodes)
        if self.binds_in(nodes):
            return nodes
        if not self._runs(nodes, run.check):
            return self._below(nodes)
        self.seed(loss)
        failures: list[Exception] = []
        for item in reversed(self.timeline):
            assert isinstance(item, Round), "nothing here waits"
            self._send_through(item, run.check, failures)
        raise_all(failures)
        return []

    def value(self, root: Expression) -> Value:
        return super().value(root) if root in self.failed else self.known[root]

    def carefully(self, nodes: list[Node], context: Context) -> Steps[None]:
        if not isinstance(nodes, Recorded):
            yield from self._one_by_one(nodes, context)
            return
        while opened := self.binds_in(nodes):
            yield from self.scheduler.run(context, [self.scheduler.open(node, context) for node in opened])
            nodes = self.recorded(nodes)
        yield from self.values_of(nodes, context, self.goes_back)

    def values_of(self, nodes: Recorded, context: Context, back: bool = True) -> Steps[None]:
        """The values of roots below which nothing waits. Without a way `back` nobody will ask for any others."""
        if self.failed or not self._runs(nodes, context.run.check, back):
            yield from self._one_by_one(self._below(nodes), context)

    def _below(self, roots: Sequence[Node]) -> list[Node]:
        """The nodes that have no value yet; the weights among them get theirs."""
        nodes, weights = below_all(roots, self.known)
        self.read(weights)
        return sorted(nodes, key=serial)

    def recorded(self, roots: Sequence[Expression]) -> Recorded:
        """The nodes below roots that have no value yet."""
        begun = perf_counter()
        nodes = [x for x in roots if isinstance(x, Node)]
        known = self.known if self.values or self.timeline else None
        found = Recorded(nodes, self.schedules.record(nodes, known, self.before))
        self.schedules.report.bookkeeping += perf_counter() - begun
        return found

    def binds_in(self, nodes: Recorded) -> list[Node]:
        """The nodes whose values come from a `Do` that has not run."""
        return [node for node in nodes.opens() if node not in self.failed]

    def same_as(self, first: Node, context: Context) -> Steps[Tape[Any, Any]]:
        """The tape of a user's value that another node has asked for already (S2)."""
        value = yield from self.evaluate(first, context)
        return OwnTape(value, partial(self.receive, first), first)

    def arrived(self, node: Node, fiber: Fiber) -> None:
        """A bind has ended."""
        failure, fiber.failure = fiber.failure, None
        try:
            if failure is not None:
                raise failure
            tape = checked(fiber.value, node)
            self.values[node], self.tapes[node] = received(tape, node), tape
            self.timeline.append(node)
        except Exception as failed:
            self.failed[node] = (noted(failed, node, ()),)
        finally:
            del failure, fiber  # a failure's traceback holds this frame (S13)

    def _one_by_one(self, nodes: list[Node], context: Context) -> Steps[None]:
        """As the sequential interpreter."""
        if self.known.rounds:
            for node in nodes:
                for i in node.signature.nodes:
                    if node.operands[i] in self.known:
                        self.known[node.operands[i]]
        done = 0
        if not self.failed:
            with all_quiet():
                done = self.loops.forward(nodes, self.values, self.failed)
            context.run.check()
            self.timeline += nodes[:done]
        yield from super().carefully(nodes[done:], context)

    def _runs(self, nodes: Recorded, check: Callable[[], object], back: bool = True) -> bool:
        """Run the nodes as one region; False where they have to run one by one."""
        begun = perf_counter()
        bound = self.schedules.bound(nodes.record, [*nodes, *self.wanted], back)
        self.schedules.report.bookkeeping += perf_counter() - begun
        if bound is None:
            return False
        self.read(bound.weights())
        region = RegionRun(bound, self.known, self.goes_back)
        try:
            with all_quiet():
                region.forward(check)
        except Exception as failure:
            self.schedules.report.alone(
                "a batch", f"{_FAILED} {failure!r}"[:200], nodes[-1].site, nodes.record.size
            )
            return False
        made = Round(region, nodes.record, nodes)
        if not self.timeline and not self.wanted and len(nodes) == 1:
            place = made.place(nodes[0])
            assert place is not None, "a root is in its own round"
            self.kept.keep(nodes[0], bound, place)
        self.timeline.append(made)
        self.known.add(made)
        return True

    # -- backward -----------------------------------------------------------------------------------

    def backward(self, context: Context) -> Steps[None]:
        failures: list[Exception] = []
        simple = not (self.tapes or self.pending or self.wanted or self.resolved)
        plain = _is_node if simple else self._is_plain
        for together, items in groupby(reversed(self.timeline[:]), plain):
            if together:
                nodes = [item for item in items if isinstance(item, Node)][::-1]
                with all_quiet():
                    self.loops.backward(nodes, self.values, self.deltas, failures)
                context.run.check()
                continue
            for item in items:
                if isinstance(item, Node):
                    yield from self.back_through(item, context, failures)
                else:
                    for x in [x for x in self.pending if item.place(x) is not None]:
                        yield from self._collect(x, context)
                    self._send_through(item, context.run.check, failures)
        yield from self._settled(context, failures)

    def _is_plain(self, item: Round | Node) -> bool:
        """Whether this is a node that neither has nor feeds a tape, so that the loop of others can do it."""
        if not isinstance(item, Node) or item in self.tapes or item in self.pending or item in self.resolved:
            return False
        return not self.wanted and not any(item.operands[i] in self.tapes for i in item.signature.nodes)

    def _send_through(self, of: Round, check: Callable[[], object], failures: list[Exception]) -> None:
        leaving = sent_through(of, self.known, self.deltas, self.wanted, check, failures)
        with all_quiet():
            for x, delta in leaving.items():
                self.add(x, delta)


def _is_node(item: object) -> bool:
    return isinstance(item, Node)
