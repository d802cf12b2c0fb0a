"""A run as one transaction: each weight is read once, each node computed once, and weights change at the end.

Knows: how parts of a run (`predict`, `train`, `gradients`, and a `backward` by hand) share the values of one
evaluation; that the deltas of all trainings of a run add up, so that a run which fails anywhere changes nothing;
how long a tape lives; that of a value that refuses a run the cause lies among its operands, and of a delta among the
derivatives before it, which is asked after the run, so that a good run pays nothing.
Refuses to know: how an evaluation computes, and the question that is a whole run, which needs none of this.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from functools import partial
from typing import Any, Final, TypeAlias

from wengert.arrays import Value, all_quiet, copied, is_array, is_finite, one_like
from wengert.control import Context, Do, Run, Steps, UnitContinuation
from wengert.control.do import questions
from wengert.differentiable import Tape
from wengert.errors import NonFiniteError, TapeReleasedError
from wengert.graph.kinds import Column
from wengert.graph.node import Expression, Node
from wengert.graph.operand import value_kind
from wengert.graph.operation import CELL, EXTERNAL
from wengert.graph.order import below
from wengert.graph.products import zero_of
from wengert.graph.store import STORE
from wengert.graph.template import PART, JoinedTape
from wengert.graph.variables import Substitution
from wengert.lazy import dense, told
from wengert.run.commit import admitted
from wengert.run.compiled.segment import Segments
from wengert.run.evaluation import Evaluation, SegmentRuns
from wengert.run.gradient import Wanted
from wengert.run.loops import (
    Loops,
    accumulate,
    arguments_of,
    left,
    located,
    operand_deltas,
)
from wengert.run.tapes import OwnTape, handed_over

Choice: TypeAlias = Callable[[Expression], Expression]
OWN: Final = "the evaluation of a run"


def of_run(
    run: Run, made: Callable[[int, Loops], Evaluation], loops: Loops, segments: Segments | None
) -> Evaluation:
    """The evaluation of a run that is more than one question; a training in it is committed when the run succeeds."""
    evaluation = made(0, loops)
    run.on_close(partial(STORE.end, evaluation))
    evaluation.snapshot = STORE.begin(evaluation)
    evaluation.executor = run.executor
    run.on_close(evaluation.__exit__)
    run.on_success(partial(_finish, evaluation))
    evaluation.segments = SegmentRuns(segments, goes_back=False)
    if run.source is not None and any(x.method in ("train", "apply") for x in questions(run.source)):
        may_train(evaluation, run)  # before anything is read, or another training could come in between
    return evaluation


def _finish(evaluation: Evaluation) -> None:
    """The commit; before it, what was sent below a bind after the last tape's release is on its way."""
    if evaluation.pending:
        Do.program(evaluation.backward).run(evaluation.executor)
    evaluation.doubts.tell()
    evaluation.loops.commit(evaluation.deltas, evaluation.snapshot)
    evaluation.tell_updated()


def may_train(evaluation: Evaluation, run: Run) -> None:
    """From now on to its end a run of several questions is alone: a tape is asked for, or a training."""
    if evaluation.executor is not None and not evaluation.trains:
        evaluation.trains = evaluation.segments.goes_back = True
        STORE.hold(run.on_close)
        if not evaluation.buffers:  # no weight has been read: begin where the training before this one ended
            evaluation.snapshot = STORE.begin(evaluation)


class Hold(AbstractContextManager["Hold"]):
    """One living tape; what was sent to it is on its way when the last of a run's own is released."""

    __slots__ = ("evaluation", "x")

    def __init__(self, evaluation: Evaluation, x: Expression) -> None:
        self.evaluation: Evaluation | None = evaluation  # None: released; a kept tape keeps no run
        self.x = x

    def __enter__(self) -> Hold:
        assert self.evaluation is not None, "it is entered once"
        self.evaluation.live += 1
        return self

    def backward(self, delta: Do[Any]) -> UnitContinuation[None]:  # Any: the expression's Delta
        if self.evaluation is None:
            raise TapeReleasedError(
                f"backward of {self.x!r}: the run (or the nested() part of it) that made this tape has "
                f"ended; call backward inside it, as in layer.forward.flat_map(lambda tape: ...)"
            )
        return self.evaluation.receive(self.x, delta)

    def __exit__(self, kind: object, failure: object, trace: object, /) -> None:
        evaluation = self.evaluation
        assert evaluation is not None, "it is left once"
        try:
            evaluation.live -= 1
            if failure is None and not evaluation.live and evaluation.pending:
                Do.program(evaluation.backward).run(evaluation.executor)
        finally:
            self.release()

    def release(self) -> None:
        """From now on the tape refuses deltas, and keeps nothing of the run alive."""
        self.evaluation = None


# Any in all: the data and deltas of expressions of every type
def part_predicted(evaluation: Evaluation, x: Expression, context: Context) -> Steps[Any]:
    """The data of an expression as the rest of the run sees it, for its asker alone."""
    value = yield from evaluation.evaluate(x, context)
    return private(value, x)


def part_trained(evaluation: Evaluation, loss: Expression, context: Context) -> Steps[Any]:
    """The loss; the deltas of its weights are added to those which the end of the run commits.

    What refuses or breaks the training leaves nothing of it, whatever the run makes of the failure.
    """
    may_train(evaluation, context.run)
    try:
        value = yield from evaluation.evaluate(loss, context)
        deltas = yield from _deltas(evaluation, loss, context)
        admitted(deltas, value, partial(explain, evaluation, loss))
        value = private(value, loss)
        context.run.admit(value)
    except Exception as failure:
        evaluation.tell(failure)
        raise
    for x, delta in deltas.items():
        evaluation.add(x, delta)
    return value


def part_gradients(evaluation: Evaluation, loss: Expression, wanted: Wanted, context: Context) -> Steps[Any]:
    """The deltas of a loss at weights, from the values that the rest of the run sees."""
    yield from evaluation.evaluate(loss, context)
    deltas = yield from _deltas(evaluation, loss, context)
    found: list[Any] = []
    for target in wanted.targets:
        value = yield from evaluation.evaluate(target, context)
        found.append(private(zero_of(value) if target not in deltas else told(deltas[target]), target))
    return wanted.rebuild(found)


def part_resolved(evaluation: Evaluation, x: Expression, context: Context) -> Steps[Choice]:
    """The layers that functions chose where the run waited for them, each in the place of its call.

    A tape that a user made has no expression, and its node stays as it is.
    """
    yield from evaluation.evaluate(x, context)
    made = Substitution()

    def resolve(root: Expression) -> Expression:
        for node in below(root, made)[0]:
            whole = evaluation.tapes.get(node.operands[0]) if node.signature.operation is PART else None
            if isinstance(whole, JoinedTape):
                part = _source(whole.tapes[dict(node.signature.attributes)["index"]])
                if part is not None:
                    made.put(node, made(part))
        return made(root)

    for node, tape in evaluation.tapes.items():  # those that others wait for first
        chosen = _source(tape)
        if chosen is not None:
            made.put(node, resolve(chosen))
    return resolve


def _source(tape: Tape[Any, Any]) -> Expression | None:
    return tape.source if isinstance(tape, OwnTape) else None


def _deltas(evaluation: Evaluation, loss: Expression, context: Context) -> Steps[dict[Expression, Value]]:
    """The deltas of weights for a delta of 1 at `loss`, apart from what else is on its way."""
    others = evaluation.deltas, evaluation.pending, evaluation.lazy, evaluation.wanted
    evaluation.deltas, evaluation.pending, evaluation.lazy, evaluation.wanted = {}, {}, {}, {}
    try:
        evaluation.seed(loss)
        yield from evaluation.backward(context)
        return evaluation.deltas
    finally:
        evaluation.deltas, evaluation.pending, evaluation.lazy, evaluation.wanted = others


def private(value: Value, of: Expression) -> Any:
    """Data for one asker, of a value that others still read."""
    return handed_over(copied(value) if is_array(value) else value, of.kind, {})


# -- the origin of infinity or NaN ------------------------------------------------------------------

_NUMBERS = (Column.DOUBLE, Column.FLOAT, Column.ARRAY)


def explain(evaluation: Evaluation, loss: Expression, refusal: Exception) -> None:
    """Add a note to a `NonFiniteError`: the first operation that gave what is not finite, if one can be named."""
    if not isinstance(refusal, NonFiniteError):
        return
    with all_quiet():
        evaluation = _complete(evaluation, loss)
    if loss not in evaluation.values:
        return
    origin = _origin(evaluation, loss)
    if origin is not None:
        refusal.add_note(f"first not finite: {_text(evaluation, origin)}")
    else:
        with all_quiet():
            node = _origin_of_delta(evaluation, loss)
        if node is not None:
            refusal.add_note(f"first not finite: backward of {_text(evaluation, node)}")


def _complete(evaluation: Evaluation, loss: Expression) -> Evaluation:
    """An evaluation with every node's value, which one that made a plan, or ran in batches, does not keep."""
    if evaluation.order:
        evaluation.segments.open_all(evaluation)
        return evaluation
    again = Evaluation(evaluation.snapshot)
    with suppress(Exception):  # a bind asks its function once more; the refusal is told in any case
        Do.program(partial(again.evaluate, loss)).run()
    return again


def _text(evaluation: Evaluation, x: Expression) -> str:
    if not isinstance(x, Node):
        return repr(x)
    signature = evaluation.resolved.get(x) or x.signature
    operands = () if signature.mode == EXTERNAL else arguments_of(x, signature, evaluation.values)
    return located(x, operands)


def _broken(value: Value) -> bool:
    return value_kind(value).column in _NUMBERS and not is_finite(value)


def _origin(evaluation: Evaluation, loss: Expression) -> Expression | None:
    """First node below the loss on a path of values that are not finite; None if the loss is finite."""
    values = evaluation.values
    if loss not in values or not _broken(values[loss]):
        return None
    reached, waiting = {loss}, [loss]
    while waiting:
        x = waiting.pop()
        for y in _below(evaluation, x):
            if y in values and y not in reached and _broken(values[y]):
                reached.add(y)
                waiting.append(y)
    first = [x for x in reached if not isinstance(x, Node)] + [x for x in evaluation.order if x in reached]
    return first[0] if first else None


def _below(evaluation: Evaluation, x: Expression) -> list[Expression]:
    """The expressions that the value of `x` is made of; of a bind, what it gave."""
    tape = evaluation.tapes.get(x) if isinstance(x, Node) else None
    if isinstance(tape, OwnTape) and tape.source is not None:
        return [tape.source]
    return [y for y in x.operands if isinstance(y, Expression)] if isinstance(x, Node) else []


def _origin_of_delta(evaluation: Evaluation, loss: Expression) -> Node | None:
    """The node whose derivative gave the first delta that is not finite; those of a user's tape are not followed."""
    values = evaluation.values
    deltas: dict[Expression, Value] = {loss: one_like(values[loss])}
    for node in reversed(evaluation.order):
        signature = evaluation.resolved.get(node) or node.signature
        g = deltas.pop(node, None)
        if g is None:
            continue
        if signature.mode == EXTERNAL:
            sent = [(y, g) for y in _below(evaluation, node)]
        elif signature.mode == CELL:
            sent = list(left(node, g, values))
        else:
            arguments = arguments_of(node, signature, values)
            found = operand_deltas(signature, g, values[node], arguments)
            sent = [(node.operands[i], delta()) for i, delta in found]
        for x, delta in sent:
            if _broken(dense(delta)):
                return node
            accumulate(deltas, x, delta)
    return None
