"""Shapes that do not fit: one text for every operation that has a shape rule."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from .golden import column, d, f, logits, ones, said, w, wg, x

CASES: dict[str, tuple[Callable[[], object], str]] = {
    "matmul of other inner dimensions": (
        lambda: x @ w,
        "ShapeError: matmul: cannot multiply (4, 5) by (2, 3): inner dimensions 5 and 2 "
        "differ\n"
        "  operand 0: literal (4, 5) float32\n"
        "  operand 1: weight 'w' (2, 3) float32\n"
        "  at here",
    ),
    "matmul with a scalar": (
        lambda: wg.matmul(f, x),
        "ShapeError: matmul: cannot multiply matrices with () float32, which is a scalar; use"
        " multiply\n"
        "  operand 0: weight 'f' () float32\n"
        "  operand 1: literal (4, 5) float32\n"
        "  at here",
    ),
    "matmul with shape ()": (
        lambda: wg.matmul(w, ones()),
        "ShapeError: matmul: cannot multiply (2, 3) by (): an array of shape () is no matrix;"
        " use multiply\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  operand 1: literal () float32\n"
        "  at here",
    ),
    "add": (
        lambda: w + x,
        "ShapeError: add: shapes (2, 3) and (4, 5) do not broadcast: 2 and 4 differ\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  operand 1: literal (4, 5) float32\n"
        "  at here",
    ),
    "subtract": (
        lambda: x - w,
        "ShapeError: subtract: shapes (4, 5) and (2, 3) do not broadcast: 4 and 2 differ\n"
        "  operand 0: literal (4, 5) float32\n"
        "  operand 1: weight 'w' (2, 3) float32\n"
        "  at here",
    ),
    "multiply": (
        lambda: w * x,
        "ShapeError: multiply: shapes (2, 3) and (4, 5) do not broadcast: 2 and 4 differ\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  operand 1: literal (4, 5) float32\n"
        "  at here",
    ),
    "divide": (
        lambda: w / x,
        "ShapeError: divide: shapes (2, 3) and (4, 5) do not broadcast: 2 and 4 differ\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  operand 1: literal (4, 5) float32\n"
        "  at here",
    ),
    "pow": (
        lambda: w**x,
        "ShapeError: pow: shapes (2, 3) and (4, 5) do not broadcast: 2 and 4 differ\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  operand 1: literal (4, 5) float32\n"
        "  at here",
    ),
    "maximum": (
        lambda: wg.maximum(w, x),
        "ShapeError: maximum: shapes (2, 3) and (4, 5) do not broadcast: 2 and 4 differ\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  operand 1: literal (4, 5) float32\n"
        "  at here",
    ),
    "minimum": (
        lambda: wg.minimum(w, x),
        "ShapeError: minimum: shapes (2, 3) and (4, 5) do not broadcast: 2 and 4 differ\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  operand 1: literal (4, 5) float32\n"
        "  at here",
    ),
    "greater": (
        lambda: wg.greater(w, x),
        "ShapeError: greater: shapes (2, 3) and (4, 5) do not broadcast: 2 and 4 differ\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  operand 1: literal (4, 5) float32\n"
        "  at here",
    ),
    "greater_equal": (
        lambda: wg.greater_equal(w, x),
        "ShapeError: greater_equal: shapes (2, 3) and (4, 5) do not broadcast: 2 and 4 differ\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  operand 1: literal (4, 5) float32\n"
        "  at here",
    ),
    "less": (
        lambda: wg.less(w, x),
        "ShapeError: less: shapes (2, 3) and (4, 5) do not broadcast: 2 and 4 differ\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  operand 1: literal (4, 5) float32\n"
        "  at here",
    ),
    "less_equal": (
        lambda: wg.less_equal(w, x),
        "ShapeError: less_equal: shapes (2, 3) and (4, 5) do not broadcast: 2 and 4 differ\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  operand 1: literal (4, 5) float32\n"
        "  at here",
    ),
    "equal": (
        lambda: wg.equal(w, x),
        "ShapeError: equal: shapes (2, 3) and (4, 5) do not broadcast: 2 and 4 differ\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  operand 1: literal (4, 5) float32\n"
        "  at here",
    ),
    "not_equal": (
        lambda: wg.not_equal(w, x),
        "ShapeError: not_equal: shapes (2, 3) and (4, 5) do not broadcast: 2 and 4 differ\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  operand 1: literal (4, 5) float32\n"
        "  at here",
    ),
    "logical_and": (
        lambda: wg.logical_and(wg.greater(w, 0.0), wg.greater(x, 0.0)),
        "ShapeError: logical_and: shapes (2, 3) and (4, 5) do not broadcast: 2 and 4 differ\n"
        "  operand 0: layer greater (2, 3) bool, built at here\n"
        "  operand 1: layer greater (4, 5) bool, built at here\n"
        "  at here",
    ),
    "logical_or": (
        lambda: wg.logical_or(wg.greater(w, 0.0), wg.greater(x, 0.0)),
        "ShapeError: logical_or: shapes (2, 3) and (4, 5) do not broadcast: 2 and 4 differ\n"
        "  operand 0: layer greater (2, 3) bool, built at here\n"
        "  operand 1: layer greater (4, 5) bool, built at here\n"
        "  at here",
    ),
    "where": (
        lambda: wg.where(wg.greater(w, 0.0), x, 0.0),
        "ShapeError: where: shapes (2, 3) and (4, 5) do not broadcast: 2 and 4 differ\n"
        "  operand 0: layer greater (2, 3) bool, built at here\n"
        "  operand 1: literal (4, 5) float32\n"
        "  operand 2: a Python number\n"
        "  at here",
    ),
    "sum": (
        lambda: wg.sum(w, axis=3),
        "ShapeError: sum: axis 3 is out of range for shape (2, 3)\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  at here",
    ),
    "sum of a scalar": (
        lambda: wg.sum(d, axis=0),
        "ShapeError: sum: axis 0 is out of range for a scalar\n  operand 0: weight 'd' () float64\n  at here",
    ),
    "mean": (
        lambda: wg.mean(w, axis=(0, 0)),
        "ShapeError: mean: axes (0, 0) name one axis of shape (2, 3) twice\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  at here",
    ),
    "max": (
        lambda: wg.max(w, axis=-3),
        "ShapeError: max: axis -3 is out of range for shape (2, 3)\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  at here",
    ),
    "max of nothing": (
        lambda: wg.max(ones(0, 3)),
        "ShapeError: max: no element to choose from along axis None of shape (0, 3)\n"
        "  operand 0: literal (0, 3) float32\n"
        "  at here",
    ),
    "min of nothing": (
        lambda: wg.min(ones(2, 0), axis=1),
        "ShapeError: min: no element to choose from along axis 1 of shape (2, 0)\n"
        "  operand 0: literal (2, 0) float32\n"
        "  at here",
    ),
    "softmax": (
        lambda: wg.softmax(w, axis=2),
        "ShapeError: softmax: axis 2 is out of range for shape (2, 3)\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  at here",
    ),
    "softmax of a scalar": (
        lambda: wg.softmax(f),
        "ShapeError: softmax: expected an array, got a scalar\n  operand 0: weight 'f' () float32\n  at here",
    ),
    "log_softmax": (
        lambda: wg.log_softmax(w, axis=2),
        "ShapeError: log_softmax: axis 2 is out of range for shape (2, 3)\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  at here",
    ),
    "cross_entropy": (
        lambda: wg.cross_entropy(logits, np.zeros(3, int)),
        "ShapeError: cross_entropy: logits of shape (4, 3) need labels of shape (4,), one a "
        "line; got (3,)\n"
        "  operand 0: weight 'logits' (4, 3) float32\n"
        "  operand 1: literal (3,) int64\n"
        "  at here",
    ),
    "cross_entropy of shape ()": (
        lambda: wg.cross_entropy(ones(), np.zeros((), int)),
        "ShapeError: cross_entropy: logits of shape () have no axis of classes\n"
        "  operand 0: literal () float32\n"
        "  operand 1: literal () int64\n"
        "  at here",
    ),
    "reshape": (
        lambda: wg.reshape(w, (4, 2)),
        "ShapeError: reshape: cannot reshape (2, 3) (6 elements) into (4, 2) (8 elements)\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  at here",
    ),
    "reshape with two open dimensions": (
        lambda: wg.reshape(w, (-1, -1)),
        "ShapeError: reshape: cannot reshape (2, 3) into (-1, -1): at most one dimension may "
        "be -1\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  at here",
    ),
    "permute_dims": (
        lambda: wg.permute_dims(w, (0, 0)),
        "ShapeError: permute_dims: axes (0, 0) are not a permutation of 2 axes\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  at here",
    ),
    "expand_dims": (
        lambda: wg.expand_dims(w, axis=9),
        "ShapeError: expand_dims: axis 9 is out of range for shape (2, 3)\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  at here",
    ),
    "squeeze": (
        lambda: wg.squeeze(w, axis=0),
        "ShapeError: squeeze: axis 0 of shape (2, 3) has size 2, not 1\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  at here",
    ),
    "broadcast_to": (
        lambda: wg.broadcast_to(w, (3, 3)),
        "ShapeError: broadcast_to: cannot broadcast (2, 3) to (3, 3)\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  at here",
    ),
    "concat": (
        lambda: wg.concat([w, x]),
        "ShapeError: concat: shapes (2, 3) and (4, 5) differ on axis 1, not only on axis 0\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  operand 1: literal (4, 5) float32\n"
        "  at here",
    ),
    "concat of nothing": (
        lambda: wg.concat([]),
        "ShapeError: concat: expected at least one array\n  at here",
    ),
    "concat of other ranks": (
        lambda: wg.concat([w, ones(3)]),
        "ShapeError: concat: shapes (2, 3) and (3,) differ in rank\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  operand 1: literal (3,) float32\n"
        "  at here",
    ),
    "concat of scalars": (
        lambda: wg.concat([f, f]),
        "ShapeError: concat: expected arrays, got a scalar\n"
        "  operand 0: weight 'f' () float32\n"
        "  operand 1: weight 'f' () float32\n"
        "  at here",
    ),
    "stack": (
        lambda: wg.stack([w, x]),
        "ShapeError: stack: shapes (2, 3) and (4, 5) differ\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  operand 1: literal (4, 5) float32\n"
        "  at here",
    ),
    "getitem": (
        lambda: w[5],
        "ShapeError: getitem: cannot index shape (2, 3): index 5 is out of bounds for axis 0 "
        "with size 2\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  at here",
    ),
    "getitem of too many axes": (
        lambda: w[0, 0, 0],
        "ShapeError: getitem: cannot index shape (2, 3): too many indices: the array has 2 "
        "axes, 3 were indexed\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  at here",
    ),
    "getitem of a scalar": (
        lambda: wg.getitem(d, 0),
        "ShapeError: getitem: expected an array, got a scalar\n  operand 0: weight 'd' () float64\n  at here",
    ),
    "take": (
        lambda: wg.take(w, np.array([0]), axis=4),
        "ShapeError: take: axis 4 is out of range for shape (2, 3)\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  operand 1: literal (1,) int64\n"
        "  at here",
    ),
    "take_along_axis": (
        lambda: wg.take_along_axis(w, np.zeros((3, 1), int)),
        "ShapeError: take_along_axis: indices of shape (3, 1) do not fit shape (2, 3) along axis 1: 2 and 3 "
        "differ on axis 0\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  operand 1: literal (3, 1) int64\n"
        "  at here",
    ),
    "take_along_axis of another rank": (
        lambda: wg.take_along_axis(w, np.zeros(3, int)),
        "ShapeError: take_along_axis: the indices have 1 axes, and the array of shape (2, 3) has 2\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  operand 1: literal (3,) int64\n"
        "  at here",
    ),
    "split": (
        lambda: wg.split(w, 2, axis=1),
        "ShapeError: split: cannot split axis 1 of shape (2, 3) into 2 equal parts: 3 is no multiple of 2\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  at here",
    ),
    "split into nothing": (
        lambda: wg.split(w, 0),
        "ShapeError: split: cannot split into 0 parts\n  operand 0: weight 'w' (2, 3) float32\n  at here",
    ),
    "flip": (
        lambda: wg.flip(w, axis=(0, 0)),
        "ShapeError: flip: axes (0, 0) name one axis of shape (2, 3) twice\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  at here",
    ),
    "roll": (
        lambda: wg.roll(w, (1, 2)),
        "ShapeError: roll: shift (1, 2) has 2 numbers, not 1: there is no axis\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  at here",
    ),
    "einsum": (
        lambda: wg.einsum("ij,jk->ik", x, w),
        'ShapeError: einsum: index "j" is both 5 and 2\n'
        "  operand 0: literal (4, 5) float32\n"
        "  operand 1: weight 'w' (2, 3) float32\n"
        "  at here",
    ),
    "einsum of another rank": (
        lambda: wg.einsum("bij->b", w),
        'ShapeError: einsum: term "bij" has 3 indices, shape (2, 3) has 2 axes\n'
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  at here",
    ),
    "tensordot": (
        lambda: wg.tensordot(x, w, axes=((1,), (0,))),
        "ShapeError: tensordot: cannot sum over axis 1 of shape (4, 5) and axis 0 of shape (2, 3): 5 and 2 "
        "differ\n"
        "  operand 0: literal (4, 5) float32\n"
        "  operand 1: weight 'w' (2, 3) float32\n"
        "  at here",
    ),
    "broadcasting that changes the rank": (
        lambda: column + ones(5),
        "ShapeError: add: shapes (5, 1) and (5,) would broadcast to (5, 5), a shape of "
        "neither, with ranks that differ; say which axes you mean with expand_dims or "
        "broadcast_to\n"
        "  operand 0: weight 'column' (5, 1) float32\n"
        "  operand 1: literal (5,) float32\n"
        "  at here",
    ),
    "literal": (
        lambda: wg.literal(x, 4, 6),
        "ShapeError: literal: the array has shape (4, 5), the stated dimensions are (4, 6)\n  at here",
    ),
    "literal with numpy's integers": (
        lambda: wg.literal(x, np.int64(4), np.int64(6)),
        "ShapeError: literal: the array has shape (4, 5), the stated dimensions are (4, 6)\n  at here",
    ),
    "literal of another rank": (
        lambda: wg.literal(x, 4),
        "ShapeError: literal: the array has shape (4, 5), the stated dimensions are (4)\n  at here",
    ),
    "many operands": (
        lambda: wg.concat([w, w, w, w, w, w, w, x]),
        "ShapeError: concat: shapes (2, 3) and (4, 5) differ on axis 1, not only on axis 0\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  operand 1: weight 'w' (2, 3) float32\n"
        "  operand 2: weight 'w' (2, 3) float32\n"
        "  operand 3: weight 'w' (2, 3) float32\n"
        "  operand 4: weight 'w' (2, 3) float32\n"
        "  operand 5: weight 'w' (2, 3) float32\n"
        "  and 2 more\n"
        "  at here",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_text(name: str) -> None:
    action, text = CASES[name]
    assert said(action) == text
