"""The parallel interpreter: what does not depend on each other runs on several threads, with the same results.

Knows: that it is the sequential one with an engine for a thread pool, and BLAS kept to one thread meanwhile; which
questions have to be asked in turn.
Refuses to know: what is worth a thread: `tasks` measures that.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from copy import copy
from functools import partial
from itertools import chain
from time import perf_counter
from typing import Any, Final, TypeVar

from wengert.arrays.pools import on_one_blas_thread
from wengert.control import Context, Do, Steps
from wengert.control.do import Programmed, Question, Shared, Within, questions
from wengert.control.gather import Gather
from wengert.control.machine import Bell
from wengert.differentiable import Tape
from wengert.graph.node import Expression, Node
from wengert.graph.operand import lift_any
from wengert.graph.operation import EXTERNAL
from wengert.run.compiled.plans import WORTH, Account, BackwardPrograms, Plans
from wengert.run.compiled.segment import Segments
from wengert.run.compiled.steps import steps
from wengert.run.evaluation import Evaluation
from wengert.run.fibers import Fork, Joined, in_turn
from wengert.run.own import Choice, may_train, private
from wengert.run.sequential import Engine, Interpreter, Sequential, asked_root
from wengert.run.shards import Shard
from wengert.run.tapes import given
from wengert.run.threads.pool import ThreadPool, checked_threads
from wengert.run.threads.speculation import Early, SpeculationTuner, SpeculativeEvaluation, functions_of
from wengert.run.threads.tasks import TERMS, AutotunedProgram, Terms, ThreadedLoops

A = TypeVar("A")
_VALUES: Final = frozenset({"value", "forward", "predict"})  # questions that are answered by a value
_VALUES_OF_TRAININGS: Final = _VALUES | {"train"}
_IN_TURN: Final = (Programmed, Shared, Within)  # which do nothing before their turn


class Parallel:
    """Several threads: independent parts of an expression overlap, forward, backward and in the update.

    Results are those of `Sequential`, bit for bit where BLAS has one thread. A structure that comes back often
    is timed, and divided where that is faster; operations of others overlap from the first run on. So do binds that
    one expression has, and the branches of a `gather`: each goes on with the values that it asks for as soon as they
    are known, and waits for its turn only with a `train`, `gradients` or shared `Do` inside. Binds of
    which nobody knows how long they take have 2 ms before other threads come in; those that have ended by then, in
    8 runs of the same functions one after the other, take turns for the next 500, as in `Sequential`, and for as many
    each time that one more such run has shown the same. Where they have lasted longer their
    deltas overlap, too, unless a tape is the user's own.
    `stacked` is as in `Sequential`.
    BLAS has one thread as long as a run goes on, lest its threads fight with these, and then as many as before.
    >>> from wengert import lift, run
    >>> (lift(2.0) * 3.0 + lift(4.0) * 5.0).predict().run(run.Parallel(threads=2))
    26.0
    """

    def __init__(self, threads: int | None = None, compiled: bool = True, *, stacked: bool = True) -> None:
        self.threads = count = checked_threads(_cores() if threads is None else threads, "Parallel")
        self.pool = ThreadPool(count)
        self.tuner = SpeculationTuner()
        self.inner = Interpreter(threaded(self.pool, self.tuner, compiled, stacked))

    def around(self, inner: Interpreter) -> Parallel:
        """This executor around another interpreter."""
        made = copy(self)
        made.inner = inner
        return made

    # Any in the answers: an expression's Data is known to its own type, not here

    def forward(self, expression: object, context: Context, /) -> Steps[Tape[Any, Any]]:
        """As `Sequential`."""
        own = self._around(context)
        steps = self._asking(own, self.inner.forward(expression, context), expression, context, trains=True)
        in_turn = own is not None and own.executor is not None and not own.trains
        return self._answer(steps, context) if in_turn else self._alone(steps, context)

    def value(self, expression: object, context: Context, /) -> Steps[Any]:
        """As `Sequential`."""
        steps = self._asking(
            self._around(context), self.inner.value(expression, context), expression, context
        )
        return self._alone(steps, context)

    def predict(self, expression: object, context: Context, /) -> Steps[Any]:
        """As `Sequential`."""
        steps = self.inner.predict(expression, context)
        if isinstance(context, Early):
            steps = self._asking(self._around(context), steps, expression, context)
        return self._alone(steps, context)

    def train(self, loss: object, context: Context, /) -> Steps[Any]:
        """As `Sequential`."""
        return self._answer(self.inner.train(loss, context), context)

    def gradients(self, loss: object, wrt: object, context: Context, /) -> Steps[Any]:
        """As `Sequential`."""
        return self._answer(self.inner.gradients(loss, wrt, context), context)

    def resolved(self, expression: object, context: Context, /) -> Steps[Choice]:
        """As `Sequential`."""
        return self._answer(self.inner.resolved(expression, context), context)

    def gather(self, parts: Sequence[Do[Any]], context: Context, /) -> Steps[tuple[Any, ...]] | None:
        """The values of branches that go on together; None where they have to go one after the other."""
        if self.threads == 1 or len(parts) < 2:
            return None
        asked = _asked(parts)
        if asked is not None and not isinstance(context, Early):
            return self._alone(self._answers(parts, asked, context), context)
        if sum(not isinstance(part, _IN_TURN) for part in parts) < 2:
            return None
        of = functions_of(parts)
        if not self.tuner.pays(of):
            return None
        return self._alone(Fork(parts, partial(self._branches, of)).steps(), context)

    def ahead(self, expression: object, context: Context, bell: Bell, /) -> None:
        """As `Sequential`."""
        self.inner.ahead(expression, context, bell)

    def apply(self, deltas: object, context: Context, /) -> Steps[None]:
        """As `Sequential`."""
        return self._answer(self.inner.apply(deltas, context), context)

    def shards(self, losses: object, back: bool, context: Context, /) -> Steps[list[Shard]]:
        """As `Sequential`."""
        return self._answer(self.inner.shards(losses, back, context), context)

    def _answer(self, steps: Steps[A], context: Context) -> Steps[A]:
        """Steps with one thread of BLAS, in their turn."""
        steps = on_one_blas_thread(steps)
        return in_turn(steps) if isinstance(context, Early) else steps

    def _alone(self, steps: Steps[A], context: Context) -> Steps[A]:
        """Steps with one thread of BLAS, unless what is around them has seen to it."""
        around = isinstance(context.environment, Evaluation) or isinstance(context, Early)
        return steps if around else on_one_blas_thread(steps)

    def _around(self, context: Context) -> SpeculativeEvaluation | None:
        """The evaluation that a question belongs to, if something has gone ahead in it."""
        own = context.environment
        if not isinstance(own, SpeculativeEvaluation):
            own = self.inner.engine.evaluation(context)
        return own if isinstance(own, SpeculativeEvaluation) and own.apart else None

    def _asking(
        self,
        own: SpeculativeEvaluation | None,
        steps: Steps[A],
        expression: object,
        context: Context,
        trains: bool = False,
    ) -> Steps[A]:
        """Steps after the part of the expression's value that has gone ahead."""
        if own is not None:
            x = lift_any(expression)
            if trains and x.kind.trainable:
                may_train(own, context.run)  # as `Sequential`, before anything is read
            yield from own.asked(x, context)
        answer: A = yield from steps
        return answer

    def _answers(
        self, parts: Sequence[Do[Any]], asked: Sequence[Question[Any]], context: Context
    ) -> Steps[tuple[Any, ...]]:
        """The answers to all questions, after the values of all expressions, which are computed as if they were one."""
        own = self._evaluation(asked, context)
        if not isinstance(own, SpeculativeEvaluation):
            return (yield from Fork(parts).steps())
        methods = _VALUES if not own.trains else _VALUES_OF_TRAININGS
        roots = [
            root for x in asked if x.method in methods and (root := asked_root(x.arguments[0])) is not None
        ]
        begun = own.together(roots, context)
        alone = own.variables is None and all(isinstance(x, Question) and x.method in _VALUES for x in parts)
        if not alone or len(roots) < len(parts):
            return (yield from Fork(parts).steps(begun))
        yield from begun
        if not all(root in own.values for root in roots):  # each question says what has failed
            return (yield from Fork(parts).steps())
        found: list[Any] = []  # Any: of every type
        for part, root in zip(asked, roots, strict=True):
            found.append((yield from self._known(part, root, context)))
        return tuple(found)

    def _known(self, asked: Question[Any], x: Expression, context: Context) -> Steps[Any]:
        """The answer to a question about an expression whose value is there."""
        own = self.inner.engine.evaluation(context, x=x)
        if asked.method == "forward":
            return (yield from self.inner.tape(own, x, context))
        value = own.values[x]
        return private(value, x) if asked.method == "predict" else given(value, x.kind, own.buffers)

    def _evaluation(self, asked: Iterable[Question[Any]], context: Context) -> Evaluation:
        """The evaluation that answers questions, which knows of deltas before anything is read."""
        own = self.inner.engine.evaluation(context)
        if own.executor is not None and not own.trains and any(map(_gives_tape, asked)):
            may_train(own, context.run)
        return own

    def _branches(self, of: Sequence[object], parts: Sequence[Do[Any]], context: Context) -> list[Joined]:
        own = self._evaluation(chain.from_iterable(map(questions, parts)), context)
        if not isinstance(own, SpeculativeEvaluation):
            return []
        made, alone = own.branches(parts, context)
        self.tuner.learn(of, alone)
        return made


def _gives_tape(asked: Question[Any]) -> bool:
    x = asked_root(asked.arguments[0])
    if x is None:
        return asked.method == "apply"
    return x.kind.trainable and (
        asked.method == "forward" or (isinstance(x, Node) and x.signature.mode == EXTERNAL)
    )


def _asked(parts: Sequence[Do[Any]]) -> list[Question[Any]] | None:
    """The questions that branches are; None where one is more than that."""
    found: list[Question[Any]] = []
    left = [*parts[::-1]]
    while left:
        part = left.pop()
        if isinstance(part, Question):
            found.append(part)
        elif isinstance(part, Gather):
            left += part.parts[::-1]
        else:
            return None
    return found


def _cores() -> int:
    """The cores that this process may use."""
    allowed = getattr(os, "sched_getaffinity", None)  # only Linux has it
    return len(allowed(0)) if allowed is not None else os.cpu_count() or 1


def threaded(
    pool: ThreadPool,
    tuner: SpeculationTuner,
    compiled: bool = True,
    stacked: bool = True,
    worth: int | None = None,
    terms: Terms = TERMS,
) -> Engine:
    """The engine of several threads; plans come after `worth` runs, or else when they pay."""
    loops = ThreadedLoops(pool)
    if compiled:
        loops.step = steps(True).stepped
    if pool.threads == 1:
        return Sequential(compiled, stacked=stacked).engine._replace(loops=loops)
    evaluations = partial(SpeculativeEvaluation, pool, tuner)
    if not compiled:
        return Engine(None, None, loops, evaluations)
    segments = Segments(WORTH, admits=lambda nodes: not loops.overlap(nodes))
    plans = _Plans(loops, pool, worth, terms, stacked)
    return Engine(plans, segments, loops, evaluations, BackwardPrograms(WORTH))


class _Plans(Plans):
    """Plans whose programs a pool runs; a structure in which rules may wait for each other gets none."""

    def __init__(
        self, loops: ThreadedLoops, pool: ThreadPool, worth: int | None, terms: Terms, stacked: bool
    ) -> None:
        account = Account(perf_counter) if worth is None else None  # a run is the work of several threads
        super().__init__(worth, partial(AutotunedProgram, pool, terms), stacked, account=account)
        self._loops = loops

    def admits(self, nodes: Sequence[Node]) -> bool:
        """As `Plans`."""
        return super().admits(nodes) and not self._loops.overlap(nodes)
