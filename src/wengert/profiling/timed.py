"""Runs that are timed: the usual loops taken one node at a time, and an executor that has them.

Knows: how an executor is replaced by one that records; that loops, cells, binds and commits let somebody stand
around them, so that a run which is not timed has nothing to ask.
Refuses to know: what the record does with a span, and who asks for a profile.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any, Final
from weakref import WeakKeyDictionary

from wengert.arrays import Value
from wengert.arrays.changes import Change
from wengert.control import Context, Do, Executor, Run, Steps
from wengert.differentiable import Tape
from wengert.graph.binding import Refs
from wengert.graph.node import Expression, Node
from wengert.graph.operation import EXTERNAL, UNRESOLVED
from wengert.graph.weights import Update, Weight
from wengert.profiling.batches import MeasuredBatches
from wengert.profiling.programs import MeasuredProgram
from wengert.profiling.record import NOWHERE, Part, ProfileRecord, origin_of
from wengert.run import Batched, Parallel, Sequential, loops
from wengert.run.batching.cache import ScheduleCache
from wengert.run.batching.executor import batching_engine
from wengert.run.commit import Changing, commit
from wengert.run.compiled.plan import Bound
from wengert.run.compiled.plans import Making, Mode, Plans
from wengert.run.evaluation import Evaluation
from wengert.run.loops import ONE_THREAD, Changed
from wengert.run.sequential import Engine, Interpreter, asked_root

_WORTH: Final = 2  # runs of a structure until it has a program that is timed


class TimedLoops(loops.Loops):
    """The usual loops, node by node, what cells do included."""

    def __init__(self, record: ProfileRecord, usual: loops.Loops) -> None:
        self._record = record
        self._careful = isinstance(usual, Changed)
        self._usual = usual
        self._like: dict[loops.Loops, TimedLoops] = {}  # a run compares loops by identity
        self.meaning = usual.meaning  # type: ignore[method-assign] # the usual one's, without a call between
        self.inside = self

    @property
    def usual(self) -> loops.Loops:
        """The loops that are timed."""
        return self._usual

    def like(self, other: loops.Loops) -> TimedLoops:
        """Others, timed."""
        return self._like.setdefault(other, TimedLoops(self._record, other))

    def forward(
        self,
        nodes: list[Node],
        values: loops.Values,
        failed: dict[Expression, loops.Failure],
        ends: loops.Ends | None = None,
    ) -> int:
        if self._careful:
            return 0
        with self._record.span("loop", "forward"):
            for done, node in enumerate(nodes):
                if node.signature.mode in (EXTERNAL, UNRESOLVED):
                    return done
                with self.around("forward", node):
                    computed = loops.forward([node], values, failed, self)
                if not computed:
                    return done
                for x in ends.get(node, ()) if ends else ():
                    values.pop(x, None)
        return len(nodes)

    def backward(
        self, nodes: list[Node], values: loops.Values, deltas: loops.Values, failures: list[Exception]
    ) -> None:
        with self._record.span("loop", "backward"):
            for node in reversed(nodes):
                if node in deltas:
                    with self.around("backward", node):
                        loops.backward([node], values, deltas, failures, self)

    def around(self, part: loops.Part, node: Node) -> AbstractContextManager[object]:
        signature = node.signature
        if part == "bind":
            return self._record.waiting(part, part, origin_of(node))
        return self._record.span(part, signature.operation.name, origin_of(node), signature)

    def commit(
        self,
        deltas: Mapping[Expression, Value],
        snapshot: int,
        loss: Value = 0.0,
        refused: Callable[[Exception], None] | None = None,
    ) -> None:
        if not deltas:
            return commit(deltas, snapshot, loss, refused)
        with self._record.span("commit", "commit"):
            return commit(deltas, snapshot, loss, refused, self._step)

    def _step(self, update: Update, written: set[int]) -> Changing:
        with self._of_weight("step", update.weight):
            change = self._usual.step(update, written)
        return partial(self._change, update.weight, change)

    def _change(
        self, weight: Weight, change: Changing, old: Value, in_place: bool
    ) -> tuple[Value, list[Change]]:
        with self._of_weight("change", weight):
            # beside the data, with a copy more: in place all weights change in one call, without a look at a clock
            return change(old, False)

    def _of_weight(self, part: Part, weight: Weight) -> AbstractContextManager[object]:
        name = f"update by {type(weight.optimizer.settings).__name__}"
        return self._record.span(part, name, origin_of(weight))


class BatchLoops(TimedLoops):
    """The usual loops, which tell the page of a batch of commits, and of nodes that run by themselves."""

    def __init__(self, record: ProfileRecord, usual: loops.Loops, page: MeasuredBatches) -> None:
        super().__init__(record, usual)
        self._page = page

    def forward(
        self,
        nodes: list[Node],
        values: loops.Values,
        failed: dict[Expression, loops.Failure],
        ends: loops.Ends | None = None,
    ) -> int:
        with self._page.timed("forward", "nodes by themselves", ""):
            return super().forward(nodes, values, failed, ends)

    def backward(
        self, nodes: list[Node], values: loops.Values, deltas: loops.Values, failures: list[Exception]
    ) -> None:
        with self._page.timed("backward", "nodes by themselves", ""):
            super().backward(nodes, values, deltas, failures)

    def commit(
        self,
        deltas: Mapping[Expression, Value],
        snapshot: int,
        loss: Value = 0.0,
        refused: Callable[[Exception], None] | None = None,
    ) -> None:
        with self._page.timed("update", "commit", ""):
            super().commit(deltas, snapshot, loss, refused)

    @contextmanager
    def _of_weight(self, part: Part, weight: Weight) -> Generator[None]:
        name = f"update by {type(weight.optimizer.settings).__name__}"
        with super()._of_weight(part, weight), self._page.timed("update", name, weight.site):
            yield


class TimedPlans(Plans):
    """The plans of an executor, which tell when they are made and run."""

    def __init__(self, record: ProfileRecord, usual: Plans) -> None:
        self._record = record
        self._usual = usual

    def find(self, root: Expression, mode: Mode, targets: Sequence[Expression] = ()) -> Bound | None:
        begun = self._record.clock()
        found = self._usual.find(root, mode, targets)
        self._record.thread.finding = self._record.clock() - begun
        return None if found is None else _TimedBound(self._record, found, root)

    def answer(
        self,
        evaluation: Evaluation,
        nodes: Sequence[Node],
        mode: Mode,
        targets: Sequence[Expression] = (),
        making: Making | None = None,
    ) -> Bound | None:
        span = making or partial(self._record.span, "plan", "making a plan", origin_of(nodes[-1]))
        begun = self._record.clock()
        found = self._usual.answer(evaluation, nodes, mode, targets, span)
        self._record.thread.finding += self._record.clock() - begun
        evaluation.segments.in_parts = False  # node by node, as all that is timed
        return None if found is None else _TimedBound(self._record, found, nodes[-1])


class _TimedBound(Bound):
    """A plan for one expression, as it is and timed."""

    def __init__(self, record: ProfileRecord, usual: Bound, root: Expression) -> None:
        self._record = record
        self._usual = usual
        self._root = root
        self._inside = 0  # nanoseconds of this run
        self.weights = usual.weights

    def at(self, refs: Refs, snapshot: int) -> _TimedBound:
        return _TimedBound(self._record, self._usual.at(refs, snapshot), self._root)

    def predict(self, root: Expression, snapshot: int) -> Value:
        with self._timed("plan of predict"):
            value = self._usual.predict(root, snapshot)
        self._ran("predict")
        return value

    def gradients(self, snapshot: int) -> tuple[Value, ...]:
        with self._timed("plan of gradients"):
            deltas = self._usual.gradients(snapshot)
        self._ran("gradients")
        return deltas

    def trained(self, root: Expression, run: Run, snapshot: int) -> tuple[Value, Callable[[], Value]]:
        with self._timed("plan of train"):
            value, change = self._usual.trained(root, run, snapshot)
        return value, partial(self._changed, change)

    def sent(self, root: Expression, snapshot: int) -> tuple[Value, dict[Expression, Value]]:
        with self._timed("plan of a shard"):
            found = self._usual.sent(root, snapshot)
        self._ran("shard")
        return found

    def _changed(self, change: Callable[[], Value]) -> Value:
        with self._timed("changes of a plan"):
            value = change()
        self._ran("train")
        return value

    @contextmanager
    def _timed(self, what: str) -> Generator[None]:
        begun = self._record.clock()
        with self._record.span("plan", what, origin_of(self._root)):
            yield
        self._inside += self._record.clock() - begun

    def _ran(self, mode: Mode) -> None:
        """Tell the program of a run."""
        program = self._usual.plan.program
        if isinstance(program, MeasuredProgram):
            thread = self._record.thread
            program.ran(mode, self._root.site, thread.finding, self._inside)
            thread.program = program


class Profiled(Interpreter):
    """One thread, node by node, in place of an executor; with its plans if `compiled`, or with such that are timed."""

    def __init__(self, record: ProfileRecord, usual: Interpreter, compiled: bool, program: bool) -> None:
        plans = usual.engine.plans if compiled or program else None
        if plans is not None and program:
            plans = plans.alike(_WORTH, record.program)
        timed = None if plans is None else TimedPlans(record, plans)
        loops = TimedLoops(record, usual.engine.loops)
        super().__init__(Engine(timed, loops=loops))
        self._record = record

    # Any in the answers: as in `Sequential`

    def predict(self, expression: object, context: Context, /) -> Steps[Any]:
        """As `Sequential`."""
        return self._recorded("predict", expression, super().predict(expression, context))

    def train(self, loss: object, context: Context, /) -> Steps[Any]:
        """As `Sequential`."""
        return self._recorded("train", loss, super().train(loss, context))

    def gradients(self, loss: object, wrt: object, context: Context, /) -> Steps[Any]:
        """As `Sequential`."""
        return self._recorded("gradients", loss, super().gradients(loss, wrt, context))

    def _recorded(self, question: Mode, x: object, steps: Steps[Any]) -> Steps[Any]:
        record, at = self._record, origin_of(x) if isinstance(x, Expression) else NOWHERE
        begun = record.clock()
        with record.waiting("run", question, at):
            answer = yield from steps
        program, record.thread.program = record.thread.program, None
        if program is not None:
            program.total += record.clock() - begun
        return answer


class ProfiledBatches(Interpreter):
    """An executor in place of `Batched`: one thread, a page for each question on each line, with its own launches."""

    def __init__(self, record: ProfileRecord, usual: Batched, missed: Counter[str]) -> None:
        super().__init__(usual.engine)
        self._record = record
        self._usual = usual
        self._missed = missed
        self._pages: dict[tuple[Mode, str], tuple[MeasuredBatches, ScheduleCache, Interpreter]] = {}

    # Any in the answers: as in `Sequential`

    def forward(self, expression: object, context: Context, /) -> Steps[Tape[Any, Any]]:
        """As `Batched`."""
        return self._usual.forward(expression, context)

    def gather(self, parts: Sequence[Do[Any]], context: Context, /) -> Steps[tuple[Any, ...]] | None:
        """As `Batched`."""
        return self._usual.gather(parts, context)

    def predict(self, expression: object, context: Context, /) -> Steps[Any]:
        """As `Batched`."""
        return self._paged("predict", expression, context, lambda by: by.predict(expression, context))

    def train(self, loss: object, context: Context, /) -> Steps[Any]:
        """As `Batched`."""
        return self._paged("train", loss, context, lambda by: by.train(loss, context))

    def gradients(self, loss: object, wrt: object, context: Context, /) -> Steps[Any]:
        """As `Batched`."""
        return self._paged("gradients", loss, context, lambda by: by.gradients(loss, wrt, context))

    def _paged(
        self, question: Mode, asked: object, context: Context, ask: Callable[[Interpreter], Steps[Any]]
    ) -> Steps[Any]:
        """The steps of a question that is a run of its own, timed; any other goes on as it is."""
        x = asked_root(asked)
        if not context.whole or x is None:
            self._missed["Batched"] += context.whole
            return ask(self._usual)
        page, schedules, by = self._page(question, x)
        if page.busy:  # another thread's run
            self._missed["Batched"] += 1
            return ask(self._usual)
        return self._timed(question, x, page, schedules, ask(by))

    def _page(self, question: Mode, x: Expression) -> tuple[MeasuredBatches, ScheduleCache, Interpreter]:
        found = self._pages.get((question, x.site))
        if found is None:
            page = self._record.batch(question, x.site)
            loops = BatchLoops(self._record, ONE_THREAD, page)
            schedules = ScheduleCache(loops, page)
            found = page, schedules, Interpreter(batching_engine(schedules, loops))
            self._pages[question, x.site] = found
        return found

    def _timed(
        self,
        question: Mode,
        x: Expression,
        page: MeasuredBatches,
        schedules: ScheduleCache,
        steps: Steps[Any],
    ) -> Steps[Any]:
        clock, before, seconds = page.clock, schedules.report.bookkeeping, None
        page.begin()
        begun = clock()
        try:
            with self._record.waiting("run", question, origin_of(x)):
                answer = yield from steps
            seconds = clock() - begun
        finally:
            page.end(seconds, schedules.report.bookkeeping - before)
        return answer


class Replacing:
    """Gives for each executor one that records; those whose runs have no nodes to be timed are left alone, counted."""

    def __init__(self, record: ProfileRecord, compiled: bool, program: bool = False) -> None:
        self.compiled = compiled or program
        self._program = program
        self.missed: Counter[str] = Counter()  # runs by the class of their executor
        self._record = record
        self._made: WeakKeyDictionary[Executor, Executor] = WeakKeyDictionary()

    def __call__(self, executor: Executor) -> Executor:
        usual = executor.inner if isinstance(executor, Parallel) else executor
        if isinstance(usual, (Profiled, ProfiledBatches)):  # a part of a run that is timed runs by itself
            return executor
        if self._program and type(usual) is Batched:
            found = self._made.get(executor)
            if found is None:
                found = self._made[executor] = ProfiledBatches(self._record, usual, self.missed)
            return found
        # a class of its own may mean something else
        if not isinstance(usual, Interpreter) or type(usual) not in (Sequential, Interpreter):
            self.missed[type(executor).__name__] += 1
            return executor
        found = self._made.get(executor)
        if found is None:
            timed = Profiled(self._record, usual, self.compiled, self._program)
            # `Parallel` keeps BLAS to one thread around it
            around = executor.around(timed) if isinstance(executor, Parallel) else timed
            found = self._made.setdefault(executor, around)
        return found
