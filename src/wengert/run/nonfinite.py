"""Origin of infinity or NaN, for a run that was refused because of it.

Knows: that the cause of a value lies among its operands, and of a delta among the derivatives before it; that
this is asked after the run, of the values that it left, so that a good run pays nothing.
Refuses to know: who refused.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial

from wengert.arrays import Value, all_quiet, is_finite, one_like
from wengert.control import Do
from wengert.errors import NonFiniteError
from wengert.graph.kinds import Column
from wengert.graph.node import Expression, Node
from wengert.graph.operand import value_kind
from wengert.graph.operation import CELL, EXTERNAL
from wengert.lazy import dense
from wengert.run.evaluation import Evaluation
from wengert.run.loops import accumulate, arguments_of, left, located, operand_deltas
from wengert.run.tapes import OwnTape

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
        for below in _below(evaluation, x):
            if below in values and below not in reached and _broken(values[below]):
                reached.add(below)
                waiting.append(below)
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
            sent = [(below, g) for below in _below(evaluation, node)]
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
