"""Examples that wait for values: all run until each waits or has ended, and what they wait for is one batch.

Knows: that each bind, and each branch of a `gather`, has a machine of its own, which is put aside where it asks for
the value of an expression; that they go on in the order in which they came.
Refuses to know: how values are computed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from wengert.control import Context, Do, Steps
from wengert.control.resources import Finalizer
from wengert.graph.node import Expression, Node
from wengert.graph.operand import tape_of
from wengert.graph.operation import EXTERNAL
from wengert.run.batching.tasks import Adopt, Task

if TYPE_CHECKING:
    from wengert.run.batching.evaluation import Batching


class Crowd:
    """All tasks of an evaluation that have begun and not ended, and what each of them waits for."""

    def __init__(self, evaluation: Batching) -> None:
        self.evaluation = evaluation
        self.tasks: dict[Task, None] = {}  # in the order in which they came
        self.ready: deque[Task] = deque()
        self.current: Task | None = None
        self.opened: list[Finalizer] = []  # by binds that have ended
        self.sharing: list[Task] = []  # that wait for what another task computes
        self.begun: set[Node] = set()
        self.waiting: dict[Expression, list[Task]] = {}
        self.fresh: list[Expression] = []  # that are waited for, and have not been looked at
        self.free: list[Expression] = []  # below which nothing waits
        self.missing: dict[Expression, int] = {}  # how many binds below one have not ended
        self.blocked: dict[Node, list[Expression]] = {}  # what is above a bind

    def close(self) -> None:
        """Let go of the evaluation, which holds this (S13)."""
        del self.evaluation

    def begin(self, task: Task) -> Task:
        """One more task."""
        self.tasks[task] = None
        self.ready.append(task)
        return task

    def open(self, node: Node, context: Context) -> Task:
        """Begin a bind; a user's value that stands in two places is asked once (S2)."""
        (value,) = node.operands
        first = node if isinstance(value, Do) else self.evaluation.opened.setdefault(id(value), node)
        source: Do[Any]
        try:
            source = tape_of(node) if first is node else Do.program(partial(self.evaluation.same_as, first))
        except Exception as failure:
            source = Do.fail(failure)
        self.begun.add(node)
        return self.begin(Task(source, Context(context.run, self.evaluation), node))

    def run(self, context: Context, until: Sequence[Task]) -> Steps[None]:
        """Until these have ended, round by round."""
        try:
            while not all(task.done for task in until):
                self._advance()
                if self.opened:
                    yield Adopt(self.opened)
                if not self.ready and not all(task.done for task in until):
                    yield from self._round(context)
        except BaseException as stop:
            self._abandon(stop)
            raise

    def _advance(self) -> None:
        """Every task that can, to where it waits."""
        while self.ready:
            task = self.ready.popleft()
            before, self.current = self.current, task
            try:
                ended = task.go()
            finally:
                self.current = before
            if ended:
                self._ended(task)
            elif task.wanted is not None:
                self._wait(task, task.wanted)
            elif task.cell is not None:
                self.sharing.append(task)
            for other in [other for other in self.sharing if other.cell is not None and other.cell.known]:
                self.sharing.remove(other)
                self.ready.append(other)

    def _wait(self, task: Task, wanted: Expression) -> None:
        if wanted not in self.waiting:
            self.waiting[wanted] = []
            self.fresh.append(wanted)
        self.waiting[wanted].append(task)

    def _ended(self, task: Task) -> None:
        del self.tasks[task]
        if task.parent is not None:
            task.parent.left -= 1
            if not task.parent.left:
                self.ready.append(task.parent)
        if task.node is not None:
            self.opened += task.finalizers
            self.evaluation.arrived(task.node, task)
            for x in self.blocked.pop(task.node, ()):
                self.missing[x] -= 1
                if not self.missing[x]:
                    del self.missing[x]
                    self.free.append(x)

    def _round(self, context: Context) -> Steps[None]:
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
            self.ready.extend(self.waiting.pop(x))
        if not found:
            self._circle()

    def _sort(self, fresh: Sequence[Expression], context: Context) -> None:
        """Which of these are free, and which wait for binds; new ones begin."""
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
        """Each waits for another: so says every one that waits for an expression."""
        for x, tasks in self.waiting.items():
            for task in tasks:
                what = x if task.node is None else task.node
                task.source = Do.fail(RecursionError(f"{what!r} waits for itself: its own Do uses it"))
                self.ready.append(task)
        for task in self.sharing:
            task.source = Do.fail(RecursionError("a shared Do waits for itself: its own computation uses it"))
            self.ready.append(task)
        self.sharing.clear()
        self.waiting.clear()
        self.missing.clear()
        self.blocked.clear()
        assert self.ready, "a task that has not ended waits for something"

    def _abandon(self, stop: BaseException) -> None:
        """The run ends here: let go of everything."""
        tasks, self.tasks = [*self.tasks], {}
        for waits in (
            self.ready,
            self.waiting,
            self.sharing,
            self.fresh,
            self.free,
            self.missing,
            self.blocked,
        ):
            waits.clear()
        for task in reversed(tasks):
            task.abandon(stop)
