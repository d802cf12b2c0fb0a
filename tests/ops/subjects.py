"""What every operation is tested on: operands in its smooth domain, and the formula in plain numpy."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from autograd.extend import defvjp, primitive
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import wengert as wg

from . import (
    assorted,
    compared_losses,
    images,
    matrices,
    ordered,
    rearranged,
    resampled,
    scattered,
    summed,
    transformed,
)
from . import draw as d
from .example import Example as Example

# autograd has one of its own in `autograd.scipy`, which imports half of scipy: a second a process.
erf = primitive(np.vectorize(math.erf, otypes=[float]))
defvjp(erf, lambda y, x: lambda g: g * (2.0 / math.sqrt(math.pi)) * np.exp(-x * x))

Method = Literal["complex step", "differences"]
Floats = tuple[st.SearchStrategy[float], ...]


@dataclass(frozen=True)
class Subject:
    """An operation's examples, the method that fits its derivative, and its domain for single numbers."""

    examples: st.SearchStrategy[Example]
    method: Method | None = "complex step"
    floats: Floats | None = None


def unary(
    name: str,
    plain: Callable[..., Any],
    elements: st.SearchStrategy[float],
    method: Method | None = "complex step",
) -> Subject:
    call = getattr(wg, name)
    examples = (
        d.shapes().flatmap(lambda shape: d.arrays(shape, elements)).map(lambda x: Example(call, plain, (x,)))
    )
    return Subject(examples, method, (elements,))


def binary(
    name: str,
    plain: Callable[..., Any],
    left: st.SearchStrategy[float],
    right: st.SearchStrategy[float],
    method: Method | None = "complex step",
) -> Subject:
    call = getattr(wg, name)

    @st.composite
    def examples(draw: st.DrawFn) -> Example:
        a, b = draw(d.broadcast_shapes())
        return Example(call, plain, (draw(d.arrays(a, left)), draw(d.arrays(b, right))))

    return Subject(examples(), method, (left, right))


ANY = d.numbers(-3, 3)
EVEN = st.integers(-12, 12).map(lambda i: i / 4)
ODD = st.integers(-12, 12).map(lambda i: i / 4 + 0.125)  # never equal to an even one
POSITIVE = d.numbers(0.25, 4)
GAP = d.numbers(-3, 3, gap=0.125)
INSIDE = d.numbers(-0.75, 0.75)  # of the domain of inverse sines
SHARES = st.integers(-12, 12).map(lambda i: i / 4 + 0.125)  # never a multiple of a half
SIXTEENTHS = st.integers(-40, 40).map(lambda i: i / 8 + 1 / 16)  # beyond 3 on both sides, and never there
HALVES = st.sampled_from((-1.5, -0.5, 0.5, 1.0))
ODDITIES = st.sampled_from((0.0, -0.0, 1.5, -2.0, math.inf, -math.inf, math.nan))


@st.composite
def logic(draw: st.DrawFn, name: str) -> Example:
    a, b = (draw(npst.arrays(np.bool, s)) for s in draw(d.broadcast_shapes()))
    masks = (a,) if name == "logical_not" else (a, b)
    return Example(lambda: getattr(wg, name)(*masks), lambda xp: getattr(np, name)(*masks), ())


@st.composite
def mask_reduction(draw: st.DrawFn, name: str) -> Example:
    x = draw(npst.arrays(np.bool, draw(d.shapes())))
    axis, keepdims = draw(st.none() | d.axes(x.ndim)), draw(st.booleans())
    call, plain = getattr(wg, name), getattr(np, name)
    return Example(
        lambda: call(x, axis=axis, keepdims=keepdims), lambda xp: plain(x, axis=axis, keepdims=keepdims), ()
    )


@st.composite
def where(draw: st.DrawFn) -> Example:
    a, b = draw(d.broadcast_shapes())
    mask = draw(npst.arrays(np.bool, draw(st.sampled_from((a, b, np.broadcast_shapes(a, b))))))
    ones = np.ones(
        np.broadcast_shapes(a, b)
    )  # autograd 1.9.1 does not sum the deltas of a `where` that stretches
    return Example(
        lambda x, y: wg.where(mask, x, y),
        lambda xp, x, y: xp.where(mask, x * ones, y * ones),
        (draw(d.arrays(a, ANY)), draw(d.arrays(b, ANY))),
    )


@st.composite
def matmul(draw: st.DrawFn) -> Example:
    n, k, m = (draw(st.integers(0, 3)) for _ in range(3))
    batch_a, batch_b = draw(d.broadcast_shapes())
    left = draw(st.sampled_from(((k,), (n, k), (*batch_a[:2], n, k))))
    right = draw(st.sampled_from(((k,), (k, m), (*batch_b[:2], k, m))))
    try:
        np.broadcast_shapes(left[:-2], right[:-2])
    except ValueError:  # the cut to two batch axes parted what belonged together
        right = (k, m)
    operands = draw(d.arrays(left, ANY)), draw(d.arrays(right, ANY))
    return Example(wg.matmul, lambda xp, a, b: xp.matmul(a, b), operands)


@st.composite
def reduction(draw: st.DrawFn, name: str) -> Example:
    extremum = name in ("max", "min")
    shape = draw(d.shapes(min_side=1 if extremum and draw(st.booleans()) else 0))
    options: dict[str, Any] = {}  # Any: an axis or a truth value
    if draw(st.booleans()):
        several = draw(d.axes(len(shape)))
        single = st.sampled_from(several) if several else st.none()
        options = {"axis": draw(single | st.just(several)), "keepdims": draw(st.booleans())}
    if extremum:
        reduced = (
            range(len(shape)) if options.get("axis") is None else np.atleast_1d(options["axis"]).astype(int)
        )
        shape = tuple(n or int(i in reduced or i - len(shape) in reduced) for i, n in enumerate(shape))
        x = draw(d.distinct(shape))
    else:
        x = draw(d.arrays(shape, GAP if name == "prod" else ANY))  # autograd divides by the elements
    call = getattr(wg, name)
    return Example(lambda x: call(x, **options), lambda xp, x: reduced_plainly(xp, name, x, options), (x,))


def reduced_plainly(xp: Any, name: str, x: Any, options: dict[str, Any]) -> Any:
    """Any: values of numpy or of autograd. The mean is a quotient: numpy's warns of nothing to average."""
    if name == "logsumexp":
        return xp.log(xp.sum(xp.exp(x), **options))
    if name != "mean":
        return getattr(xp, name)(x, **options)
    axis = options.get("axis")
    total = xp.sum(x, **options)
    return total / np.float64(
        np.size(x) if axis is None else math.prod(np.shape(x)[a] for a in np.atleast_1d(axis).astype(int))
    )


@st.composite
def along_axis(draw: st.DrawFn, name: str) -> Example:
    shape = draw(d.shapes(min_dims=1))
    at = draw(d.axis(len(shape)))
    call = getattr(wg, name)

    def plain(xp: Any, x: Any) -> Any:  # Any: values of numpy or of autograd
        total = xp.sum(xp.exp(x), axis=at, keepdims=True)
        return xp.exp(x) / total if name == "softmax" else x - xp.log(total)

    return Example(lambda x: call(x, axis=at), plain, (draw(d.arrays(shape, ANY)),))


@st.composite
def reshape(draw: st.DrawFn) -> Example:
    shape = draw(d.shapes())
    x = draw(d.arrays(shape, ANY))
    new = draw(
        st.sampled_from((shape[::-1], (x.size,), (1, *shape), (-1,), (*shape, -1) if x.size else shape))
    )
    return Example(lambda x: wg.reshape(x, new), lambda xp, x: xp.reshape(x, new), (x,))


@st.composite
def permute_dims(draw: st.DrawFn) -> Example:
    shape = draw(d.shapes())
    positive = tuple(draw(st.permutations(range(len(shape)))))  # autograd 1.9.1 inverts no other order
    order = tuple(a - len(shape) if draw(st.booleans()) else a for a in positive)
    x = draw(d.arrays(shape, ANY))
    return Example(lambda x: wg.permute_dims(x, order), lambda xp, x: xp.transpose(x, positive), (x,))


@st.composite
def expand_dims(draw: st.DrawFn) -> Example:
    shape = draw(d.shapes())
    at: Any = draw(d.axis(len(shape) + 1) | st.just((0, -1)))  # Any: an int or a tuple
    x = draw(d.arrays(shape, ANY))
    rank = len(shape) + len(np.atleast_1d(at))
    rest = iter(shape)
    ones = {a % rank for a in np.atleast_1d(at)}
    new = tuple(1 if i in ones else next(rest) for i in range(rank))
    return Example(lambda x: wg.expand_dims(x, axis=at), lambda xp, x: xp.reshape(x, new), (x,))


@st.composite
def squeeze(draw: st.DrawFn) -> Example:
    shape = draw(d.shapes(min_dims=1))
    at = draw(d.axes(len(shape)).filter(len))
    shape = tuple(1 if i in at or i - len(shape) in at else n for i, n in enumerate(shape))
    which: Any = at[0] if len(at) == 1 else at  # Any: an int or a tuple
    x = draw(d.arrays(shape, ANY))
    return Example(lambda x: wg.squeeze(x, axis=which), lambda xp, x: xp.squeeze(x, axis=which), (x,))


@st.composite
def broadcast_to(draw: st.DrawFn) -> Example:
    a, b = draw(d.broadcast_shapes())
    x, shape = draw(d.arrays(a, ANY)), np.broadcast_shapes(a, b)
    ones = np.ones(shape)  # autograd 1.9.1 has a wrong shape of delta for a `broadcast_to` of size 0
    return Example(lambda x: wg.broadcast_to(x, shape), lambda xp, x: x * ones, (x,))


@st.composite
def concat(draw: st.DrawFn) -> Example:
    shape = draw(d.shapes(min_dims=1))
    at = draw(d.axis(len(shape)))
    sizes = draw(st.lists(st.integers(0, 3), min_size=1, max_size=3))
    place = at % len(shape)
    xs = tuple(draw(d.arrays((*shape[:place], n, *shape[place + 1 :]), ANY)) for n in sizes)
    return Example(lambda *xs: wg.concat(xs, axis=at), lambda xp, *xs: xp.concatenate(xs, axis=at), xs)


@st.composite
def stack(draw: st.DrawFn) -> Example:
    shape = draw(d.shapes(max_dims=2))
    at = draw(d.axis(len(shape) + 1))
    xs = tuple(draw(d.arrays(shape, ANY)) for _ in range(draw(st.integers(1, 3))))
    return Example(lambda *xs: wg.stack(xs, axis=at), lambda xp, *xs: xp.stack(xs, axis=at), xs)


@st.composite
def getitem(draw: st.DrawFn) -> Example:
    shape = draw(d.shapes())
    rest = [draw(st.sampled_from((slice(None), slice(None, None, -1)))) for _ in shape[1:]]
    keys: list[Any] = [
        draw(npst.basic_indices(shape, allow_newaxis=True, allow_ellipsis=True))
    ]  # Any: parts differ
    if shape:
        keys += [(draw(d.indices(shape[0])), *rest), (..., draw(d.indices(shape[-1])))]
    key = keys[draw(st.integers(0, len(keys) - 1))]
    x = draw(d.arrays(shape, ANY))
    return Example(lambda x: wg.getitem(x, key), lambda xp, x: x[key], (x,))


@st.composite
def take(draw: st.DrawFn) -> Example:
    shape = draw(d.shapes(min_dims=1))
    at = draw(d.axis(len(shape)))
    rows = draw(d.indices(shape[at]))
    before = (slice(None),) * (at % len(shape))
    x = draw(d.arrays(shape, ANY))
    return Example(lambda x: wg.take(x, rows, axis=at), lambda xp, x: x[(*before, rows)], (x,))


@st.composite
def segment_sum(draw: st.DrawFn) -> Example:
    shape, segments = draw(d.shapes(min_dims=1)), draw(st.integers(1, 4))
    ids = draw(npst.arrays(np.int64, shape[:1], elements=st.integers(-segments, segments - 1)))
    ones = np.eye(segments)[:, ids]
    x = draw(d.arrays(shape, ANY))
    return Example(
        lambda x: wg.segment_sum(x, ids, num_segments=segments), lambda xp, x: xp.tensordot(ones, x, 1), (x,)
    )


@st.composite
def argmax(draw: st.DrawFn) -> Example:
    shape = draw(d.shapes(min_dims=1, min_side=1))
    at = draw(st.none() | d.axis(len(shape)))
    x, kept = draw(d.arrays(shape, EVEN)), draw(st.booleans())
    return Example(
        lambda x: wg.argmax(x, axis=at, keepdims=kept), lambda xp, x: np.argmax(x, at, keepdims=kept), (x,)
    )


@st.composite
def top_k(draw: st.DrawFn) -> Example:
    """The elements; sorted, for equal ones are equal wherever they stood."""
    shape = draw(d.shapes(min_dims=1))
    at = draw(d.axis(len(shape)))
    k = draw(st.integers(0, shape[at]))
    size = int(np.prod(shape))
    x = np.array(draw(st.permutations(range(size))), np.float64).reshape(shape) / 4.0
    order = np.flip(np.argsort(x, at), at)
    key = np.take(order, range(k), at)
    return Example(lambda x: wg.top_k(x, k, axis=at)[0], lambda xp, x: _along(xp, x, key, at), (x,))


def _along(xp: Any, x: Any, key: Any, at: int) -> Any:
    """Any: of numpy or of autograd, which has no `take_along_axis`."""
    mesh = list(np.ix_(*map(np.arange, x.shape)))
    mesh[at] = key
    return x[tuple(mesh)]


def compared(name: str) -> Subject:
    return binary(name, lambda xp, a, b: getattr(np, name)(a, b), EVEN, EVEN, None)


SUBJECTS: dict[str, Subject] = {
    "abs": unary("abs", lambda xp, x: xp.abs(x), GAP, "differences"),
    "acos": unary("acos", lambda xp, x: xp.arccos(x), INSIDE),
    "acosh": unary("acosh", lambda xp, x: xp.arccosh(x), d.numbers(1.25, 4)),
    "adaptive_avg_pool2d": Subject(resampled.adaptive("adaptive_avg_pool2d")),
    "adaptive_max_pool2d": Subject(resampled.adaptive("adaptive_max_pool2d"), "differences"),
    "add": binary("add", lambda xp, a, b: a + b, ANY, ANY),
    "all": Subject(mask_reduction("all"), None),
    "any": Subject(mask_reduction("any"), None),
    "arange": Subject(ordered.made("arange"), None),
    "argmax": Subject(argmax(), None),
    "argmin": Subject(ordered.argmin(), None),
    "argsort": Subject(ordered.sort(places=True), None),
    "asin": unary("asin", lambda xp, x: xp.arcsin(x), INSIDE),
    "asinh": unary("asinh", lambda xp, x: xp.arcsinh(x), ANY, "differences"),
    "astype": Subject(assorted.astype(), "differences"),
    "to_device": Subject(assorted.to_device(), "differences"),
    "atan": unary("atan", lambda xp, x: xp.arctan(x), ANY),
    "atan2": binary("atan2", lambda xp, a, b: xp.arctan2(a, b), POSITIVE, GAP, "differences"),
    "atanh": unary("atanh", lambda xp, x: xp.arctanh(x), INSIDE),
    "avg_pool1d": Subject(resampled.pool("avg_pool1d")),
    "avg_pool2d": Subject(images.pool("avg_pool2d")),
    "binary_cross_entropy": Subject(compared_losses.pair("binary_cross_entropy")),
    "binary_cross_entropy_with_logits": Subject(
        compared_losses.pair("binary_cross_entropy_with_logits"), "differences"
    ),
    "broadcast_arrays": Subject(ordered.grown("broadcast_arrays")),
    "broadcast_to": Subject(broadcast_to()),
    "ceil": unary("ceil", lambda xp, x: np.ceil(x), GAP, None),
    "celu": Subject(compared_losses.activation("celu"), "differences"),
    "cholesky": Subject(matrices.cholesky(), "differences"),
    "clip": Subject(assorted.clip(), floats=(assorted.INSIDE, assorted.LOW, assorted.HIGH)),
    "concat": Subject(concat()),
    "conv1d": Subject(resampled.correlation("conv1d", 1)),
    "conv2d": Subject(images.conv2d() | resampled.correlation("conv2d", 2)),
    "conv3d": Subject(resampled.correlation("conv3d", 3)),
    "conv_transpose1d": Subject(resampled.transposed("conv_transpose1d", 1)),
    "conv_transpose2d": Subject(resampled.transposed("conv_transpose2d", 2)),
    "conv_transpose3d": Subject(resampled.transposed("conv_transpose3d", 3)),
    "copysign": binary("copysign", lambda xp, a, b: xp.abs(a) * xp.sign(b), GAP, GAP, "differences"),
    "cos": unary("cos", lambda xp, x: xp.cos(x), ANY),
    "cosh": unary("cosh", lambda xp, x: xp.cosh(x), ANY),
    "cosine_embedding_loss": Subject(compared_losses.cosine_embedding(), "differences"),
    "cosine_similarity": Subject(compared_losses.cosine(), "differences"),
    "count_nonzero": Subject(ordered.count_nonzero(), None),
    "nonzero": Subject(ordered.nonzero(), None),
    "cross": Subject(matrices.products("cross")),
    "cross_entropy": Subject(compared_losses.labelled("cross_entropy")),
    "ctc_loss": Subject(compared_losses.ctc(), "differences"),
    "cumulative_prod": Subject(ordered.running("cumulative_prod")),
    "cumulative_sum": Subject(ordered.running("cumulative_sum")),
    "det": Subject(matrices.one("det")),
    "diagonal": Subject(ordered.matrices("diagonal")),
    "diff": Subject(ordered.diff()),
    "divide": binary("divide", lambda xp, a, b: a / b, ANY, d.numbers(-4, 4, gap=0.25)),
    "dropout": Subject(assorted.dropout()),
    "eigh": Subject(matrices.symmetric("eigh"), "differences"),
    "eigvalsh": Subject(matrices.symmetric("eigvalsh"), "differences"),
    "einsum": Subject(summed.einsum()),
    "elu": Subject(compared_losses.activation("elu"), "differences"),
    "equal": compared("equal"),
    "erf": unary("erf", lambda xp, x: erf(x), ANY, "differences"),
    "exp": unary("exp", lambda xp, x: xp.exp(x), ANY),
    "exp2": unary("exp2", lambda xp, x: xp.exp2(x), ANY, "differences"),
    "expand_dims": Subject(expand_dims()),
    "expm1": unary("expm1", lambda xp, x: xp.expm1(x), ANY),
    "eye": Subject(ordered.made("eye"), None),
    "flip": Subject(rearranged.flip()),
    "floor": unary("floor", lambda xp, x: np.floor(x), GAP, None),
    "floor_divide": binary("floor_divide", lambda xp, a, b: np.floor_divide(a, b), ANY, POSITIVE, None),
    "full": Subject(ordered.made("full"), None),
    "full_like": Subject(ordered.full_like(), None),
    "gelu": replace(
        unary("gelu", lambda xp, x: 0.5 * x * (1.0 + erf(x / math.sqrt(2.0))), ANY, "differences"),
        floats=(POSITIVE,),  # below 0 the sum cancels: columns agree absolutely, as test_special says
    ),
    "getitem": Subject(getitem()),
    "glu": Subject(compared_losses.glu()),
    "greater": compared("greater"),
    "greater_equal": compared("greater_equal"),
    "hardswish": unary(
        "hardswish", lambda xp, x: x * xp.clip(x + 3.0, 0.0, 6.0) / 6.0, SIXTEENTHS, "differences"
    ),
    "hinge_embedding_loss": Subject(compared_losses.pair("hinge_embedding_loss"), "differences"),
    "hinge_loss": Subject(compared_losses.pair("hinge_loss"), "differences"),
    "huber_loss": Subject(compared_losses.pair("huber_loss"), "differences"),
    "hypot": binary("hypot", lambda xp, a, b: xp.sqrt(a * a + b * b), GAP, POSITIVE, "differences"),
    "index_add": Subject(scattered.index_add()),
    "interpolate": Subject(resampled.interpolate()),
    "inv": Subject(matrices.one("inv")),
    "isfinite": unary("isfinite", lambda xp, x: np.isfinite(x), ODDITIES, None),
    "isinf": unary("isinf", lambda xp, x: np.isinf(x), ODDITIES, None),
    "isnan": unary("isnan", lambda xp, x: np.isnan(x), ODDITIES, None),
    "kl_div": Subject(compared_losses.pair("kl_div")),
    "kron": Subject(matrices.products("kron")),
    "l1_loss": Subject(compared_losses.pair("l1_loss"), "differences"),
    "leaky_relu": Subject(compared_losses.activation("leaky_relu"), "differences"),
    "less": compared("less"),
    "less_equal": compared("less_equal"),
    "linspace": Subject(ordered.made("linspace"), None),
    "log": unary("log", lambda xp, x: xp.log(x), POSITIVE),
    "log10": unary("log10", lambda xp, x: xp.log10(x), POSITIVE),
    "log1p": unary("log1p", lambda xp, x: xp.log1p(x), d.numbers(-0.75, 4)),
    "log2": unary("log2", lambda xp, x: xp.log2(x), POSITIVE, "differences"),
    "log_sigmoid": unary("log_sigmoid", lambda xp, x: -xp.logaddexp(-x, 0.0), ANY, "differences"),
    "log_softmax": Subject(along_axis("log_softmax")),
    "logaddexp": binary("logaddexp", lambda xp, a, b: xp.logaddexp(a, b), ANY, ANY, "differences"),
    "logical_and": Subject(logic("logical_and"), None),
    "logical_not": Subject(logic("logical_not"), None),
    "logical_or": Subject(logic("logical_or"), None),
    "logical_xor": Subject(logic("logical_xor"), None),
    "logsumexp": Subject(reduction("logsumexp"), floats=(ANY,)),
    "matmul": Subject(matmul()),
    "matrix_norm": Subject(matrices.norm("matrix_norm"), "differences"),
    "matrix_power": Subject(matrices.power()),
    "matrix_rank": Subject(matrices.rank(), None),
    "matrix_transpose": Subject(ordered.matrices("matrix_transpose")),
    "max": Subject(reduction("max"), floats=(ANY,)),
    "max_pool1d": Subject(resampled.pool("max_pool1d"), "differences"),
    "max_pool2d": Subject(images.pool("max_pool2d")),
    "maximum": binary("maximum", lambda xp, a, b: xp.maximum(a, b), EVEN, ODD),
    "mean": Subject(reduction("mean"), floats=(ANY,)),
    "meshgrid": Subject(ordered.grown("meshgrid")),
    "min": Subject(reduction("min"), floats=(ANY,)),
    "minimum": binary("minimum", lambda xp, a, b: xp.minimum(a, b), EVEN, ODD),
    "mish": unary("mish", lambda xp, x: x * xp.tanh(xp.logaddexp(x, 0.0)), ANY, "differences"),
    "moveaxis": Subject(ordered.moveaxis()),
    "mse_loss": Subject(compared_losses.pair("mse_loss")),
    "multiply": binary("multiply", lambda xp, a, b: a * b, ANY, ANY),
    "negative": unary("negative", lambda xp, x: -x, ANY),
    "nll_loss": Subject(compared_losses.labelled("nll_loss")),
    "not_equal": compared("not_equal"),
    "one_hot": Subject(ordered.one_hot(), None),
    "ones": Subject(ordered.made("ones"), None),
    "ones_like": unary("ones_like", lambda xp, x: np.ones_like(x), ANY, None),
    "outer": Subject(matrices.products("outer")),
    "pad": Subject(images.pad()),
    "permute_dims": Subject(permute_dims()),
    "pinv": Subject(matrices.pinv(), "differences"),
    "pixel_shuffle": Subject(resampled.shuffle("pixel_shuffle")),
    "pixel_unshuffle": Subject(resampled.shuffle("pixel_unshuffle")),
    "positive": unary("positive", lambda xp, x: x * 1.0, ANY),
    "pow": binary("pow", lambda xp, a, b: a**b, d.numbers(0.25, 3), d.numbers(-2, 3)),
    "prelu": Subject(compared_losses.prelu(), "differences"),
    "prod": Subject(reduction("prod"), floats=(ANY,)),
    "qr": Subject(matrices.qr(), "differences"),
    "reciprocal": unary("reciprocal", lambda xp, x: 1.0 / x, POSITIVE),
    "relu": unary("relu", lambda xp, x: xp.maximum(x, 0.0), GAP),
    "remainder": binary("remainder", lambda xp, a, b: xp.remainder(a, b), SHARES, HALVES, "differences"),
    "repeat": Subject(ordered.grown("repeat")),
    "reshape": Subject(reshape()),
    "roll": Subject(rearranged.roll()),
    "round": unary("round", lambda xp, x: np.round(x), GAP, None),
    "scatter_add": Subject(scattered.scatter_add()),
    "searchsorted": Subject(ordered.searchsorted(), None),
    "segment_max": Subject(scattered.segments("segment_max")),
    "segment_mean": Subject(scattered.segments("segment_mean")),
    "segment_min": Subject(scattered.segments("segment_min")),
    "segment_softmax": Subject(scattered.segments("segment_softmax"), "differences"),
    "segment_sum": Subject(segment_sum()),
    "selu": unary("selu", compared_losses.selu, GAP, "differences"),
    "sigmoid": unary("sigmoid", lambda xp, x: 1.0 / (1.0 + xp.exp(-x)), ANY),
    "sign": unary("sign", lambda xp, x: xp.sign(x), GAP, None),
    "signbit": unary("signbit", lambda xp, x: np.signbit(x), ODDITIES, None),
    "silu": unary("silu", lambda xp, x: x / (1.0 + xp.exp(-x)), ANY),
    "sin": unary("sin", lambda xp, x: xp.sin(x), ANY),
    "sinh": unary("sinh", lambda xp, x: xp.sinh(x), ANY),
    "slogdet": Subject(matrices.logarithm(), "differences"),
    "smooth_l1_loss": Subject(compared_losses.pair("smooth_l1_loss"), "differences"),
    "softmax": Subject(along_axis("softmax")),
    "softmax_cross_entropy": Subject(compared_losses.soft()),
    "softplus": unary("softplus", lambda xp, x: xp.logaddexp(x, 0.0), ANY, "differences"),
    "softsign": unary("softsign", lambda xp, x: x / (1.0 + xp.abs(x)), GAP, "differences"),
    "solve": Subject(matrices.solve()),
    "sort": Subject(ordered.sort(places=False)),
    "sparse_matmul": Subject(scattered.sparse_matmul()),
    "split": Subject(rearranged.split()),
    "sqrt": unary("sqrt", lambda xp, x: xp.sqrt(x), POSITIVE),
    "square": unary("square", lambda xp, x: x * x, ANY),
    "squeeze": Subject(squeeze()),
    "stack": Subject(stack()),
    "std": Subject(assorted.moment("std"), floats=(ANY,)),
    "stop_gradient": unary("stop_gradient", lambda xp, x: x * 1.0, ANY, None),
    "subtract": binary("subtract", lambda xp, a, b: a - b, ANY, ANY),
    "sum": Subject(reduction("sum"), floats=(ANY,)),
    "svd": Subject(matrices.svd("svd"), "differences"),
    "svdvals": Subject(matrices.svd("svdvals"), "differences"),
    "take": Subject(take()),
    "take_along_axis": Subject(rearranged.take_along_axis()),
    "tan": unary("tan", lambda xp, x: xp.tan(x), d.numbers(-1.25, 1.25)),
    "tanh": unary("tanh", lambda xp, x: xp.tanh(x), ANY),
    "tensordot": Subject(summed.tensordot()),
    "tile": Subject(ordered.grown("tile")),
    "top_k": Subject(top_k()),
    "trace": Subject(ordered.matrices("trace")),
    "tril": Subject(ordered.matrices("tril")),
    "triplet_margin_loss": Subject(compared_losses.triplet(), "differences"),
    "triu": Subject(ordered.matrices("triu")),
    "trunc": unary("trunc", lambda xp, x: np.trunc(x), GAP, None),
    "unstack": Subject(ordered.unstack()),
    "var": Subject(assorted.moment("var"), floats=(ANY,)),
    "vecdot": Subject(matrices.products("vecdot")),
    "vector_norm": Subject(matrices.norm("vector_norm"), "differences"),
    "where": Subject(where()),
    "zeros": Subject(ordered.made("zeros"), None),
    "zeros_like": unary("zeros_like", lambda xp, x: np.zeros_like(x), ANY, None),
    **{
        name: Subject(transformed.one_axis(name), "differences")
        for name in ("fft", "hfft", "ifft", "ihfft", "irfft", "rfft")
    },
    **{name: Subject(transformed.axes(name), "differences") for name in ("fftn", "ifftn", "irfftn", "rfftn")},
    **{name: Subject(transformed.shift(name)) for name in ("fftshift", "ifftshift")},
    **{name: Subject(transformed.frequencies(name), None) for name in ("fftfreq", "rfftfreq")},
}
DIFFERENTIABLE = [name for name, subject in SUBJECTS.items() if subject.method]
CONSTANT = [name for name, subject in SUBJECTS.items() if not subject.method]
