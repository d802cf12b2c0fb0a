"""`Batched`: an evaluation in rounds, in which what is known to be needed runs as one batch.

Knows: that it is the sequential interpreter with other evaluations; that a round is a region of the graph, run forward
at once and backward at its turn, and that a value is a row of it until somebody asks for it by itself; that where a
batch fails, its nodes run one by one, which says whose failure it is.
Refuses to know: how a region runs, and which fibers can go on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Any, Final, TypeVar

from wengert.arrays import Value, all_quiet, keep_workspaces
from wengert.arrays.places import argsort, places
from wengert.arrays.rows import joined_rows, stacked, taken
from wengert.control import Context, Do, Run, Steps
from wengert.differentiable import Tape
from wengert.errors import raise_all
from wengert.graph.node import Expression, Node
from wengert.graph.order import below_all
from wengert.graph.template import PART
from wengert.run.batching.cache import ScheduleCache
from wengert.run.batching.execution import BatchRun
from wengert.run.batching.lanes import Lanes
from wengert.run.batching.region import Region
from wengert.run.batching.report import Report
from wengert.run.batching.schedule import Place
from wengert.run.batching.scheduler import STOPS, Scheduler, Waves
from wengert.run.compiled.steps import steps
from wengert.run.evaluation import Evaluation
from wengert.run.fibers import Fiber, Fork, Wait, in_turn
from wengert.run.loops import ONE_THREAD, Loops, backward, forward, noted
from wengert.run.own import Choice, RunsOwn
from wengert.run.sequential import Engine, Interpreter
from wengert.run.shards import Shard
from wengert.run.tapes import OwnTape, checked, received
from wengert.run.threads.autotune import SpeculationTuner
from wengert.run.threads.loops import ThreadedLoops
from wengert.run.threads.pool import ThreadPool, checked_threads

A = TypeVar("A")
serial = attrgetter("serial")


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


class Known:
    """The values of an evaluation, each by itself or as a row of a round."""

    def __init__(self, values: dict[Expression, Value]) -> None:
        self._values = values
        self._rounds: dict[Expression, BatchRun] = {}  # of all their nodes
        self._parts: list[BatchRun] = []  # with nodes that were not met one by one
        self._newest = 0  # serial of all their nodes

    def close(self) -> None:
        """Let go of all rounds, which hold this."""
        self._rounds.clear()
        self._parts.clear()

    @property
    def rounds(self) -> bool:
        """True if there are any rounds."""
        return len(self._rounds) > 0

    def add(self, of: BatchRun) -> None:
        """One more round."""
        assert of.region is not None, "its nodes may be asked for"
        self._rounds.update(dict.fromkeys(of.region.codes, of))
        self._newest = max(self._newest, int(of.region.serials[-1]))
        if not of.region.complete:
            self._parts.append(of)

    def __contains__(self, x: object) -> bool:
        if x in self._values:
            return True
        if not isinstance(x, Node):
            return False
        made = x.operands[0] if x.signature.operation is PART else x  # what a cell gave is as old as the cell
        return made.serial <= self._newest and self._found(x) is not None

    def __getitem__(self, x: Expression) -> Value:
        """Its value, which from now on it has by itself."""
        if x not in self._values:
            found = self._found(x)
            assert found is not None, "asked of known expressions only"
            of, place = found
            self._values[x] = of.value(place)
        return self._values[x]

    def stacked(self, given: Sequence[Any]) -> Value:  # Any: literals, and nodes whose values are known
        """All values as one table; of those that are rows of another one nobody is looked at by itself."""
        groups: dict[tuple[BatchRun, int] | None, tuple[list[int], list[Any]]] = {}  # Any: values, and rows
        for i, x in enumerate(given):
            key, value = self._row(x)
            at, values = groups.setdefault(key, ([], []))
            at.append(i)
            values.append(value)
        pieces = [
            stacked(values) if key is None else taken(key[0].tables[key[1]], places(values))
            for key, (_, values) in groups.items()
        ]
        if len(pieces) == 1:
            return pieces[0]
        order = [i for at, _ in groups.values() for i in at]
        return taken(joined_rows(pieces), argsort(places(order)))

    def _row(self, x: Any) -> tuple[tuple[BatchRun, int] | None, Any]:  # Any: as above
        """In which table it is which row, or no table and the value."""
        if not isinstance(x, Expression):
            return None, x
        found = self._found(x) if x not in self._values else None
        if found is None or found[0].bound.schedule.tables[found[1][0]].loose:
            return None, self[x]
        of, (table, row) = found
        return (of, table), row

    def _found(self, x: Expression) -> tuple[BatchRun, Place] | None:
        of_x = self._rounds.get(x)
        if of_x is None and isinstance(x, Node) and x.signature.operation is PART:
            of_x = self._rounds.get(x.operands[0])
        for of in self._parts if of_x is None else (of_x,):
            place = of.place(x)
            if place is not None:
                return of, place
        return None


_FAILED: Final = "its nodes ran one by one; unless one of them failed too, this is a defect of Wengert:"


class Batching(Evaluation):
    """The values and deltas of one run, round by round."""

    # a class with room for attributes, so that a run without an own evaluation can be one of both kinds
    in_order = False

    def __init__(
        self, schedules: ScheduleCache, waves: Waves | None, snapshot: int, loops: Loops = ONE_THREAD
    ) -> None:
        super().__init__(snapshot, loops)
        self.begins(schedules, waves)

    def begins(self, schedules: ScheduleCache, waves: Waves | None) -> None:
        """`waves`: fibers that can go on do so together."""
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

    def there_and_back(self, loss: Expression, run: Run, nodes: list[Node]) -> list[Node]:
        if not isinstance(nodes, Region):
            return super().there_and_back(loss, run, nodes)
        if self.binds_in(nodes):
            return nodes
        if not self._runs(nodes, run.check):
            return self._below(nodes)
        self.seed(loss)
        failures: list[Exception] = []
        for item in reversed(self.timeline):
            assert isinstance(item, BatchRun), "nothing here waits"
            self._send_through(item, run.check, failures)
        raise_all(failures)
        return []

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

    def gives_tapes(self, run: Run) -> None:
        """Binds will ask for tapes, which then need not wait for their turn."""
        if isinstance(self, RunsOwn):
            self.may_train(run)

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
            self.schedules.report.alone("a batch", f"{_FAILED} {failure!r}"[:200], nodes[-1].site, nodes.size)
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


def batching_engine(
    schedules: ScheduleCache, loops: Loops = ONE_THREAD, waves: Waves | None = None
) -> Engine:
    """The parts of an executor that batches."""
    made, of_run = partial(Batching, schedules, waves), partial(_RunsBatching, schedules, waves)
    return Engine(schedules, loops=loops, evaluations=made, of_run=of_run)


class Batched(Interpreter):
    """Like parts of an expression run together, whatever its shape: trees, graphs, sequences of any lengths.

    A function for one example, such as a recursion over a tree, is written as it is; a loss of many examples, or
    a tuple of them, runs as one program. A function marked `@cell` is what batches best.
    Results equal those of `Sequential` up to rounding, and have the same bits in every run, the first one too, whatever
    ran before. `report` says what ran together, and what did not. Arrays on a GPU stay there. Training keeps
    every value for the way back; a prediction only those that are still read.
    With several `threads`, launches that do not need each other, rules of users, binds and branches overlap; launches
    from when they have been timed to be faster so, with the bits of one thread as long as BLAS has one. Of branches of
    which one lasts 50 ms longer the others go on, and what it asks for later is a batch of its own.
    >>> from wengert import lift, run
    >>> batched = run.Batched()
    >>> (lift(2.0) * 3.0 + lift(4.0) * 5.0).predict().run(batched)
    26.0
    """

    def __init__(self, threads: int = 1) -> None:
        pool = ThreadPool(checked_threads(threads, "Batched"))
        self.threads = pool.threads
        loops = ThreadedLoops(pool) if pool.threads > 1 else Loops()
        loops.step = steps(True).stepped
        lanes = partial(Lanes, pool) if pool.threads > 1 else None
        self._schedules = ScheduleCache(loops, lanes=lanes)
        self._waves = Waves(pool, SpeculationTuner()) if pool.threads > 1 else None
        super().__init__(batching_engine(self._schedules, loops, self._waves))
        keep_workspaces()

    @property
    def report(self) -> Report:
        """The report of all runs so far."""
        return self._schedules.report

    # Any in the answers: an expression's Data is known to its own type, not here

    def forward(self, expression: object, context: Context, /) -> Steps[Tape[Any, Any]]:
        """As `Sequential`."""
        own, steps = context.environment, super().forward(expression, context)
        return self._in_turn(steps) if isinstance(own, RunsOwn) and not own.trains else steps

    def train(self, loss: object, context: Context, /) -> Steps[Any]:
        """As `Sequential`."""
        return self._in_turn(super().train(loss, context))

    def gradients(self, loss: object, wrt: object, context: Context, /) -> Steps[Any]:
        """As `Sequential`."""
        return self._in_turn(super().gradients(loss, wrt, context))

    def resolved(self, expression: object, context: Context, /) -> Steps[Choice]:
        """As `Sequential`."""
        return self._in_turn(super().resolved(expression, context))

    def shards(self, losses: object, back: bool, context: Context, /) -> Steps[list[Shard]]:
        """As `Sequential`."""
        return self._in_turn(super().shards(losses, back, context))

    def _in_turn(self, steps: Steps[A]) -> Steps[A]:
        return steps if self._waves is None else in_turn(steps)

    def gather(self, parts: Sequence[Do[Any]], context: Context, /) -> Steps[tuple[Any, ...]] | None:
        """The values of branches, which wait together; None where they go one after the other."""
        evaluation = self.engine.evaluation(context)
        return evaluation.branches(parts, context) if isinstance(evaluation, Batching) else None


class _RunsBatching(Batching, RunsOwn):
    """The evaluation of a run that is more than one question."""

    def __init__(self, schedules: ScheduleCache, waves: Waves | None, run: Run, engine: Engine) -> None:
        RunsOwn.__init__(self, run, engine.loops)
        self.begins(schedules, waves)
