"""What is asked of an expression: losses, derivatives, predictions, updates."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from wengert import ArrayLayer, differentiable
from wengert.plugins import SGD, FailOnNonFinite

from .golden import Unchecked, d, f, logits, ones, said, w, wg


class Guarded(FailOnNonFinite, SGD): ...


guarded: Unchecked = Guarded(learning_rate=0.1).array_weight(ones(2, 2), name="guarded")
zero: Unchecked = Guarded(learning_rate=0.1).double_weight(0.0, name="zero")


@differentiable
async def open_shape() -> ArrayLayer:
    made: ArrayLayer = w * 2.0
    return made


later: Unchecked = open_shape()


CASES: dict[str, tuple[Callable[[], object], str]] = {
    "array loss": (
        lambda: wg.train(w * 2.0),
        "ShapeError: train: a loss is a scalar, this one has shape (2, 3); reduce it first, "
        "as in train(mean(loss))\n"
        "  <ArrayLayer multiply (2, 3) float32, built at here>\n"
        "  at here",
    ),
    "array loss, as a method": (
        lambda: (w * 2.0).train(),
        "ShapeError: train: a loss is a scalar, this one has shape (2, 3); reduce it first, "
        "as in train(mean(loss))\n"
        "  <ArrayLayer multiply (2, 3) float32, built at here>\n"
        "  at here",
    ),
    "array weight as a loss": (
        lambda: w.train(),
        "ShapeError: train: a loss is a scalar, this one has shape (2, 3); reduce it first, "
        "as in train(mean(loss))\n"
        "  <ArrayWeight 'w' (2, 3) float32>\n"
        "  at here",
    ),
    "array literal as a loss": (
        lambda: wg.train(ones(2)),
        "ShapeError: train: a loss is a scalar, this one has shape (2,); reduce it first, as "
        "in train(mean(loss))\n"
        "  <ArrayLayer literal (2,) float32, built at here>\n"
        "  at here",
    ),
    "array loss that only the run knows": (
        lambda: later.train().run(),
        "ShapeError: a loss is a scalar, <ArrayLayer forward ? ?, built at "
        "test_losses.py:N> has shape (2, 3); reduce it with mean or sum",
    ),
    "tuple of losses": (
        lambda: wg.train((d, f)),
        "ShapeError: train: a loss is one scalar expression, not a tuple; add its parts, as "
        "in a + b\n"
        "  at here",
    ),
    "mask as a loss": (
        lambda: wg.train(wg.greater(d, 0.0)),
        "NotDifferentiableError: train: a mask has no derivative and is no loss\n"
        "  <Mask greater () bool, built at here>\n"
        "  at here",
    ),
    "gradients of an array": (
        lambda: wg.gradients(w, (w,)),
        "ShapeError: gradients: a loss is a scalar, this one has shape (2, 3); reduce it "
        "first, as in gradients(mean(loss))\n"
        "  <ArrayWeight 'w' (2, 3) float32>\n"
        "  at here",
    ),
    "gradients of a tuple": (
        lambda: wg.gradients((d, d), (d,)),
        "ShapeError: gradients: a loss is one scalar expression, not a tuple; add its parts, "
        "as in a + b\n"
        "  at here",
    ),
    "gradients with respect to nothing": (
        lambda: wg.gradients(d * d, None),
        "ArgumentError: gradients: there is no weight and no other expression in None; `wrt` is one, or a "
        "tuple, a list, a dictionary, a model or another object that holds some\n"
        "  at here",
    ),
    "gradients with respect to a structure without weights": (
        lambda: wg.gradients(d * d, (d, {"rate": 0.5, "of": ["d"]})),
        "ArgumentError: gradients: there is no weight and no other expression in {'rate': 0.5, 'of': ['d']}; "
        "`wrt` is one, or a tuple, a list, a dictionary, a model or another object that holds some\n"
        "  at here",
    ),
    "gradients with respect to a number": (
        lambda: wg.gradients(d * 2.0, (2.0,)),
        "NotDifferentiableError: gradients: `wrt` has 2.0, which is no expression and so no "
        "part of the loss; write x = wengert.lift(...), and use that in both places\n"
        "  at here",
    ),
    "gradients with respect to an array": (
        lambda: wg.gradients(wg.sum(w), ones(2, 3)),
        "NotDifferentiableError: gradients: `wrt` has array([[1., 1., 1.], [1., 1., 1.]], "
        "dtype=float32), which is no expression and so no part of the loss; write x = wengert.lift(...), and "
        "use that in both places\n"
        "  at here",
    ),
    "gradients with respect to a mask": (
        lambda: wg.gradients(d * d, (wg.greater(d, 0.0),)),
        "NotDifferentiableError: gradients: <Mask greater () bool, built at here> in `wrt` has no "
        "derivative: it is a mask\n"
        "  at here",
    ),
    "loss that is NaN": (
        lambda: (wg.sum(guarded) / 0.0 * 0.0).train().run(),
        "NonFiniteError: the loss is nan, so <ArrayWeight 'guarded' (2, 2) float32> and all "
        "other weights stay as they are\n"
        "+ in the update of <ArrayWeight 'guarded' (2, 2) float32>, made at test_losses.py:N\n"
        "+ first not finite: divide(() float32, () float64), built at here",
    ),
    "delta that is infinite": (
        lambda: wg.sqrt(zero).train().run(),
        "NonFiniteError: the delta of <DoubleWeight 'zero' () float64> is not finite, so it "
        "and all other weights stay as they are\n"
        "+ in the update of <DoubleWeight 'zero' () float64>, made at test_losses.py:N\n"
        "+ first not finite: backward of sqrt(() float64) with weight 'zero', built at here",
    ),
    "label out of range": (
        lambda: wg.cross_entropy(logits, np.array([0, 1, 2, 3])),
        "ShapeError: cross_entropy: label 3 is none of the 3 classes of logits of shape (4, 3)\n"
        "  operand 0: weight 'logits' (4, 3) float32\n  operand 1: literal (4,) int64\n  at here",
    ),
    "label below zero": (
        lambda: wg.cross_entropy(logits, [0, 1, 2, -1]),
        "ShapeError: cross_entropy: label -1 is none of the 3 classes of logits of shape (4, 3)\n"
        "  operand 0: weight 'logits' (4, 3) float32\n  at here",
    ),
    "index out of range in take": (
        lambda: wg.sum(wg.take(w, np.array([0, 7]))).train().run(),
        "IndexError: index 7 is out of bounds for axis 0 with size 2\n"
        "+ in take((2, 3) float32, (2,) int64) with weight 'w', built at here",
    ),
    "index out of range in getitem": (
        lambda: wg.sum(w[np.array([0, 7])]).train().run(),
        "IndexError: index 7 is out of bounds for axis 0 with size 2\n"
        "+ in getitem((2, 3) float32, (2,) int64) with weight 'w', built at here",
    ),
    "shape that only the run finds wrong": (
        lambda: wg.sum(later @ ones(4, 5)).train().run(),
        "ShapeError: matmul: cannot multiply (2, 3) by (4, 5): inner dimensions 3 and 4 "
        "differ\n"
        "  operand 0: layer forward (2, 3) float32, built at test_losses.py:N\n"
        "  operand 1: literal (4, 5) float32\n"
        "  built at here\n"
        "+ in matmul((2, 3) float32, (4, 5) float32), built at here",
    ),
    "dtype that only the run finds wrong": (
        lambda: wg.sum(later * ones(2, 3, dtype=np.float64)).train().run(),
        "DTypeError: multiply: dtypes float32 and float64 do not mix; make them one, as in "
        "x.astype(numpy.float32)\n"
        "  operand 0: layer forward (2, 3) float32, built at test_losses.py:N\n"
        "  operand 1: literal (2, 3) float64\n"
        "  built at here\n"
        "+ in multiply((2, 3) float32, (2, 3) float64), built at here",
    ),
    "reduction that does not exist": (
        lambda: wg.cross_entropy(logits, np.zeros(4, int), reduction="max"),
        "ArgumentError: cross_entropy: reduction is 'mean', 'sum' or 'none', got 'max'\n"
        "  operand 0: weight 'logits' (4, 3) float32\n  operand 1: literal (4,) int64\n  at here",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_text(name: str) -> None:
    action, text = CASES[name]
    assert said(action) == text
