"""Operations over classes: softmax, its logarithm, and the losses of labels and of probabilities.

Knows: that the first need the greatest logit subtracted, that the derivative of the loss is simpler than the
composition of its parts, and how weights, ignored labels and smoothing change what is divided by.
Refuses to know: how classes are encoded elsewhere; labels are integers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any, Final, Literal, Protocol, overload

from wengert.arrays import Dv, S, T, Value, is_array, within
from wengert.arrays.scatter import few_labels
from wengert.elsewhere import along_one_axis
from wengert.errors import ArgumentError, DTypeError, ShapeError, WengertError
from wengert.graph.apply import apply, indexing
from wengert.graph.batch import Batch, rowwise
from wengert.graph.detached import IndexExpression
from wengert.graph.expressions import ArrayExpression, ArrayLayer
from wengert.graph.index import indices
from wengert.graph.kinds import Column, Kind, Role, Shape, kind
from wengert.graph.operand import operand, shown
from wengert.graph.operation import Operation, Rule, Rules
from wengert.graph.ragged import EXAMPLES, Ragged
from wengert.ops.arithmetic import divide, multiply, negative, subtract
from wengert.ops.batching import all_stacked, along, by_lines, gathered, over_rows, shaped
from wengert.ops.comparison import greater, where
from wengert.ops.elementary import exp, log, stop_gradient
from wengert.ops.families import composed
from wengert.ops.kinds import along_axis, array_of, ruled, shape_of_operand
from wengert.ops.manipulation import moveaxis, reshape
from wengert.ops.reduction import mean, sum
from wengert.ops.segments import segment_max
from wengert_shapes import losses, rules


class AlongAxis(Protocol):
    """One array, each line along `axis` on its own, result of the same shape."""

    def __call__(self, x: ArrayExpression[S, T, Dv], /, *, axis: int = -1) -> ArrayLayer[S, T, Dv]: ...


def _softmax_delta(c: Value, g: Value, y: Value, x: Value, *, axis: int) -> Value:
    return y * (g - c.xp.sum(g * y, axis=axis, keepdims=True))


def _along_lines_or_rows(c: Ragged, x: Value, *, axis: int) -> Value:
    """The rule for examples of unlike sizes; along the axis of rows these are a softmax of each example's own."""
    of = c.axis()
    if of is None or axis % len(c.shape(0)):
        return by_lines(c, x, axis=axis)
    ids: Any = c.ids(of)  # Any: integers that are an operand
    greatest = segment_max(stop_gradient(x), ids, num_segments=c.examples.total)
    shifted = subtract(x, gathered(c, greatest, ids, c.examples))
    parts = exp(shifted)
    totals = gathered(c, over_rows(c, parts, of, mean=False), ids, c.examples)
    return (divide(parts, totals) if c.operation is SOFTMAX else subtract(shifted, log(totals))), of


def _of_lines(name: str, value: Rule, delta: Rule) -> Operation:
    """An operation on each line along an axis."""
    return Operation(
        name, Rules(along_axis, value, (delta,), batch=along, ragged=_along_lines_or_rows, pure=True)
    )


SOFTMAX: Final = _of_lines("softmax", lambda c, x, *, axis: c.xp.softmax(x, axis=axis), _softmax_delta)


@along_one_axis
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


LOG_SOFTMAX: Final = _of_lines(
    "log_softmax", lambda c, x, *, axis: c.xp.log_softmax(x, axis=axis), _log_softmax_delta
)


@along_one_axis
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
    rows = c.axis()
    if rows is None or c.along[0] != c.along[1]:
        return NotImplemented
    lines = c.again(logits, labels, reduction="none")
    if reduction == "none" or len(c.shape(1)) > 1:
        return (lines, rows) if reduction == "none" else NotImplemented
    return over_rows(c, lines, rows, reduction == "mean"), EXAMPLES


CROSS_ENTROPY: Final = Operation(
    "cross_entropy",
    Rules(_infer_loss, _loss, (_loss_delta, None), batch=_batched_loss, ragged=_ragged_loss, pure=True),
)


Reduced = Literal["mean", "sum", "none"]


def _infer_targets(kinds: Sequence[Kind], *, classes: int, ignored: int | None, dtype: Value) -> Kind:
    (labels,) = kinds
    if labels.column is not Column.INDEX:
        raise DTypeError(f"labels are integers (class numbers), not {labels.text()}")
    shape = None if labels.shape is None else (*labels.shape, classes)
    return kind(Column.ARRAY, shape, dtype, labels.device)


def _targets(c: Value, labels: Value, *, classes: int, ignored: int | None, dtype: Value) -> Value:
    if ignored is None:
        return c.xp.one_hot(labels, classes, dtype)
    kept = c.xp.not_equal(labels, ignored)
    return c.xp.one_hot(labels * kept, classes, dtype) * c.xp.expand_dims(c.xp.astype(kept, dtype), axis=-1)


TARGETS: Final = Operation(  # 1 at each label, 0 elsewhere and where a label is ignored
    "targets", Rules(_infer_targets, _targets, detached=True, batch=rowwise, pure=True)
)


def _checked(reduction: str, label_smoothing: float = 0.0) -> None:
    """Refuse an unknown reduction, and a smoothing that is no probability."""
    if not isinstance(reduction, str) or reduction not in ("mean", "sum", "none"):
        raise ArgumentError(f"reduction is 'mean', 'sum' or 'none', got {shown(reduction)}")
    real = label_smoothing.__class__ is float or isinstance(label_smoothing, Real)
    if not (real and 0.0 <= label_smoothing <= 1.0):
        raise ArgumentError(f"label_smoothing is a number from 0 to 1, got {shown(label_smoothing)}")


def _known_labels(labels: Value, shape: Shape, ignored: int | None, reduction: str) -> None:
    """Refuse labels that are given as data and are no class, or of which there is none to take the mean of."""
    if not is_array(labels):
        return
    kept = labels if ignored is None else labels[labels != ignored]
    if not within(kept, shape[-1]):
        wrong = next(int(i) for i in kept.reshape(-1) if not 0 <= i < shape[-1])
        raise ShapeError(f"label {wrong} is none of the {shape[-1]} classes of logits of shape {shape}")
    if reduction == "mean" and kept.size == 0:
        why = "the batch is empty" if labels.size == 0 else f"all {labels.size} labels are {ignored}"
        raise ShapeError(f"the mean of no line: {why}")


def _of_labels(
    logs: Value,
    labels: Value,
    axis: int,
    weight: Value,
    ignored: int | None,
    smoothing: float,
    reduction: str,
) -> Value:
    """The loss of logarithms of probabilities and labels, in the general case."""
    shape = shape_of_operand(logs)
    if axis not in (-1, len(shape) - 1):
        ruled(losses.lines, [shape], axis)
        logs, shape = moveaxis(logs, axis, -1), losses.last(shape, axis)
    of = operand(logs)[1]
    ruled(rules.loss_lines, [shape, shape_of_operand(labels)])
    _known_labels(labels, shape, ignored, reduction)
    attributes = (("classes", shape[-1]), ("ignored", ignored), ("dtype", of.dtype))
    hot: Value = apply(TARGETS, (labels,), attributes)
    mass = hot
    if weight is not None:
        ruled(losses.weighted, [shape, shape_of_operand(weight)], -1)
        mass = multiply(hot, weight)
    lines = negative(sum(multiply(mass, where(greater(hot, 0.0), logs, 0.0)), axis=-1))
    if smoothing:
        every = sum(logs if weight is None else multiply(logs, weight), axis=-1)
        lines = lines * (1.0 - smoothing) - every * sum(hot, axis=-1) * (smoothing / shape[-1])
    if reduction == "none":
        return lines
    if reduction == "sum":
        return sum(lines)
    return mean(lines) if weight is None and ignored is None else sum(lines) / sum(mass)


@composed
def _cross_entropy(
    logits: Any,
    labels: Any,
    *,
    axis: int,
    weight: Any,
    ignored: int | None,
    smoothing: float,
    reduction: str,
) -> Any:  # Any: typed by the overloads of `cross_entropy`
    """As `cross_entropy`, with its errors."""
    _checked(reduction, smoothing)
    if weight is not None or ignored is not None or smoothing or axis != -1:
        logs, integers = log_softmax(logits, axis=axis), indices(labels)
        return _of_labels(logs, integers, axis, weight, ignored, smoothing, reduction)
    layer = indexing(CROSS_ENTROPY, logits, labels, reduction, "reduction")
    shape = layer.signature.kinds[0].shape
    if shape is not None:
        _known_labels(layer.operands[1], shape, None, reduction)
    return layer


@overload
def cross_entropy(
    logits: ArrayExpression[Any, T, Dv],
    labels: IndexExpression,
    /,
    *,
    axis: int = -1,
    weight: ArrayExpression[Any, T, Dv] | None = None,
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    reduction: Literal["mean", "sum"] = "mean",
) -> ArrayLayer[tuple[()], T, Dv]: ...
@overload
def cross_entropy(
    logits: ArrayExpression[Any, T, Dv],
    labels: IndexExpression,
    /,
    *,
    axis: int = -1,
    weight: ArrayExpression[Any, T, Dv] | None = None,
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    reduction: Literal["none"],
) -> ArrayLayer[Any, T, Dv]: ...
def cross_entropy(
    logits: Any,
    labels: Any,
    /,
    *,
    axis: int = -1,
    weight: Any = None,
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    reduction: str = "mean",
) -> Any:  # Any: typed by the overloads
    """The mean over all lines of -log softmax(logits)[label]; classes lie on the last axis, or on `axis`.

    `weight` has a number for each class, by which its lines count; lines whose label is `ignore_index` count nothing;
    the mean is divided by what counts. With `label_smoothing` ε a line is (1 - ε) of its loss, and ε / classes of the
    sum of the losses of all classes. For probabilities in the place of labels see `softmax_cross_entropy`.
    Derivative: g (softmax(logits) - onehot(labels)) / n for the mean over n lines.
    Shapes: (..., classes) and integer labels (...) to (); to (...) with reduction="none"; weight (classes,).
    Raises ShapeError, also for a label that is no class, and for a mean of no line; DTypeError for labels that are no
    integers; ArgumentError for another reduction.
    >>> import numpy as np
    >>> cross_entropy(np.zeros((2, 4)), np.array([0, 3])).predict().run().round(6).item()
    1.386294

    Source: I. Goodfellow, Y. Bengio, A. Courville, "Deep Learning", 2016, section 6.2.2.3; the options as in PyTorch.
    """
    plain = weight is None and ignore_index is None and axis == -1 and label_smoothing.__class__ is float
    if plain and not label_smoothing and reduction.__class__ is str and reduction == "mean":
        few = few_labels(labels)  # half the time of the way below
        if few is not None:
            try:
                layer = indexing(CROSS_ENTROPY, logits, few[0], reduction, "reduction")
                shape = layer.signature.kinds[0].shape
                if shape is None or few[1] < shape[-1]:
                    return layer
            except WengertError:
                pass  # as below, which says more
    return _cross_entropy(
        logits,
        labels,
        axis=axis,
        weight=weight,
        ignored=ignore_index,
        smoothing=label_smoothing,
        reduction=reduction,
    )


@overload
def nll_loss(
    logs: ArrayExpression[Any, T, Dv],
    labels: IndexExpression,
    /,
    *,
    axis: int = -1,
    weight: ArrayExpression[Any, T, Dv] | None = None,
    ignore_index: int | None = None,
    reduction: Literal["mean", "sum"] = "mean",
) -> ArrayLayer[tuple[()], T, Dv]: ...
@overload
def nll_loss(
    logs: ArrayExpression[Any, T, Dv],
    labels: IndexExpression,
    /,
    *,
    axis: int = -1,
    weight: ArrayExpression[Any, T, Dv] | None = None,
    ignore_index: int | None = None,
    reduction: Literal["none"],
) -> ArrayLayer[Any, T, Dv]: ...
@composed
def nll_loss(
    logs: Any,
    labels: Any,
    /,
    *,
    axis: int = -1,
    weight: Any = None,
    ignore_index: int | None = None,
    reduction: str = "mean",
) -> Any:  # Any: typed by the overloads
    """The mean over all lines of -logs[label], the negative log-likelihood; options as in `cross_entropy`.

    Derivative: -g / n at each label for the mean over n lines, 0 elsewhere.
    Shapes: (..., classes) and integer labels (...) to (); to (...) with reduction="none"; weight (classes,).
    Raises what `cross_entropy` raises.
    >>> import numpy as np
    >>> nll_loss(np.log(np.array([[0.5, 0.5]])), np.array([1])).predict().run().round(6).item()
    0.693147

    Source: PyTorch, `torch.nn.functional.nll_loss`.
    """
    _checked(reduction)
    return _of_labels(logs, indices(labels), axis, weight, ignore_index, 0.0, reduction)


@composed
def softmax_cross_entropy(
    logits: ArrayExpression[Any, T, Dv],
    probabilities: ArrayExpression[Any, T, Dv],
    /,
    *,
    axis: int = -1,
    weight: ArrayExpression[Any, T, Dv] | None = None,
    reduction: Reduced = "mean",
) -> ArrayLayer[Any, T, Dv]:
    """The mean over all lines of -Σ p log softmax(logits): cross-entropy with soft labels, such as a teacher's.

    A function of its own, so that `cross_entropy` can refuse labels that are no integers.
    Derivative: g (softmax(logits) Σ p - p) / n for the mean over n lines; -g log softmax(logits) / n for p.
    Shapes: two arrays of one shape to (); to that without the axis of classes with reduction="none"; weight
    (classes,). Raises ShapeError, also for a mean of no line; ArgumentError for another reduction.
    >>> import numpy as np
    >>> softmax_cross_entropy(np.zeros((1, 2)), np.array([[0.25, 0.75]])).predict().run().round(6).item()
    0.693147

    Source: Optax, `optax.softmax_cross_entropy`; PyTorch, `torch.nn.functional.cross_entropy`.
    """
    _checked(reduction)
    shape = shape_of_operand(logits)
    ruled(losses.lines, [ruled(losses.alike, [shape, shape_of_operand(probabilities)])], axis)
    logs: Any = log_softmax(logits, axis=axis)  # Any: as logits, both
    each: Any = multiply(probabilities, logs)
    if weight is not None:
        ruled(losses.weighted, [shape, shape_of_operand(weight)], axis)
        behind = len(shape) - 1 - axis % len(shape)
        each = each * reshape(weight, (-1, *(1,) * behind))
    return reduced_loss(negative(sum(each, axis=axis)), reduction)


def reduced_loss(each: ArrayExpression[Any, T, Dv], reduction: str) -> ArrayLayer[Any, T, Dv]:
    """The mean or the sum of the losses of all elements, or these themselves: how a loss of one's own ends.

    Raises ShapeError for the mean of no element, ArgumentError for another reduction.
    >>> import numpy as np
    >>> import wengert as wg
    >>> reduced_loss(wg.square(wg.lift(np.array([1.0, 3.0]))), "mean").predict().run().item()
    5.0
    """
    _checked(reduction)
    losses: Any
    losses, of = operand(each)
    if reduction == "mean" and of.shape is not None and 0 in of.shape:
        raise ShapeError("the mean of no element: the batch is empty")
    made: ArrayLayer[Any, T, Dv] = (
        losses if reduction == "none" else (sum if reduction == "sum" else mean)(losses)
    )
    return made
