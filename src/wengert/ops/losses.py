"""Losses of predictions and targets, element by element or pair by pair; those of labels are in `classification`.

Knows: their formulas, written so that nothing overflows and no digits cancel for logits of ±1e4 in float32.
Refuses to know: broadcasting: operands have one shape, as (n, 1) against (n,) is the commonest mistake with a loss.
"""

from __future__ import annotations

from numbers import Real
from typing import Any, Literal

from wengert.arrays import Dv, T, Value
from wengert.errors import ArgumentError, ShapeError
from wengert.graph.expressions import ArrayExpression, ArrayLayer
from wengert.graph.operand import operand, shown
from wengert.ops.activation import softplus
from wengert.ops.arithmetic import abs, clip, divide, minimum, multiply, negative, subtract
from wengert.ops.classification import Reduced, reduced_loss
from wengert.ops.comparison import greater, less, where
from wengert.ops.elementary import exp, log, log1p, relu, sqrt, square
from wengert.ops.families import composed
from wengert.ops.kinds import ruled, shape_of_operand
from wengert.ops.norms import vector_norm
from wengert.ops.reduction import sum
from wengert_shapes import losses as rules


def _positive(what: str, number: float) -> None:
    if not isinstance(number, Real) or not float(number) > 0.0:
        raise ArgumentError(f"{what} is a number greater than 0; got {shown(number)}")


def _alike(*xs: Value) -> list[Value]:
    """The operands, if they have one shape; of one that only the run knows nothing is asked."""
    found = [operand(x) for x in xs]
    shapes = [of.shape for _, of in found if of.shape is not None]
    if len(set(shapes)) > 1:
        ruled(rules.alike, shapes)
    return [value for value, _ in found]


@composed
def mse_loss(
    x: ArrayExpression[Any, T, Dv], target: ArrayExpression[Any, T, Dv], /, *, reduction: Reduced = "mean"
) -> ArrayLayer[Any, T, Dv]:
    """The mean of (x - target)².

    Derivative: 2 g (x - target) / n for the mean over n elements; for the target it is the negative.
    Shapes: two of one shape to (); to that shape with reduction="none". Raises ShapeError, also for a mean of no
    element; ArgumentError for another reduction.
    >>> import numpy as np
    >>> mse_loss(np.array([1.0, 4.0]), np.array([1.0, 2.0])).predict().run().item()
    2.0

    Source: PyTorch, `torch.nn.functional.mse_loss`.
    """
    x, target = _alike(x, target)
    return reduced_loss(square(subtract(x, target)), reduction)


@composed
def l1_loss(
    x: ArrayExpression[Any, T, Dv], target: ArrayExpression[Any, T, Dv], /, *, reduction: Reduced = "mean"
) -> ArrayLayer[Any, T, Dv]:
    """The mean of |x - target|.

    Derivative: g sign(x - target) / n for the mean over n elements; for the target it is the negative.
    Shapes: two of one shape to (); to that shape with reduction="none". Raises what `mse_loss` raises.
    >>> import numpy as np
    >>> l1_loss(np.array([1.0, 4.0]), np.array([1.0, 2.0])).predict().run().item()
    1.0

    Source: PyTorch, `torch.nn.functional.l1_loss`.
    """
    x, target = _alike(x, target)
    return reduced_loss(abs(subtract(x, target)), reduction)


@composed
def huber_loss(
    x: ArrayExpression[Any, T, Dv],
    target: ArrayExpression[Any, T, Dv],
    /,
    *,
    delta: float = 1.0,
    reduction: Reduced = "mean",
) -> ArrayLayer[Any, T, Dv]:
    """The mean of d² / 2 where d = |x - target| is less than delta, else of delta (d - delta / 2).

    Derivative: g (x - target) / n, with -delta and delta as its bounds; for the target it is the negative.
    Shapes: two of one shape to (); to that shape with reduction="none". Raises what `mse_loss` raises, and
    ArgumentError for a delta that is not greater than 0.
    >>> import numpy as np
    >>> huber_loss(np.array([1.0, 4.0]), np.array([1.0, 2.0]), reduction="none").predict().run().tolist()
    [0.0, 1.5]

    Source: P. Huber, "Robust Estimation of a Location Parameter", 1964; PyTorch, `torch.nn.functional.huber_loss`.
    """
    _positive("delta", delta)
    x, target = _alike(x, target)
    return reduced_loss(_huber(subtract(x, target), delta), reduction)


def _huber(d: Value, delta: float) -> Value:
    far = abs(d)
    return where(less(far, delta), square(d) * 0.5, far * delta - 0.5 * delta * delta)


@composed
def smooth_l1_loss(
    x: ArrayExpression[Any, T, Dv],
    target: ArrayExpression[Any, T, Dv],
    /,
    *,
    beta: float = 1.0,
    reduction: Reduced = "mean",
) -> ArrayLayer[Any, T, Dv]:
    """The mean of d² / (2 beta) where d = |x - target| is less than beta, else of d - beta / 2: `huber_loss` / beta.

    Derivative: g (x - target) / (beta n), with -g / n and g / n as its bounds; for the target it is the negative.
    Shapes: two of one shape to (); to that shape with reduction="none". Raises what `mse_loss` raises, and
    ArgumentError for a beta that is not greater than 0.
    >>> import numpy as np
    >>> smooth_l1_loss(np.array([1.0, 4.0]), np.array([1.0, 2.0]), beta=2.0).predict().run().item()
    0.5

    Source: R. Girshick, "Fast R-CNN", 2015; PyTorch, `torch.nn.functional.smooth_l1_loss`.
    """
    _positive("beta", beta)
    x, target = _alike(x, target)
    return reduced_loss(_huber(subtract(x, target), beta) / beta, reduction)


@composed
def binary_cross_entropy_with_logits(
    logits: ArrayExpression[Any, T, Dv],
    target: ArrayExpression[Any, T, Dv],
    /,
    *,
    weight: ArrayExpression[Any, T, Dv] | None = None,
    pos_weight: ArrayExpression[Any, T, Dv] | None = None,
    reduction: Reduced = "mean",
) -> ArrayLayer[Any, T, Dv]:
    """The mean of -t log s - (1 - t) log(1 - s) with s = 1 / (1 + exp(-logit)): exact for logits of any size.

    `weight` multiplies each element, `pos_weight` the first term; both broadcast.
    Derivative: g (s - t) / n for the mean over n elements; -g logit / n for the target.
    Shapes: two of one shape to (); to that shape with reduction="none". Raises what `mse_loss` raises.
    >>> import numpy as np
    >>> z, t = np.array([0.0, 1000.0, -1000.0]), np.array([1.0, 1.0, 0.0])
    >>> binary_cross_entropy_with_logits(z, t, reduction="none").predict().run().round(6).tolist()
    [0.693147, 0.0, 0.0]

    Source: PyTorch, `torch.nn.functional.binary_cross_entropy_with_logits`.
    """
    logits, target = _alike(logits, target)
    # two terms that are never negative: nothing cancels, whichever of them counts
    hit: Value = multiply(target, softplus(negative(logits)))
    if pos_weight is not None:
        hit = multiply(hit, pos_weight)
    each = hit + multiply(subtract(1.0, target), softplus(logits))
    return reduced_loss(each if weight is None else each * weight, reduction)


_LEAST_LOG = -100.0  # of a probability of 0


@composed
def binary_cross_entropy(
    p: ArrayExpression[Any, T, Dv],
    target: ArrayExpression[Any, T, Dv],
    /,
    *,
    weight: ArrayExpression[Any, T, Dv] | None = None,
    reduction: Reduced = "mean",
) -> ArrayLayer[Any, T, Dv]:
    """The mean of -t log p - (1 - t) log(1 - p), with logarithms of -100 at least.

    For probabilities that come from logits `binary_cross_entropy_with_logits` is exact where this is not.
    Derivative: g (p - t) / (p (1 - p) n) for the mean over n elements; 0 where the logarithm is less than -100.
    Shapes: two of one shape to (); to that shape with reduction="none". Raises what `mse_loss` raises.
    >>> import numpy as np
    >>> binary_cross_entropy(np.array([0.5, 0.0]), np.array([1.0, 0.0])).predict().run().round(6).item()
    0.346574

    Source: PyTorch, `torch.nn.functional.binary_cross_entropy`.
    """
    p, target = _alike(p, target)
    hit: Value = multiply(target, clip(log(p), _LEAST_LOG))
    each = -hit - multiply(subtract(1.0, target), clip(log1p(negative(p)), _LEAST_LOG))
    return reduced_loss(each if weight is None else each * weight, reduction)


@composed
def kl_div(
    logs: ArrayExpression[Any, T, Dv],
    target: ArrayExpression[Any, T, Dv],
    /,
    *,
    log_target: bool = False,
    reduction: Literal["mean", "batchmean", "sum", "none"] = "mean",
) -> ArrayLayer[Any, T, Dv]:
    """The mean of t (log t - log p), for log p and t; 0 where t is 0: the Kullback-Leibler divergence of p from t.

    With `log_target` the target is log t. "batchmean" divides the sum by the size of the first axis, which is the mean
    divergence of the rows; "mean" divides it by the number of elements, as PyTorch has it.
    Derivative: -g t / n for log p; g (log t + 1 - log p) / n for t.
    Shapes: two of one shape to (); to that shape with reduction="none". Raises what `mse_loss` raises.
    >>> import numpy as np
    >>> p, t = np.array([[0.5, 0.5]]), np.array([[1.0, 0.0]])
    >>> kl_div(np.log(p), t, reduction="batchmean").predict().run().round(6).item()
    0.693147

    Source: S. Kullback, R. Leibler, "On Information and Sufficiency", 1951; PyTorch, `torch.nn.functional.kl_div`.
    """
    logs, target = _alike(logs, target)
    each: Value
    if log_target:
        each = multiply(exp(target), subtract(target, logs))
    else:
        some = greater(target, 0.0)
        each = subtract(
            where(some, multiply(target, log(where(some, target, 1.0))), 0.0), multiply(target, logs)
        )
    if reduction != "batchmean":
        return reduced_loss(each, reduction)
    shape = shape_of_operand(each)
    if not shape or shape[0] == 0:
        raise ShapeError(f"the mean of no row: the batch of shape {shape} is empty")
    total: ArrayLayer[Any, T, Dv] = reduced_loss(each, "sum")
    return total / shape[0]


@composed
def hinge_loss(
    x: ArrayExpression[Any, T, Dv],
    target: ArrayExpression[Any, T, Dv],
    /,
    *,
    margin: float = 1.0,
    reduction: Reduced = "mean",
) -> ArrayLayer[Any, T, Dv]:
    """The mean of max(0, margin - x t), for targets t of 1 and -1.

    Derivative: -g t / n where x t is less than the margin, else 0.
    Shapes: two of one shape to (); to that shape with reduction="none". Raises what `mse_loss` raises.
    >>> import numpy as np
    >>> hinge_loss(np.array([2.0, 0.5]), np.array([1.0, -1.0]), reduction="none").predict().run().tolist()
    [0.0, 1.5]

    Source: V. Vapnik, "The Nature of Statistical Learning Theory", 1995; Optax, `optax.losses.hinge_loss`.
    """
    x, target = _alike(x, target)
    return reduced_loss(relu(subtract(margin, multiply(x, target))), reduction)


@composed
def hinge_embedding_loss(
    x: ArrayExpression[Any, T, Dv],
    target: ArrayExpression[Any, T, Dv],
    /,
    *,
    margin: float = 1.0,
    reduction: Reduced = "mean",
) -> ArrayLayer[Any, T, Dv]:
    """The mean of the distances x where the target is 1, of max(0, margin - x) where it is -1.

    Derivative: g / n where the target is 1; -g / n where it is -1 and x less than the margin; else 0.
    Shapes: two of one shape to (); to that shape with reduction="none". Raises what `mse_loss` raises.
    >>> import numpy as np
    >>> distances, target = np.array([0.25, 0.25]), np.array([1.0, -1.0])
    >>> hinge_embedding_loss(distances, target, reduction="none").predict().run().tolist()
    [0.25, 0.75]

    Source: PyTorch, `torch.nn.functional.hinge_embedding_loss`.
    """
    x, target = _alike(x, target)
    each: Value = where(greater(target, 0.0), x, relu(subtract(margin, x)))
    return reduced_loss(each, reduction)


def _cosine(a: Value, b: Value, axis: int, eps: float) -> Value:
    """The cosine of angles between vectors; a vector shorter than eps counts as that long."""
    lengths: list[Value] = [sqrt(clip(sum(square(x), axis=axis), eps * eps)) for x in (a, b)]
    return divide(sum(multiply(a, b), axis=axis), multiply(*lengths))


@composed
def cosine_similarity(
    a: ArrayExpression[Any, T, Dv],
    b: ArrayExpression[Any, T, Dv],
    /,
    *,
    axis: int = -1,
    eps: float = 1e-8,
) -> ArrayLayer[Any, T, Dv]:
    """Σ a b / (|a| |b|) along an axis, with lengths of eps at least.

    Derivative: g (b / (|a| |b|) - y a / |a|²) for a, and the same for b.
    Shapes: two of one shape to that without the axis. Raises ShapeError; ArgumentError for an eps that is not greater
    than 0.
    >>> import numpy as np
    >>> cosine_similarity(np.array([3.0, 4.0]), np.array([4.0, 3.0])).predict().run().round(6).item()
    0.96

    Source: PyTorch, `torch.nn.functional.cosine_similarity`.
    """
    _positive("eps", eps)
    a, b = _alike(a, b)
    layer: ArrayLayer[Any, T, Dv] = _cosine(a, b, axis, eps)
    return layer


@composed
def cosine_embedding_loss(
    a: ArrayExpression[Any, T, Dv],
    b: ArrayExpression[Any, T, Dv],
    target: ArrayExpression[Any, T, Dv],
    /,
    *,
    margin: float = 0.0,
    reduction: Reduced = "mean",
) -> ArrayLayer[Any, T, Dv]:
    """The mean of 1 - cos(a, b) where the target is 1, of max(0, cos(a, b) - margin) where it is -1.

    Derivative: that of `cosine_similarity`, times -g / n or g / n, or 0.
    Shapes: a and b (..., features), target (...) to (); to (...) with reduction="none". Raises what `mse_loss` raises.
    >>> import numpy as np
    >>> a, b = np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> cosine_embedding_loss(a, b, np.array([1.0, -1.0]), reduction="none").predict().run().tolist()
    [1.0, 1.0]

    Source: PyTorch, `torch.nn.functional.cosine_embedding_loss`.
    """
    (a, b), (target,) = _alike(a, b), _alike(target)
    shapes = [operand(x)[1].shape for x in (a, b, target)]
    if None not in shapes:
        ruled(rules.of_pairs, [shape for shape in shapes if shape is not None])
    near = _cosine(a, b, -1, 1e-8)
    each: Value = where(greater(target, 0.0), subtract(1.0, near), relu(subtract(near, margin)))
    return reduced_loss(each, reduction)


@composed
def triplet_margin_loss(
    anchor: ArrayExpression[Any, T, Dv],
    positive: ArrayExpression[Any, T, Dv],
    negative: ArrayExpression[Any, T, Dv],
    /,
    *,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: Reduced = "mean",
) -> ArrayLayer[Any, T, Dv]:
    """The mean of max(0, |a - p| - |a - n| + margin): an anchor is nearer to what is like it than to what is not.

    Distances are p-norms of the difference plus eps; with `swap` the negative is as far away as it is from the nearer
    of the other two.
    Derivative: where the loss is not 0, those of the two distances.
    Shapes: three (..., features) of one shape to (); to (...) with reduction="none". Raises what `mse_loss` raises.
    >>> import numpy as np
    >>> a, p, n = np.zeros((1, 2)), np.array([[3.0, 4.0]]), np.array([[0.0, 2.0]])
    >>> triplet_margin_loss(a, p, n).predict().run().round(3).item()
    4.0

    Source: V. Balntas et al., "Learning local feature descriptors with triplets and shallow convolutional neural
    networks", 2016; PyTorch, `torch.nn.functional.triplet_margin_loss`.
    """
    _positive("p", p)
    anchor, positive, negative = _alike(anchor, positive, negative)
    far = _distance(anchor, negative, p, eps)
    if swap:
        far = minimum(far, _distance(positive, negative, p, eps))
    each: Value = relu(_distance(anchor, positive, p, eps) - far + margin)
    return reduced_loss(each, reduction)


def _distance(a: Value, b: Value, p: float, eps: float) -> Value:
    difference: Value = subtract(a, b)
    return vector_norm(difference + eps, axis=-1, ord=p)
