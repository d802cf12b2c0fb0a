"""The sequential interpreter: one thread, nodes in the order in which they were made. The definition.

Knows: what forward, value, predict, train and gradients mean in terms of one `Evaluation`, and when weights
are read and committed.
Refuses to know: how an evaluation computes.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from functools import partial
from types import TracebackType
from typing import Any

from wengert.arrays import Namespace, is_array
from wengert.control import Context, Do, Run, Steps, UnitContinuation
from wengert.differentiable import Tape
from wengert.errors import TapeReleasedError
from wengert.graph.node import Expression, Node
from wengert.graph.operand import lift_any
from wengert.graph.products import zero_of
from wengert.graph.store import STORE
from wengert.graph.weights import Weight
from wengert.lazy import dense
from wengert.run.changed import Changed, Changes
from wengert.run.evaluation import Evaluation
from wengert.run.interrupted import Interrupted
from wengert.run.loops import ONE_THREAD, Loops
from wengert.run.nonfinite import explain
from wengert.run.plans import Plans
from wengert.run.received import OwnTape, given, handed_over, nowhere
from wengert.run.watched import watched

OWN = "the evaluation of a run"


class Sequential:
    """One thread, in order: what every other interpreter has to agree with.

    A structure that comes back often is run by a plan made of it, which gives the same; `compiled=False`
    leaves every run to the interpreter. Where a plan fails, nothing has changed: the interpreter runs the expression
    once more, to say where, so a rule of a user's that failed is called twice.
    A plan runs branches that do the same to other values, such as the heads of a network, as one: a stacked call is
    taken where it gives the bits of the single ones, and by the count of calls it saves. The data of such weights
    live side by side in one array. `stacked=False` leaves each call to itself.
    `rules` are other rules for operations in the runs of this executor: a value rule, or all of `extend.Rules`.
    `arrays` has the array functions for them: any object with those of `wengert.arrays.Namespace`, in place of
    numpy's. Both make a run go node by node.
    >>> from wengert import lift, relu, run
    >>> (lift(2.0) * 3.0).predict().run(run.Sequential(compiled=False))
    6.0
    >>> relu(lift(-2.0)).predict().run(run.Sequential(rules={relu: lambda case, x: abs(x)}))
    2.0
    """

    def __init__(
        self,
        compiled: bool = True,
        *,
        stacked: bool = True,
        rules: Changes | None = None,
        arrays: Namespace | None = None,
    ) -> None:
        changed = bool(rules) or arrays is not None
        self._plans = Plans(stacked=stacked) if compiled and not changed else None
        self._loops = Changed(rules, arrays) if changed else ONE_THREAD
        self._evaluations: Callable[[int, Loops], Evaluation] = Evaluation

    # Any in the answers: an expression's Data is known to its own type, not here

    def forward(self, expression: object, context: Context, /) -> Steps[Tape[Any, Any]]:
        """The tape of an expression, alive until the run or the `nested` part around it ends."""
        evaluation = _evaluation(context, self._loops)
        x = lift_any(expression)
        if isinstance(evaluation, RunsOwn) and x.kind.trainable:
            evaluation.may_train(context.run)
        value = yield from evaluation.evaluate(x, context)
        if not x.kind.trainable:
            return OwnTape(given(value, x.kind, evaluation.buffers), nowhere, x)
        hold = _Hold(evaluation, x)
        if isinstance(evaluation, RunsOwn) and context.environment is evaluation:
            context.run.on_close(hold.release)  # below a bind: what arrives at that still has to get here
        else:
            yield Do.resource(lambda: hold)
        return OwnTape(given(value, x.kind, evaluation.buffers), hold.backward, x)

    def value(self, expression: object, context: Context, /) -> Steps[Any]:
        """The data of an expression in the present run: what `await` gives."""
        x = lift_any(expression)
        evaluation = _evaluation(context, self._loops)
        value = yield from evaluation.evaluate(x, context)
        return given(value, x.kind, evaluation.buffers)

    def predict(self, expression: object, context: Context, /) -> Steps[Any]:
        """The data of an expression, evaluated by itself."""
        return STORE.reading(partial(_predict, lift_any(expression), context, watched(self)))

    def train(self, loss: object, context: Context, /) -> Steps[Any]:
        """The loss before the update; then one commit for every weight that a delta reached."""
        return STORE.training(partial(_train, lift_any(loss), context, watched(self, trains=True)))

    def gradients(self, loss: object, wrt: object, context: Context, /) -> Steps[Any]:
        """The deltas of the loss at each expression of the tuple `wrt`; no weight changes."""
        x = lift_any(loss)
        targets: tuple[Expression, ...] = tuple(map(lift_any, wrt))  # type: ignore[call-overload] # `gradients` gives a tuple
        return STORE.reading(partial(_gradients, x, targets, context, watched(self)))


def _predict(x: Expression, context: Context, executor: Sequential, snapshot: int) -> Steps[Any]:
    plans = executor._plans
    bound = None if plans is None else plans.find(x, "predict")
    if bound is not None:
        with suppress(Interrupted):
            return bound.predict(x, snapshot)
    with executor._evaluations(snapshot, executor._loops) as evaluation:
        nodes = evaluation.begin(x)
        if (
            plans is None
            or not plans.earned(nodes, "predict")
            or not plans.make(evaluation, nodes, "predict")
        ):
            yield from evaluation.evaluate(x, context, nodes)
        return handed_over(evaluation.value(x), x.kind, evaluation.buffers)


def _gradients(
    loss: Expression, targets: tuple[Expression, ...], context: Context, executor: Sequential, snapshot: int
) -> Steps[tuple[Any, ...]]:
    plans = executor._plans
    bound = None if plans is None else plans.find(loss, "gradients", targets)
    if bound is not None:
        with suppress(Interrupted):
            return bound.gradients(snapshot)
    with executor._evaluations(snapshot, executor._loops) as evaluation:
        nodes = evaluation.begin(loss)
        if not _planned(plans, evaluation, nodes, targets):
            evaluation.wanted = dict.fromkeys(t for t in targets if not isinstance(t, Weight))
            yield Do.program(partial(_there_and_back, evaluation, loss, nodes)).nested()
        found: list[Any] = []  # Any: deltas of every type
        for target in targets:
            at = evaluation.wanted if target in evaluation.wanted else evaluation.deltas
            value = yield from evaluation.evaluate(target, context)
            delta = at.get(target)
            delta = zero_of(value) if delta is None else dense(delta)
            given_away = is_array(delta) and any(delta is other for other in found)
            found.append(delta.copy() if given_away else handed_over(delta, target.kind, evaluation.buffers))
        return tuple(found)


def _planned(
    plans: Plans | None, evaluation: Evaluation, nodes: list[Node], targets: tuple[Expression, ...]
) -> bool:
    """Whether this run of `gradients` was one that made a plan; targets outside the loss are not planned."""
    if plans is None or not {*nodes, *evaluation.values}.issuperset(targets):
        return False
    return plans.earned(nodes, "gradients") and plans.make(evaluation, nodes, "gradients", targets)


def _train(loss: Expression, context: Context, executor: Sequential, snapshot: int) -> Steps[Any]:
    plans = executor._plans
    bound = None if plans is None else plans.find(loss, "train")
    if bound is not None:
        with suppress(Interrupted):
            return bound.train(loss, context.run, snapshot)
    with executor._evaluations(snapshot, executor._loops) as evaluation:
        nodes = evaluation.begin(loss)
        if plans is None or not plans.earned(nodes, "train") or not plans.make(evaluation, nodes, "train"):
            rest = evaluation.there_and_back(loss, context.run, nodes)
            if rest:  # a scope for what it opens, left before the commit
                yield Do.program(partial(_rest_and_back, evaluation, loss, rest)).nested()
        value = handed_over(evaluation.values[loss], loss.kind, evaluation.buffers)
        context.run.settle()  # the last moment at which a cancelled run can stop with nothing changed (D18)
        executor._loops.commit(evaluation.deltas, snapshot, value, partial(explain, evaluation, loss))
        return value


def _rest_and_back(
    evaluation: Evaluation, loss: Expression, rest: list[Node], context: Context
) -> Steps[None]:
    yield from evaluation.carefully(rest, context)
    evaluation.seed(loss)
    yield from evaluation.backward(context)


def _there_and_back(
    evaluation: Evaluation, loss: Expression, nodes: list[Node], context: Context
) -> Steps[None]:
    yield from evaluation.evaluate(loss, context, nodes)
    evaluation.seed(loss)
    yield from evaluation.backward(context)


def _evaluation(context: Context, loops: Loops) -> Evaluation:
    """The evaluation that this part of the run belongs to; a run without one gets its own."""
    if isinstance(context.environment, Evaluation):
        return context.environment
    return context.run.local(OWN, lambda: RunsOwn(context.run, loops))


class RunsOwn(Evaluation):
    """The evaluation of a run that nobody trains: a `backward` by hand makes it a training (D6)."""

    __slots__ = ("executor", "live", "trains")

    def __init__(self, run: Run, loops: Loops) -> None:
        run.on_close(partial(STORE.end, self))
        super().__init__(STORE.begin(self), loops)
        run.on_close(self.__exit__)
        run.on_success(self.finish)
        self.executor = run.executor
        self.live = 0
        self.trains = False

    def finish(self) -> None:
        """The commit; before it, what was sent below a bind after the last tape's release is on its way."""
        if self.pending:
            Do.program(self.backward).run(self.executor)
        self.loops.commit(self.deltas, self.snapshot)

    def may_train(self, run: Run) -> None:
        """A tape is asked for, which may be sent a delta: from now on to its end the run is alone (S10)."""
        if not self.trains:
            self.trains = True
            run.on_close(STORE.hold())
            if not self.buffers:  # no weight has been read: begin where the training before this one ended
                self.snapshot = STORE.begin(self)


class _Hold(AbstractContextManager["_Hold"]):
    """One living tape; what was sent to it is on its way when the last of a run's own is released (D5)."""

    __slots__ = ("evaluation", "x")

    def __init__(self, evaluation: Evaluation, x: Expression) -> None:
        self.evaluation: Evaluation | None = evaluation  # None: released; a kept tape keeps no run (S13)
        self.x = x

    def __enter__(self) -> _Hold:
        if isinstance(self.evaluation, RunsOwn):
            self.evaluation.live += 1
        return self

    def backward(self, delta: Do[Any]) -> UnitContinuation[None]:  # Any: the expression's Delta
        if self.evaluation is None:
            raise TapeReleasedError(
                f"backward of {self.x!r}: the run (or the nested() part of it) that made this tape has "
                f"ended; call backward inside it, as in layer.forward.flat_map(lambda tape: ...)"
            )
        return self.evaluation.receive(self.x, delta)

    def __exit__(
        self, kind: type[BaseException] | None, failure: BaseException | None, trace: TracebackType | None
    ) -> None:
        evaluation = self.evaluation
        try:
            if isinstance(evaluation, RunsOwn):
                evaluation.live -= 1
                if failure is None and not evaluation.live and evaluation.pending:
                    Do.program(evaluation.backward).run(evaluation.executor)
        finally:
            self.release()

    def release(self) -> None:
        """From now on the tape refuses deltas, and keeps nothing of the run alive."""
        self.evaluation = None
