"""Ready-made networks, cells, and who runs them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.run.counting import failing
from wengert import DoubleLayer, nn, run
from wengert.plugins import SGD, FailOnNonFinite

from .golden import Unchecked, d, ones, said, w, wg


class Guarded(FailOnNonFinite, SGD): ...


sgd: Unchecked = SGD(learning_rate=0.1)
linear: Unchecked = nn.Linear.make(sgd, 3, 2, seed=0, name="top")
conv: Unchecked = nn.Conv2d.make(sgd, 3, 8, 5, seed=0, name="conv")
cell: Unchecked = nn.LSTMCell.make(sgd, 3, 4, seed=0)
words: Unchecked = nn.Embedding.make(sgd, 3, 4, seed=0, name="words")
guarded: Unchecked = Guarded(learning_rate=0.1).array_weight(ones(2, 2), name="guarded")
make: Unchecked = nn.Linear.make
heads: Unchecked = nn.MultiHeadAttention.make
batched: Unchecked = run.Batched()
Batched: Unchecked = run.Batched
Parallel: Unchecked = run.Parallel
traced: Unchecked = run.cell


@run.cell
def peeking(x: DoubleLayer) -> DoubleLayer:
    return x * float(x.predict().run())


@run.cell
def asking(x: Unchecked) -> Unchecked:
    return x * 2.0 if x > 0.0 else x


@run.cell
def forgetting(x: Unchecked) -> None:
    x * 2.0


def taken(*places: int) -> Unchecked:
    return wg.sum(wg.stack([wg.sum(wg.take(w, np.array([place]))) for place in places]))


CASES: dict[str, tuple[Callable[[], object], str]] = {
    "another last axis": (
        lambda: linear(ones(5, 4)),
        "ShapeError: Linear: expected last axis 3, got (5, 4)\n  at here",
    ),
    "another dtype": (
        lambda: linear(ones(5, 3, dtype=np.float64)),
        "DTypeError: matmul: dtypes float64 and float32 do not mix; make them one, as in "
        "x.astype(numpy.float32)\n"
        "  operand 0: layer literal (5, 3) float64, built at here\n"
        "  operand 1: weight 'top.weight' (3, 2) float32\n"
        "  at here",
    ),
    "a layer of sizes": (
        lambda: nn.Linear(3, 2),  # type: ignore[arg-type] # refused there too
        "ArgumentError: Linear is put together from weights, got 3; write Linear.make(settings, inputs, outputs, "
        "seed=0)\n  at here",
    ),
    "a layer of sizes and more": (
        lambda: nn.Conv2d(3, 16, 3),  # type: ignore[arg-type] # refused there too
        "ArgumentError: Conv2d is put together from weights, got 3; write Conv2d.make(settings, inputs, outputs, "
        "kernel, seed=0)\n  at here",
    ),
    "a norm of a size": (
        lambda: nn.LayerNorm(3),  # type: ignore[arg-type] # refused there too
        "ArgumentError: LayerNorm is put together from weights, got 3; write LayerNorm.make(settings, width)\n"
        "  at here",
    ),
    "no size": (
        lambda: make(sgd, 0, 2, seed=0),
        "ArgumentError: Linear: inputs is a positive integer; got 0\n  at here",
    ),
    "a text for a seed": (
        lambda: make(sgd, 3, 2, seed="one"),
        "ArgumentError: Linear: seed is an integer from 0 on, or a generator; got 'one'\n  at here",
    ),
    "a rate of more than 1": (
        lambda: nn.Dropout(1.5),  # type: ignore[value] # refused there too
        "ArgumentError: Dropout: the rate is a number from 0 to less than 1; got 1.5\n  at here",
    ),
    "heads that do not divide": (
        lambda: heads(sgd, 64, 12, seed=0),
        "ShapeError: MultiHeadAttention: 12 heads do not divide a width of 64\n  at here",
    ),
    "a state of another size": (
        lambda: cell(ones(2, 3), (ones(2, 5), ones(2, 4))),
        "ShapeError: LSTMCell: expected a state h of shape (2, 4), got (2, 5)\n  at here",
    ),
    "words that are no integers": (
        lambda: words(np.array([0.5])),
        "DTypeError: take: indices are integers, not (1,) float64\n"
        "  operand 0: weight 'words.table' (3, 4) float32\n"
        "  operand 1: literal (1,) float64\n"
        "  at here",
    ),
    "a word that is not there": (
        lambda: wg.sum(words([5])).train().run(),
        "IndexError: index 5 is out of bounds for axis 0 with size 3\n"
        "+ in take((3, 4) float32, (1,) int64) with weight 'words.table', built at here",
    ),
    "other channels": (
        lambda: conv(ones(2, 4, 8, 8)),
        "ShapeError: conv2d: cannot convolve (2, 4, 8, 8) with (8, 3, 5, 5): input has 4 "
        "channels, kernel expects 3\n"
        "  operand 0: literal (2, 4, 8, 8) float32\n"
        "  operand 1: weight 'conv.kernel' (8, 3, 5, 5) float32\n"
        "  at here",
    ),
    "a value asked for inside a cell": (
        lambda: peeking(d * 1.0),
        "LazyError: inside a cell an operand has no value, because the cell is traced once "
        "for all its calls; compute with the expression, or decide outside the cell\n"
        "+ in forward, the Do behind DoubleLayer () float64, built at here\n"
        "+ while the cell peeking was traced for (() float64), called at here",
    ),
    "a comparison inside a cell": (
        lambda: asking(d * 1.0),
        "LazyError: comparison of <DoubleLayer parameter () float64, built at here>, which "
        "is an expression: it has no value before a run; use `wengert.greater(a, b)`, or "
        "`await` it and compare its value\n"
        "  at test_networks.py:N\n"
        "+ while the cell asking was traced for (() float64), called at here",
    ),
    "a cell that returns nothing": (
        lambda: forgetting(d * 1.0),
        "ArgumentError: forgetting returned None; a cell returns an expression or a tuple of them\n  at here",
    ),
    "a cell of a number": (
        lambda: traced(3.0),
        "ArgumentError: @cell takes a function of expressions; got 3.0\n  at here",
    ),
    "a class for an executor": (
        lambda: (d * 2.0).train().run(Batched),
        "ArgumentError: the executor of a run is an object such as wengert.run.Sequential(); "
        "got <class 'wengert.run.batching.executor.Batched'>, which is a class: call it\n  at here",
    ),
    "a number for an executor": (
        lambda: (d * 2.0).train().run(3),
        "ArgumentError: the executor of a run is an object such as wengert.run.Sequential(); got 3\n"
        "  at here",
    ),
    "no threads": (
        lambda: Parallel(threads=0),
        "ArgumentError: Parallel: `threads` is a number of threads from 1 on; got 0\n  at here",
    ),
    "failing, batched": (
        lambda: wg.sum(failing()(w)).train().run(batched),
        "Boom: boom\n+ in failing((2, 3) float32) with weight 'w', built at here",
    ),
    "failing backward, batched": (
        lambda: wg.sum(failing(backward=True)(w)).train().run(batched),
        "Boom: boom\n+ in backward of failing_backward((2, 3) float32) with weight 'w', built at here",
    ),
    "one index of three, batched": (
        lambda: taken(0, 1, 7).train().run(batched),
        "IndexError: index 7 is out of bounds for axis 0 with size 2\n"
        "+ in take((2, 3) float32, (1,) int64) with weight 'w', built at test_networks.py:N",
    ),
    "not finite, batched": (
        lambda: (wg.sum(guarded) / 0.0 * 0.0).train().run(batched),
        "NonFiniteError: the loss is nan, so <ArrayWeight 'guarded' (2, 2) float32> and all "
        "other weights stay as they are\n"
        "+ in the update of <ArrayWeight 'guarded' (2, 2) float32>, made at "
        "test_networks.py:N\n"
        "+ first not finite: divide(() float32, () float64), built at here",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_text(name: str) -> None:
    action, text = CASES[name]
    assert said(action) == text
