"""Evaluation in rounds: fibers run until each waits or has ended, and what they wait for runs as one batch.

Knows: that a round is a region of the graph, run forward at once and backward at its turn; that where a batch fails,
its nodes run one by one, which says whose failure it is; that each bind, and each branch of a `gather`, is a fiber;
that fibers go on in the order in which they came, and those that wait for an outcome from elsewhere when it is known.
Refuses to know: how a region runs, and threads.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from itertools import groupby
from operator import attrgetter
from queue import SimpleQueue
from typing import Any, Final, TypeAlias

from wengert.arrays import Value, all_quiet
from wengert.control import Context, Do, Steps
from wengert.control.do import Question, Shared, Within
from wengert.control.machine import Settling
from wengert.differentiable import Tape
from wengert.graph.node import Expression, Node
from wengert.graph.operand import tape_of
from wengert.graph.operation import EXTERNAL
from wengert.graph.order import below_all
from wengert.run.batching.cache import ScheduleCache
from wengert.run.batching.execution import BatchRun, Known
from wengert.run.batching.region import Region
from wengert.run.evaluation import Evaluation
from wengert.run.fibers import Fiber, Fork, Joined, Turn, Wait, WaitShared
from wengert.run.loops import ONE_THREAD, Loops, backward, forward, noted
from wengert.run.own import may_train
from wengert.run.tapes import OwnTape, checked, received

STOPS: Final[frozenset[type]] = frozenset({Wait, WaitShared, Fork})
TURNS: Final[frozenset[type]] = frozenset({Turn, Shared, Within})
Onward: TypeAlias = Callable[[Sequence[Fiber]], list[Fiber]]
# moves fibers at once, and gives those that have stopped: none, where each has its turn; see `Waves`
Moving: TypeAlias = Callable[[Sequence[Fiber], Sequence[object], Onward], Collection[Fiber]]
serial = attrgetter("serial")


def _does_more(fiber: Fiber) -> bool:
    """True if it is more than one question."""
    return len(fiber.frames) > 1 if fiber.asked is None else not isinstance(fiber.asked, Question)


class Scheduler:
    """The fibers of an evaluation that have begun and not ended, and the expressions that they wait for."""

    def __init__(self, evaluation: Batching, waves: Moving | None = None) -> None:
        self.evaluation = evaluation
        self.waves = waves
        self.fibers: dict[Fiber, Node | None] = {}  # of a bind its node; in the order in which they came
        self.ready: deque[Fiber] = deque()
        self.current: Fiber | None = None
        self.opened: list[Joined] = []  # binds that have ended, and left something open
        self.sharing: dict[Fiber, WaitShared] = {}
        self.outside = 0  # fibers that wait for an outcome from elsewhere
        self.arrived: SimpleQueue[Fiber | None] = SimpleQueue()  # of them; None: the run is cancelled
        self.begun: set[Node] = set()
        self.waiting: dict[Expression, list[Fiber]] = {}
        self.fresh: list[Expression] = []  # that are waited for, and have not been looked at
        self.free: list[Expression] = []  # below which nothing waits
        self.missing: dict[Expression, int] = {}  # how many binds below one have not ended
        self.blocked: dict[Node, list[Expression]] = {}  # the expressions above a bind

    def close(self) -> None:
        """Let go of the evaluation, which holds this."""
        del self.evaluation

    def begin(self, fiber: Fiber, node: Node | None = None) -> Fiber:
        """Admit a fiber; with a `node`, that of a bind."""
        self.fibers[fiber] = node
        self.ready.append(fiber)
        return fiber

    def open(self, node: Node, context: Context) -> Fiber:
        """Begin a bind; a user's value that stands in two places is asked once."""
        (value,) = node.operands
        first = node if isinstance(value, Do) else self.evaluation.opened.setdefault(id(value), node)
        source: Do[Any]
        try:
            source = tape_of(node) if first is node else Do.program(partial(self.evaluation.same_as, first))
        except Exception as failure:
            source = Do.fail(failure)
        self.begun.add(node)
        return self.begin(Fiber(source, Context(context.run, self.evaluation), STOPS), node)

    def run(self, context: Context, until: Sequence[Fiber]) -> Steps[None]:
        """Run, round by round, until these have ended."""
        try:
            while self._left(until):
                self._advance(context)
                while self.opened:
                    yield self.opened[0]
                    del self.opened[0]
                while self.outside and not self.arrived.empty():
                    self._arrive(context)
                if not self.ready and self._left(until):
                    yield from self._round(context)
        except BaseException as stop:
            self._abandon(stop)
            raise

    def _left(self, until: Sequence[Fiber]) -> bool:
        return any(fiber in self.fibers for fiber in until)

    def _advance(self, context: Context) -> None:
        """Run each fiber that can to its next stop."""
        while self.ready:
            fibers = [*self.ready]
            self.ready.clear()
            gone = self._together(fibers, context)
            for fiber in gone or fibers:
                if not gone or fiber.asked.__class__ in TURNS:
                    before, self.current = self.current, fiber
                    try:
                        fiber.go()
                    finally:
                        self.current = before
                self._stopped(fiber)

    def _together(self, fibers: Sequence[Fiber], context: Context) -> Sequence[Fiber]:
        """The fibers that have stopped after they moved as one wave; none, where each has its turn."""
        if self.waves is None or sum(map(_does_more, fibers)) + (len(self.free) > 0) < 2:
            return ()
        if any(self.fibers[fiber] is not None for fiber in fibers):
            # binds will ask for tapes, which then need not wait for their turn
            may_train(self.evaluation, context.run)
        sources = [*map(self._source, (fibers[0], fibers[-1]))]
        before, self.current = self.current, fibers[0]
        try:
            known = sources if all(isinstance(x, Do) for x in sources) else ()
            gone = self.waves(fibers, known, partial(self._onward, context))
        finally:
            self.current = before
        return [fiber for fiber in self.fibers if fiber in gone] if gone else ()

    def _onward(self, context: Context, stopped: Sequence[Fiber]) -> list[Fiber]:
        """Go on with fibers that have stopped, while others last; those that can go on now."""
        for fiber in stopped:
            self._stopped(fiber)
        while not self.ready and (self.fresh or self.free):
            for _ in self._values(context):
                raise AssertionError("below what is computed here nothing waits")
        found = [*self.ready]
        self.ready.clear()
        return found

    def _source(self, fiber: Fiber) -> object:
        """Source of a fiber; of a branch that has begun, the outermost part that is left."""
        x = self.fibers[fiber]
        return x.operands[0] if x is not None else fiber.frames[0] if fiber.asked is None else fiber.asked

    def _stopped(self, fiber: Fiber) -> None:
        """A fiber has asked for something, or has ended."""
        asked = fiber.asked
        if asked is None:
            self._ended(fiber)
        elif isinstance(asked, Wait):
            if asked.root not in self.waiting:
                self.waiting[asked.root] = []
                self.fresh.append(asked.root)
            self.waiting[asked.root].append(fiber)
        elif isinstance(asked, WaitShared):
            self.sharing[fiber] = asked
        elif isinstance(asked, Settling):
            self.outside += 1
            asked.pending.then(partial(self.arrived.put, fiber))
        elif branches := fiber.fork():
            for branch in branches:
                self.begin(branch)
        else:
            self.ready.append(fiber)
        for other, wait in [*self.sharing.items()]:
            if wait.cell.known:
                del self.sharing[other]
                other.asked = wait.source
                self.ready.append(other)

    def _arrive(self, context: Context) -> None:
        """Wait for an outcome from elsewhere."""
        wake = partial(self.arrived.put, None)
        context.run.on_cancel(wake)
        try:
            fiber = self.arrived.get()
        finally:
            context.run.discard(wake)
        context.run.check()
        if fiber is not None:
            self.outside -= 1
            self.ready.append(fiber)

    def _ended(self, fiber: Fiber) -> None:
        if fiber.failure is not None:
            fiber.release(0)
        node = self.fibers.pop(fiber)
        if fiber.parent is not None and fiber.parent.branch_ended():
            self.ready.append(fiber.parent)
        if node is not None:
            self.evaluation.arrived(node, fiber)
            if fiber.finalizers:
                self.opened.append(Joined(fiber))
            for x in self.blocked.pop(node, ()):
                self.missing[x] -= 1
                if not self.missing[x]:
                    del self.missing[x]
                    self.free.append(x)

    def _round(self, context: Context) -> Steps[None]:
        """Values of what is waited for, or an outcome from elsewhere."""
        yield from self._values(context)
        if self.ready:
            return
        if self.outside:
            self._arrive(context)
        else:
            self._circle()

    def _values(self, context: Context) -> Steps[None]:
        """Values of what is waited for, unless there are binds below it that have not ended."""
        evaluation, fresh = self.evaluation, self.fresh
        self.fresh = []
        nodes = evaluation.recorded([*self.free, *fresh])
        if evaluation.binds_in(nodes):
            self._sort(fresh, context)
            if self.ready:
                return
            nodes = evaluation.recorded(self.free)
        else:
            self.free += fresh
        found, self.free = self.free, []
        yield from evaluation.values_of(nodes, context)
        for x in found:
            for fiber in self.waiting.pop(x):
                fiber.answered()
                self.ready.append(fiber)

    def _sort(self, fresh: Sequence[Expression], context: Context) -> None:
        """Tell free expressions from those that wait for binds; new binds begin."""
        clear: set[Expression] = set()
        for x in fresh:
            binds = self._below(x, clear)
            if not binds:
                self.free.append(x)
                continue
            self.missing[x] = len(binds)
            for node in binds:
                self.blocked.setdefault(node, []).append(x)
                if node not in self.begun:
                    self.open(node, context)

    def _below(self, root: Expression, clear: set[Expression]) -> list[Node]:
        """The binds below `root` that have not ended; `clear` are nodes without any, and gets more of them."""
        binds: list[Node] = []
        seen: set[Expression] = {root}
        stack: list[Any] = [root]  # Any: nodes
        while stack:
            node = stack.pop()
            if node in self.evaluation.known or node in self.evaluation.failed:
                continue
            if node.signature.mode == EXTERNAL:
                binds.append(node)
            for i in node.signature.nodes:
                x = node.operands[i]
                if isinstance(x, Node) and x not in seen and x not in clear:
                    seen.add(x)
                    stack.append(x)
        if not binds:
            clear |= seen
        return binds

    def _circle(self) -> None:
        """Fail every fiber that waits, as each waits for another."""
        for x, fibers in self.waiting.items():
            for fiber in fibers:
                node = self.fibers[fiber]
                what = x if node is None else node
                fiber.asked = Do.fail(RecursionError(f"{what!r} waits for itself: its own Do uses it"))
                self.ready.append(fiber)
        for fiber in self.sharing:
            fiber.asked = Do.fail(RecursionError("a shared Do waits for itself: its own computation uses it"))
            self.ready.append(fiber)
        for waits in (self.sharing, self.waiting, self.missing, self.blocked):
            waits.clear()
        assert self.ready, "a fiber that has not ended waits for something"

    def _abandon(self, stop: BaseException) -> None:
        """Let go of everything, as the run ends here."""
        fibers = [*self.fibers, *(joined.fiber for joined in self.opened)]
        for waits in (self.ready, self.fresh, self.free, self.opened):
            waits.clear()
        for table in (self.fibers, self.waiting, self.sharing, self.missing, self.blocked):
            table.clear()
        for fiber in reversed(fibers):
            fiber.abandon(stop)


class Order(list[Node]):
    """Takes down single nodes where rounds stand as well, and stays empty: not all values are in one place."""

    __slots__ = ("timeline",)

    def __init__(self, timeline: list[BatchRun | Node]) -> None:
        super().__init__()
        self.timeline = timeline

    def append(self, node: Node) -> None:
        self.timeline.append(node)

    def extend(self, nodes: Iterable[Node]) -> None:
        self.timeline.extend(nodes)


_FAILED: Final = "its nodes ran one by one; unless one of them failed too, this is a defect of Wengert:"


class Batching(Evaluation):
    """The values and deltas of one run, round by round."""

    # a class with room for attributes, so that a run without an own evaluation can be one of both kinds
    in_order = False

    def __init__(
        self, schedules: ScheduleCache, waves: Moving | None, snapshot: int, loops: Loops = ONE_THREAD
    ) -> None:
        """`waves`: fibers that can go on do so together."""
        super().__init__(snapshot, loops)
        self.schedules = schedules
        self.before = schedules.latest
        self.timeline: list[BatchRun | Node] = []
        self.order = Order(self.timeline)
        self.known = Known(self.values)
        self.scheduler = Scheduler(self, waves)

    def __exit__(self, *failure: object) -> None:
        super().__exit__(*failure)
        for item in self.timeline:
            if isinstance(item, BatchRun):
                item.release()
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

    def value(self, root: Expression) -> Value:
        return super().value(root) if root in self.failed else self.known[root]

    def carefully(self, nodes: list[Node], context: Context) -> Steps[None]:
        if not isinstance(nodes, Region):
            yield from self._one_by_one(nodes, context)
            return
        while opened := self.binds_in(nodes):
            yield from self.scheduler.run(context, [self.scheduler.open(node, context) for node in opened])
            nodes = self.recorded(nodes)
        yield from self.values_of(nodes, context, self.goes_back)

    def values_of(self, nodes: Region, context: Context, back: bool = True) -> Steps[None]:
        """The values of roots below which nothing waits. Without a way `back` nobody will ask for any others."""
        if self.failed or not self._runs(nodes, context.run.check, back):
            yield from self._one_by_one(self._below(nodes), context)

    def _below(self, roots: Sequence[Node]) -> list[Node]:
        """The nodes that have no value yet; the weights among them get theirs."""
        nodes, weights = below_all(roots, self.known)
        self.read(weights)
        return sorted(nodes, key=serial)

    def recorded(self, roots: Sequence[Expression]) -> Region:
        """The nodes below roots that have no value yet."""
        nodes = [x for x in roots if isinstance(x, Node)]
        return self.schedules.record(nodes, self.known if self.values or self.timeline else None, self.before)

    def binds_in(self, nodes: Region) -> list[Node]:
        """The nodes whose values come from a `Do` that has not run."""
        return [node for node in nodes.binds() if node not in self.failed]

    def same_as(self, first: Node, context: Context) -> Steps[Tape[Any, Any]]:
        """The tape of a user's value that another node has asked for already."""
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
            del failure, fiber  # a failure's traceback holds this frame

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

    def _runs(self, nodes: Region, check: Callable[[], object], back: bool = True) -> bool:
        """Run the nodes as one region; False where they have to run one by one."""
        bound = self.schedules.bound(nodes, [*nodes, *self.wanted], back)
        if bound is None:
            return False
        self.read(bound.weights())
        batch = BatchRun(bound, self.known, self.goes_back, nodes)
        try:
            with all_quiet():
                batch.forward(check)
        except Exception as failure:
            batch.explain(failure)
            report = self.schedules.report
            report.runs += 1
            report.alone("a batch", f"{_FAILED} {failure!r}"[:200], nodes[-1].site, nodes.size)
            return False
        if not self.timeline and not self.wanted and len(nodes) == 1:
            place = batch.place(nodes[0])
            assert place is not None, "a root is in its own batch"
            self.schedules.keep(nodes[0], bound, place)
        self.timeline.append(batch)
        self.known.add(batch)
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

    def _is_plain(self, item: BatchRun | Node) -> bool:
        """True if this is a node that neither has nor feeds a tape, so that the loop of others can do it."""
        if not isinstance(item, Node) or item in self.tapes or item in self.pending or item in self.resolved:
            return False
        return not self.wanted and not any(item.operands[i] in self.tapes for i in item.signature.nodes)

    def _send_through(self, of: BatchRun, check: Callable[[], object], failures: list[Exception]) -> None:
        """Take the deltas that have arrived at rows of a batch, run it backward, and add the deltas that leave it."""
        arrived = {x: place for x in self.deltas if (place := of.place(x)) is not None}
        if not arrived:
            return
        sent = {x: self.deltas.pop(x) for x in arrived}
        wanted = {x: place for x in self.wanted if (place := of.place(x)) is not None}
        try:
            with all_quiet():
                leaving, found = of.backward([(arrived[x], sent[x]) for x in sent], check, [*wanted.values()])
        except Exception as failure:
            of.explain(failure)
            leaving = self._sent_one_by_one(of, sent, failure, failures)
        else:
            self.wanted |= {x: d for x, d in zip(wanted, found, strict=True) if d is not None}
        with all_quiet():
            for x, delta in leaving.items():
                self.add(x, delta)

    def _sent_one_by_one(
        self, of: BatchRun, deltas: dict[Expression, Value], failure: Exception, failures: list[Exception]
    ) -> dict[Expression, Value]:
        """Run a batch backward node by node; failures are added to `failures`."""
        assert of.region is not None, "its nodes may be asked for"
        values: dict[Expression, Value] = {}
        for binding in of.bound.bindings:
            values |= {x: self.known[x] for x in binding.given if isinstance(x, Expression)}
            values |= {weight: self.known[weight] for _, weight in binding.weights}
        order = sorted(below_all(of.region, values)[0], key=serial)
        found: list[Exception] = []
        with all_quiet():
            if forward(order, values, {}) < len(order) or any(x in self.wanted for x in order):
                found.append(failure)
            else:
                backward(order, values, deltas, found)
        failures += found
        return {} if found else deltas


def _is_node(item: object) -> bool:
    return isinstance(item, Node)
