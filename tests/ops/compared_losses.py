"""Examples of losses, and of activations that have a number or a weight besides."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import wengert as wg

from . import draw as d
from .example import Example

NUMBERS = d.numbers(-3, 3)
GAP = d.numbers(-3, 3, gap=0.125)
SHARES = d.numbers(0.125, 0.875)  # probabilities
SIGNS = st.sampled_from((-1.0, 1.0))
SLOPES = st.sampled_from((0.25, 0.5, 2.0))
HOW: tuple[Literal["mean", "sum", "none"], ...] = ("mean", "sum", "none")


def finished(xp: Any, each: Any, how: str) -> Any:  # Any: values of numpy or of autograd
    """The losses of all elements, their sum, or their mean."""
    return each if how == "none" else xp.sum(each) / (np.float64(np.size(each)) if how == "mean" else 1.0)


def _formulas(number: float) -> dict[str, Any]:  # Any: of values of numpy or of autograd
    def huber(xp: Any, x: Any, t: Any) -> Any:  # Any: as above
        far = xp.abs(x - t)
        return xp.where(far < number, 0.5 * (x - t) ** 2, number * (far - 0.5 * number))

    return {
        "binary_cross_entropy": lambda xp, p, t: -t * xp.log(p) - (1.0 - t) * xp.log(1.0 - p),
        "binary_cross_entropy_with_logits": lambda xp, x, t: xp.log(1.0 + xp.exp(x)) - x * t,
        "hinge_embedding_loss": lambda xp, x, t: xp.where(t > 0, x, xp.maximum(number - x, 0.0)),
        "hinge_loss": lambda xp, x, t: xp.maximum(number - x * t, 0.0),
        "huber_loss": huber,
        "kl_div": lambda xp, x, t: t * (xp.log(t) - x),
        "l1_loss": lambda xp, x, t: xp.abs(x - t),
        "mse_loss": lambda xp, x, t: (x - t) ** 2,
        "smooth_l1_loss": lambda xp, x, t: huber(xp, x, t) / number,
    }


NUMBER = {
    "hinge_embedding_loss": "margin",
    "hinge_loss": "margin",
    "huber_loss": "delta",
    "smooth_l1_loss": "beta",
}


@st.composite
def pair(draw: st.DrawFn, name: str) -> Example:
    """Predictions and targets away from the kinks: differences are odd multiples of an eighth, bounds even ones."""
    shape, how, number = draw(d.shapes(min_side=1)), draw(st.sampled_from(HOW)), draw(SLOPES)
    eighths = st.integers(-12, 12).map(lambda i: i / 4)
    probable = name == "binary_cross_entropy"
    x = draw(d.arrays(shape, SHARES if probable else eighths.map(lambda n: n + 0.125)))
    call, plain = getattr(wg, name), _formulas(number)[name]
    options: dict[str, Any] = {"reduction": how}  # Any: a text or a number
    if name in NUMBER:
        options[NUMBER[name]] = number
    if name.startswith("hinge"):  # targets are no operands: they are 1 or -1
        signs = draw(d.arrays(shape, SIGNS))
        return Example(
            lambda x: call(x, signs.astype(x.dtype), **options),
            lambda xp, x: finished(xp, plain(xp, x, signs), how),
            (x,),
        )
    target = draw(
        d.arrays(
            shape, SHARES if probable or name in ("kl_div", "binary_cross_entropy_with_logits") else eighths
        )
    )
    return Example(
        lambda x, t: call(x, t, **options), lambda xp, x, t: finished(xp, plain(xp, x, t), how), (x, target)
    )


@st.composite
def labelled(draw: st.DrawFn, name: str) -> Example:
    """Labels of any axis, some of them ignored, classes of unlike weights, smoothed or not."""
    lines, classes = draw(d.shapes(max_dims=2, min_side=1)), draw(st.integers(1, 3))
    labels = draw(npst.arrays(np.int64, lines, elements=st.integers(0, classes - 1)))
    how: Any = draw(st.sampled_from(HOW))  # Any: overloads by literal
    options: dict[str, Any] = {"reduction": how}  # Any: of every option
    kept, weight, smoothing, axis = np.ones(lines), np.ones(classes), 0.0, len(lines)
    if draw(st.booleans()):
        axis = draw(st.integers(0, len(lines)))
        options["axis"] = axis - draw(st.sampled_from((0, len(lines) + 1)))
    if draw(st.booleans()):
        weight = draw(d.arrays((classes,), SLOPES))
        options["weight"] = weight
    given = labels
    if draw(st.booleans()):
        kept = np.array(draw(d.arrays(lines, st.sampled_from((0.0, 1.0)))))
        kept.flat[0] = 1.0
        given = np.where(kept > 0, labels, -100)
        options["ignore_index"] = -100
    if name == "cross_entropy" and draw(st.booleans()):
        smoothing = options["label_smoothing"] = 0.25
    hot = np.eye(classes)[labels] * weight
    counted = (
        np.sum(hot, axis=-1) * kept if "weight" in options or "ignore_index" in options else np.ones(lines)
    )

    def plain(xp: Any, x: Any) -> Any:  # Any: values of numpy or of autograd
        x = xp.moveaxis(x, axis, -1)
        logs = x - xp.log(xp.sum(xp.exp(x), axis=-1, keepdims=True)) if name == "cross_entropy" else x
        each = -xp.sum(logs * ((1.0 - smoothing) * hot + smoothing / classes * weight), axis=-1) * kept
        return each if how == "none" else xp.sum(each) / (np.sum(counted) if how == "mean" else 1.0)

    x = draw(d.arrays((*lines[:axis], classes, *lines[axis:]), NUMBERS))
    call = getattr(wg, name)

    def typed(x: Any) -> Any:  # Any: expressions
        of = {"weight": weight.astype(x.dtype)} if "weight" in options else {}
        return call(x, given, **{**options, **of})

    return Example(typed, plain, (x,))


@st.composite
def soft(draw: st.DrawFn) -> Example:
    lines, classes = draw(d.shapes(max_dims=2, min_side=1)), draw(st.integers(1, 3))
    how = draw(st.sampled_from(HOW))
    weight = draw(d.arrays((classes,), SLOPES)) if draw(st.booleans()) else None

    def plain(xp: Any, x: Any, p: Any) -> Any:  # Any: values of numpy or of autograd
        logs = x - xp.log(xp.sum(xp.exp(x), axis=-1, keepdims=True))
        return finished(xp, -xp.sum(p * logs * (1.0 if weight is None else weight), axis=-1), how)

    x, p = draw(d.arrays((*lines, classes), NUMBERS)), draw(d.arrays((*lines, classes), SHARES))

    def call(x: Any, p: Any) -> Any:  # Any: expressions
        of = None if weight is None else weight.astype(x.dtype)
        return wg.softmax_cross_entropy(x, p, weight=of, reduction=how)

    return Example(call, plain, (x, p))


def _cosine(xp: Any, a: Any, b: Any, axis: int = -1) -> Any:  # Any: values of numpy or of autograd
    lengths = xp.sqrt(xp.sum(a * a, axis=axis) * xp.sum(b * b, axis=axis))
    return xp.sum(a * b, axis=axis) / lengths


@st.composite
def cosine(draw: st.DrawFn) -> Example:
    """Vectors of two numbers at least: of one it is a sign, whose second derivative is rounding on both sides."""
    shape = draw(d.shapes(min_dims=1, min_side=2))
    at = draw(d.axis(len(shape)))
    a, b = draw(d.arrays(shape, GAP)), draw(d.arrays(shape, GAP))
    return Example(
        lambda a, b: wg.cosine_similarity(a, b, axis=at), lambda xp, a, b: _cosine(xp, a, b, at), (a, b)
    )


@st.composite
def cosine_embedding(draw: st.DrawFn) -> Example:
    shape = (draw(st.integers(1, 3)), 2)
    a, b = draw(d.arrays(shape, d.numbers(0.25, 3))), draw(d.arrays(shape, d.numbers(0.25, 3)))
    how = draw(st.sampled_from(HOW))
    signs: Any = draw(d.arrays(shape[:1], SIGNS))  # Any: of the element type of what it is given

    def plain(xp: Any, a: Any, b: Any) -> Any:  # Any: values of numpy or of autograd
        near = _cosine(xp, a, b)  # greater than 0 between positive vectors: there is no kink
        return finished(xp, xp.where(signs > 0, 1.0 - near, near), how)

    return Example(
        lambda a, b: wg.cosine_embedding_loss(a, b, signs.astype(a.dtype), reduction=how), plain, (a, b)
    )


@st.composite
def triplet(draw: st.DrawFn) -> Example:
    """A margin so great that no example is on the kink."""
    shape = (draw(st.integers(1, 2)), 2)
    a = draw(d.arrays(shape, d.numbers(0.25, 2)))
    p, n = (a + sign * draw(d.arrays(shape, d.numbers(0.25, 2))) for sign in (1.0, -1.0))
    how, swap = draw(st.sampled_from(HOW)), draw(st.booleans())

    def plain(xp: Any, a: Any, p: Any, n: Any) -> Any:  # Any: values of numpy or of autograd
        near, far, other = (
            xp.sqrt(xp.sum((x - y + 1e-6) ** 2, axis=-1)) for x, y in ((a, p), (a, n), (p, n))
        )
        return finished(xp, near - (xp.minimum(far, other) if swap else far) + 20.0, how)

    return Example(
        lambda a, p, n: wg.triplet_margin_loss(a, p, n, margin=20.0, swap=swap, reduction=how),
        plain,
        (a, p, n),
    )


@st.composite
def ctc(draw: st.DrawFn) -> Example:
    """All ways through few steps, one by one."""
    steps, batch, classes = draw(st.integers(1, 4)), draw(st.integers(1, 2)), draw(st.integers(2, 3))
    how, blank = draw(st.sampled_from(HOW)), draw(st.integers(0, 1))
    ways = np.indices((classes,) * steps).reshape(steps, -1)
    texts, inputs, targets, chosen = [], [], [], []
    for _ in range(batch):
        length = draw(st.integers(1, steps))
        way = ways[:, draw(st.integers(0, ways.shape[1] - 1))][:length]
        text = _spelled(way, blank)
        same = [
            w for w in np.indices((classes,) * length).reshape(length, -1).T if _spelled(w, blank) == text
        ]
        texts.append([*text, *[blank] * (steps - len(text))])
        inputs.append(length)
        targets.append(len(text))
        chosen.append(same)

    def plain(xp: Any, x: Any) -> Any:  # Any: values of numpy or of autograd
        each = []
        for i, same in enumerate(chosen):
            one = [xp.exp(sum(x[t, i, int(k)] for t, k in enumerate(way))) for way in same]
            each.append(-xp.log(sum(one)) / (max(1, targets[i]) if how == "mean" else 1))
        return finished(xp, xp.stack(each), how)

    x = draw(d.arrays((steps, batch, classes), NUMBERS))
    data = np.array(texts), np.array(inputs), np.array(targets)
    return Example(lambda x: wg.ctc_loss(x, *data, blank=blank, reduction=how), plain, (x,))


def _spelled(way: Any, blank: int) -> list[int]:  # Any: integers of numpy
    joined = [int(k) for i, k in enumerate(way) if i == 0 or k != way[i - 1]]
    return [k for k in joined if k != blank]


@st.composite
def activation(draw: st.DrawFn, name: str) -> Example:
    number = draw(SLOPES)
    call, keyword = getattr(wg, name), "negative_slope" if name == "leaky_relu" else "alpha"

    def plain(xp: Any, x: Any) -> Any:  # Any: values of numpy or of autograd
        if name == "leaky_relu":
            return xp.where(x > 0, x, number * x)
        inner = x / number if name == "celu" else x
        return xp.where(x > 0, x, number * (xp.exp(xp.minimum(inner, 0.0)) - 1.0))

    x = draw(d.arrays(draw(d.shapes()), GAP))
    return Example(lambda x: call(x, **{keyword: number}), plain, (x,))


def selu(xp: Any, x: Any) -> Any:  # Any: values of numpy or of autograd
    s, a = 1.0507009873554805, 1.6732632423543772
    return xp.where(x > 0, s * x, s * a * (xp.exp(xp.minimum(x, 0.0)) - 1.0))


@st.composite
def glu(draw: st.DrawFn) -> Example:
    shape = list(draw(d.shapes(min_dims=1)))
    at = draw(d.axis(len(shape)))
    n = shape[at]
    shape[at] = 2 * n
    before = (slice(None),) * (at % len(shape))

    def plain(xp: Any, x: Any) -> Any:  # Any: values of numpy or of autograd
        return x[(*before, slice(None, n))] / (1.0 + xp.exp(-x[(*before, slice(n, None))]))

    return Example(lambda x: wg.glu(x, axis=at), plain, (draw(d.arrays(tuple(shape), NUMBERS)),))


@st.composite
def prelu(draw: st.DrawFn) -> Example:
    shape = draw(d.shapes(min_dims=2, min_side=1))
    count = draw(st.sampled_from((1, shape[1])))
    slopes = draw(d.arrays((count,), SLOPES))
    ones = (1,) * (len(shape) - 2)

    def plain(xp: Any, x: Any, slope: Any) -> Any:  # Any: values of numpy or of autograd
        return xp.where(x > 0, x, x * xp.reshape(slope, (1, count, *ones)))

    return Example(wg.prelu, plain, (draw(d.arrays(shape, GAP)), slopes))
