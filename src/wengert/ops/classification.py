"""Operations over classes: softmax, its logarithm, cross-entropy.

Knows: that the three need the greatest logit subtracted, and that the loss's derivative is simpler than the
composition of its parts.
Refuses to know: how classes are encoded elsewhere; labels are integers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final, Literal, Protocol, overload

from wengert.arrays import Dv, S, T, is_array, within
from wengert.errors import ArgumentError, DTypeError, ShapeError
from wengert.graph.apply import apply
from wengert.graph.batch import Batch
from wengert.graph.detached import IndexExpression
from wengert.graph.expressions import ArrayExpression, ArrayLayer
from wengert.graph.index import indices
from wengert.graph.kinds import Column, Kind, Role, kind
from wengert.graph.operand import shown
from wengert.graph.operation import Operation, Rules
from wengert.graph.ragged import EXAMPLES, Ragged
from wengert.ops.batching import all_stacked, along, by_lines, over_rows, shaped
from wengert.ops.kinds import along_axis, array_of, ruled
from wengert.ops.reduction import mean, sum
from wengert.site import user_position
from wengert_shapes import rules

Value = Any  # arrays, or expressions: a rule is written once for both


class AlongAxis(Protocol):
    """One array, each line along `axis` on its own, result of the same shape."""

    def __call__(self, x: ArrayExpression[S, T, Dv], /, *, axis: int = -1) -> ArrayLayer[S, T, Dv]: ...


def _softmax_delta(c: Value, g: Value, y: Value, x: Value, *, axis: int) -> Value:
    return y * (g - c.xp.sum(g * y, axis=axis, keepdims=True))


SOFTMAX: Final = Operation(
    "softmax",
    Rules(
        along_axis,
        lambda c, x, *, axis: c.xp.softmax(x, axis=axis),
        (_softmax_delta,),
        batch=along,
        ragged=by_lines,
        pure=True,
    ),
)


def softmax(x: ArrayExpression[S, T, Dv], /, *, axis: int = -1) -> ArrayLayer[S, T, Dv]:
    """exp(x) / Σ exp(x) along an axis, without overflow.

    Derivative: y (g - Σ g y).
    Shapes: that of x. Raises ShapeError for an axis out of range.
    >>> import numpy as np
    >>> softmax(np.zeros(4)).predict().run().tolist()
    [0.25, 0.25, 0.25, 0.25]

    Source: J. Bridle, "Probabilistic interpretation of feedforward classification network outputs", 1990.
    """
    layer: ArrayLayer[S, T, Dv] = apply(SOFTMAX, (x,), (("axis", axis),))
    return layer


def _log_softmax_delta(c: Value, g: Value, y: Value, x: Value, *, axis: int) -> Value:
    return g - c.xp.exp(y) * c.xp.sum(g, axis=axis, keepdims=True)


LOG_SOFTMAX: Final = Operation(
    "log_softmax",
    Rules(
        along_axis,
        lambda c, x, *, axis: c.xp.log_softmax(x, axis=axis),
        (_log_softmax_delta,),
        batch=along,
        ragged=by_lines,
        pure=True,
    ),
)


def log_softmax(x: ArrayExpression[S, T, Dv], /, *, axis: int = -1) -> ArrayLayer[S, T, Dv]:
    """x - log Σ exp(x) along an axis, without overflow.

    Derivative: g - exp(y) Σ g.
    Shapes: that of x. Raises ShapeError for an axis out of range.
    >>> import numpy as np
    >>> np.exp(log_softmax(np.zeros(4)).predict().run()).round(9).tolist()
    [0.25, 0.25, 0.25, 0.25]

    Source: the logarithm of `softmax`.
    """
    layer: ArrayLayer[S, T, Dv] = apply(LOG_SOFTMAX, (x,), (("axis", axis),))
    return layer


def _infer_loss(kinds: Sequence[Kind], *, reduction: str) -> Kind:
    shape, dtype, device = array_of(kinds[:1])
    labels = kinds[1]
    if labels.column is not Column.INDEX:
        raise DTypeError(f"labels are integers (class numbers), not {labels.text()}")
    if shape is not None and labels.shape is not None:
        ruled(rules.loss_lines, [shape, labels.shape])
    result = () if reduction != "none" else (None if shape is None else shape[:-1])
    return kind(Column.ARRAY, result, dtype, device)


def _loss(c: Value, logits: Value, labels: Value, *, reduction: str) -> Value:
    xp = c.xp
    if c.kinds[1].role is not Role.LITERAL:  # what a cell is given: nobody has looked at it
        labels = xp.labels(labels, c.shape(0)[-1])
    lines = xp.logsumexp(logits, axis=-1) - xp.pick(logits, labels)
    if reduction == "none":
        return lines
    return xp.mean(lines) if reduction == "mean" else xp.sum(lines)


def _loss_delta(c: Value, g: Value, y: Value, logits: Value, labels: Value, *, reduction: str) -> Value:
    xp, shape = c.xp, c.shape(0)
    if reduction == "mean":
        g = g / max(1, math.prod(shape[:-1]))
    spread = xp.expand_dims(g, axis=-1) if reduction == "none" else g
    return spread * (xp.softmax(logits, axis=-1) - xp.one_hot(labels, shape[-1], c.result.dtype))


def _batched_loss(b: Batch, logits: Value, labels: Value, *, reduction: str) -> Value:
    lines = b.again(*all_stacked(b, (logits, labels)), reduction="none")
    shape = b.shape(1)
    if reduction == "none" or not shape:
        return lines
    total = mean if reduction == "mean" else sum
    return total(shaped(lines, (b.rows, math.prod(shape))), axis=1)


def _ragged_loss(c: Ragged, logits: Value, labels: Value, *, reduction: str) -> Value:
    segments = c.segments()
    if segments is None or c.along[0] is not c.along[1]:
        return NotImplemented
    lines = c.again(logits, labels, reduction="none")
    if reduction == "none" or len(c.shape(1)) > 1:
        return (lines, segments) if reduction == "none" else NotImplemented
    return over_rows(c, lines, segments, reduction == "mean"), EXAMPLES


CROSS_ENTROPY: Final = Operation(
    "cross_entropy",
    Rules(_infer_loss, _loss, (_loss_delta, None), batch=_batched_loss, ragged=_ragged_loss, pure=True),
)


@overload
def cross_entropy(
    logits: ArrayExpression[Any, T, Dv],
    labels: IndexExpression,
    /,
    *,
    reduction: Literal["mean", "sum"] = "mean",
) -> ArrayLayer[tuple[()], T, Dv]: ...
@overload
def cross_entropy(
    logits: ArrayExpression[Any, T, Dv], labels: IndexExpression, /, *, reduction: Literal["none"]
) -> ArrayLayer[Any, T, Dv]: ...
def cross_entropy(
    logits: Any, labels: Any, /, *, reduction: str = "mean"
) -> Any:  # Any: typed by the overloads
    """The mean over all lines of -log softmax(logits)[label]; classes lie on the last axis.

    Derivative: g (softmax(logits) - onehot(labels)) / n for the mean over n lines.
    Shapes: (..., classes) and integer labels (...) to (); to (...) with reduction="none".
    Raises ShapeError, also for a label that is no class; DTypeError for labels that are no integers.
    >>> import numpy as np
    >>> cross_entropy(np.zeros((2, 4)), np.array([0, 3])).predict().run().round(6).item()
    1.386294

    Source: I. Goodfellow, Y. Bengio, A. Courville, "Deep Learning", 2016, section 6.2.2.3.
    """
    if not isinstance(reduction, str) or reduction not in ("mean", "sum", "none"):
        raise ArgumentError(
            f"cross_entropy: reduction is 'mean', 'sum' or 'none', got {shown(reduction)}\n  at {user_position()}"
        )
    integers = indices(labels)
    layer = apply(CROSS_ENTROPY, (logits, integers), (("reduction", reduction),))
    shape = layer.signature.kinds[0].shape
    if shape is not None and is_array(integers) and not within(integers, shape[-1]):
        wrong = next(int(i) for i in integers.reshape(-1) if not 0 <= i < shape[-1])
        raise ShapeError(
            f"cross_entropy: label {wrong} is none of the {shape[-1]} classes of logits of shape {shape}\n"
            f"  at {user_position()}"
        )
    return layer
