"""The scheduler of fibers in rounds: all run until each waits or has ended, and what they wait for is one batch.

Knows: that each bind, and each branch of a `gather`, is a fiber; that fibers go on in the order in which they came, and
those that wait for an outcome from elsewhere when it is known; that of several threads a fiber which lasts may wait for
another one, so that the others go on without it.
Refuses to know: how values are computed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Container, Sequence
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Final, Protocol

from wengert.control import Context, Do, Run, Steps
from wengert.control.do import Question, Shared, Within
from wengert.control.machine import Settling
from wengert.differentiable import Tape
from wengert.graph.node import Expression, Node
from wengert.graph.operand import tape_of
from wengert.graph.operation import EXTERNAL
from wengert.run.batching.region import Region
from wengert.run.fibers import Fiber, Fork, Joined, Turn, Wait, WaitShared
from wengert.run.loops import Failure
from wengert.run.threads.autotune import SpeculationTuner, functions_of
from wengert.run.threads.pool import ONE_TASK, Spawned, ThreadPool

STOPS: Final[frozenset[type]] = frozenset({Wait, WaitShared, Fork})
_TURNS: Final[frozenset[type]] = frozenset({Turn, Shared, Within})
_PATIENCE: Final = 0.05  # seconds for which fibers that have stopped wait for one that lasts


class Waves:
    """Fibers that can go on, on several threads: each to its next stop, or to what has its turn only."""

    def __init__(self, pool: ThreadPool, tuner: SpeculationTuner) -> None:
        self._pool = pool
        self._tuner = tuner

    def run(
        self,
        fibers: Sequence[Fiber],
        sources: Sequence[object],
        onward: Callable[[Sequence[Fiber]], list[Fiber]],
    ) -> Collection[Fiber]:
        """Run fibers, and give those that have stopped: none, and none has moved, where they gain too little from it.

        `sources` are what such fibers come from; `onward` is that of a `Wave`.
        """
        of = functions_of(sources)
        if sources and not self._tuner.pays(of):
            return ()
        wave = Wave(fibers, onward)
        alone = self._pool.run([wave.begin], ONE_TASK, deferred=True)
        if sources:
            self._tuner.learn(of, alone)
        return wave.end()


class Wave:
    """Fibers on the threads of a pool; where one lasts, the others go on with what they have stopped for.

    `onward` is called with fibers that have stopped, and gives those that can go on; one of them, or another thread's,
    may be what a fiber that lasts is waiting for.
    """

    def __init__(self, fibers: Sequence[Fiber], onward: Callable[[Sequence[Fiber]], list[Fiber]]) -> None:
        self._fibers = [*fibers]  # all that have taken part
        self._onward = onward
        self._lasting = {*fibers}
        self._stopped: dict[Fiber, None] = {}  # and have not been given to `onward`
        self._bell: SimpleQueue[None] = SimpleQueue()  # rings when one stops

    def begin(self) -> Spawned:
        """The works of a job."""
        return self._works(self._fibers)

    def end(self) -> Collection[Fiber]:
        """The fibers that nobody has gone on with."""
        for fiber in self._fibers:
            fiber.stops = STOPS
        return self._stopped.keys()

    def _works(self, fibers: Sequence[Fiber]) -> Spawned:
        for fiber in fibers:
            fiber.stops = STOPS | _TURNS
        return Spawned([*(partial(self._go, fiber) for fiber in fibers), self._watch])

    def _go(self, fiber: Fiber) -> None:
        try:
            fiber.go()
        finally:
            self._stopped[fiber] = None
            self._lasting.discard(fiber)
            self._bell.put(None)

    def _watch(self) -> Spawned | None:
        """Look after all have begun: as long as one lasts, and none has stopped for a while, the others go on."""
        while self._lasting:
            try:
                self._bell.get(timeout=_PATIENCE)
                continue
            except Empty:
                stopped = [x for x in [*self._stopped] if x.asked.__class__ not in _TURNS]
            for fiber in stopped:
                del self._stopped[fiber]
            more = self._onward(stopped)
            if more:
                self._fibers += more
                self._lasting.update(more)
                return self._works(more)
            self._bell.get()
        return None


def _does_more(fiber: Fiber) -> bool:
    """True if it is more than one question."""
    return len(fiber.frames) > 1 if fiber.asked is None else not isinstance(fiber.asked, Question)


class Owner(Protocol):
    """The evaluation whose values fibers wait for."""

    @property
    def known(self) -> Container[object]:
        """The expressions that have a value."""

    def gives_tapes(self, run: Run) -> None:
        """Binds will ask for tapes, which then need not wait for their turn."""

    failed: dict[Expression, Failure]
    opened: dict[int, Node]

    def recorded(self, roots: Sequence[Expression]) -> Region:
        """The nodes below roots that have no value yet."""

    def binds_in(self, nodes: Region) -> list[Node]:
        """The nodes whose values come from a `Do` that has not run."""

    def values_of(self, nodes: Region, context: Context) -> Steps[None]:
        """Compute roots below which nothing waits."""

    def same_as(self, first: Node, context: Context) -> Steps[Tape[Any, Any]]:
        """The tape of a user's value that another node has asked for already."""

    def arrived(self, node: Node, fiber: Fiber) -> None:
        """A bind has ended."""


class Scheduler:
    """The fibers of an evaluation that have begun and not ended, and the expressions that they wait for."""

    def __init__(self, evaluation: Owner, waves: Waves | None = None) -> None:
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
                if not gone or fiber.asked.__class__ in _TURNS:
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
            self.evaluation.gives_tapes(context.run)
        sources = [*map(self._source, (fibers[0], fibers[-1]))]
        before, self.current = self.current, fibers[0]
        try:
            known = sources if all(isinstance(x, Do) for x in sources) else ()
            gone = self.waves.run(fibers, known, partial(self._onward, context))
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
