"""Cells that compute once more what backward reads: the bits of those that keep it, in less memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import nn
from wengert.control import Executor
from wengert.errors import ArgumentError
from wengert.plugins import SGD, Adam, LearningRate
from wengert.run import Batched, Parallel, Sequential

Value = Any  # layers and data of shapes that the tests know
Data = np.ndarray[Any, np.dtype[np.float32]]
EXECUTORS: dict[str, Callable[[], Executor]] = {
    "nodes": lambda: Sequential(compiled=False),
    "default": Sequential,
    "batched": Batched,
    "parallel": lambda: Parallel(2),
}


def data(*shape: int, seed: int = 0) -> Data:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


class Rated(Adam, LearningRate): ...


class Net:
    """Blocks of several results, with weights that are given and captured, cells within cells, and a scan."""

    def __init__(self, remat: bool, settings: Any = None) -> None:  # Any: settings of every class
        of = settings or SGD(learning_rate=0.1)
        self.layers = [nn.MLP.make(of, 6, 8, 6, seed=i, activation=wg.tanh) for i in range(3)]
        shared = of.array_weight(data(6, 6, seed=9))

        @wg.cell(remat=remat)
        def inner(x: Value) -> Value:
            return wg.sigmoid(x @ shared) * x

        @wg.cell(remat=remat)
        def block(layer: nn.MLP, x: Value, scale: Value) -> tuple[Value, Value]:
            h = layer(x)
            return x + inner(h), wg.mean(h * scale)

        @wg.cell(remat=remat)
        def step(h: Value, x: Value) -> tuple[Value, Value]:
            h = wg.tanh(h @ shared + x)
            return h, h * x

        self.shared, self.block, self.step = shared, block, step

    @property
    def weights(self) -> tuple[Value, ...]:
        return (self.shared, *nn.weights(self.layers).values())

    def loss(self, x: Data) -> Value:
        h, means = wg.lift(x), []
        for layer in self.layers:
            h, m = self.block(layer, h, np.float32(0.5))
            means.append(m)
        last, seen = wg.scan(self.step, h, wg.stack([h, h * 0.5, h * 0.25]))
        return wg.mean(wg.square(last)) + wg.mean(seen) + means[0] + means[2]


@pytest.mark.parametrize("name", EXECUTORS)
def test_values_and_derivatives_have_the_bits_of_cells_that_keep(name: str) -> None:
    found: list[list[Any]] = []
    for remat in (False, True):
        net, run = Net(remat), EXECUTORS[name]()
        # of weights that one call reads: several calls add up in another order
        wrt: Any = (*nn.weights(net.layers).values(),)  # Any: as many as there are
        seen: list[Any] = []
        for step in range(12):  # by nodes, and by a plan
            seen += wg.gradients(net.loss(data(4, 6, seed=step)), wrt).run(run)
            seen.append(net.loss(data(4, 6, seed=step)).predict().run(run))
        found.append(seen)
    for kept, again in zip(*found, strict=True):
        np.testing.assert_array_equal(kept, again)


@pytest.mark.parametrize("settings", [SGD(learning_rate=0.1), Rated(learning_rate=0.1)], ids=["SGD", "Adam"])
def test_trainings_of_all_executors_are_alike(settings: Any) -> None:
    left: list[list[Any]] = []
    for remat, name in ((False, "nodes"), *((True, name) for name in EXECUTORS)):
        net, run = Net(remat, settings), EXECUTORS[name]()
        for step in range(12):
            net.loss(data(4, 6, seed=step)).train().run(run)
        left.append([weight.data for weight in net.weights])
    for others in left[1:]:
        for a, b in zip(left[0], others, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)


def stack(remat: bool, depth: int) -> Callable[[Data], Value]:
    """A loss behind cells of ten arrays each."""
    weights = [SGD(learning_rate=0.0).array_weight(data(4, 4, seed=i)) for i in range(depth)]

    @wg.cell(remat=remat)
    def block(w: Value, x: Value) -> Value:
        for _ in range(5):
            x = wg.tanh(x @ w)
        return x

    def loss(x: Data) -> Value:
        h: Value = wg.lift(x)
        for w in weights:
            h = block(w, h)
        return wg.mean(wg.square(h))

    return loss


def memory(remat: bool, depth: int, run: Executor, before: int) -> float:
    """The most that a training holds, the buffers of a plan included, in arrays of the size of x."""
    loss, x = stack(remat, depth), data(2_000, 4)
    tracemalloc.start()
    try:
        for _ in range(before):
            loss(x).train().run(run)
        tracemalloc.reset_peak()
        loss(x).train().run(run)
        return tracemalloc.get_traced_memory()[1] / x.nbytes
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("name", "before"), [("nodes", 0), ("default", 12)])
def test_a_stack_needs_the_memory_of_one_cell_and_an_array_for_each(name: str, before: int) -> None:
    kept, again, deeper = (
        memory(remat, depth, EXECUTORS[name](), before)
        for remat, depth in ((False, 10), (True, 10), (True, 20))
    )
    assert again < 0.6 * kept
    assert deeper < again + 30  # two arrays, or three, for each of ten cells more, and not ten


def test_it_is_written_in_each_form_and_refuses_another_word() -> None:
    def twice(x: wg.DoubleLayer) -> wg.DoubleLayer:
        return x * 2.0

    for made in (wg.cell(twice), wg.cell(remat=True)(twice), wg.cell(twice, remat=True), wg.cell()(twice)):
        assert made(wg.lift(3.0)).predict().run() == 6.0
    with pytest.raises(ArgumentError, match="@cell: remat is True or False; got 'all'"):
        wg.cell(twice, remat="all")  # type: ignore[call-overload] # wrong on purpose


def test_buffers_within_move_once() -> None:
    norm = nn.BatchNorm.make(SGD(learning_rate=0.0), 3, rate=0.5)

    @wg.cell(remat=True)
    def block(x: Value) -> Value:
        return norm(x, seed=0)

    for _ in range(12):
        wg.mean(block(np.array([[1.0, 2.0, 3.0], [3.0, 4.0, 5.0]], np.float32))).train().run()
    np.testing.assert_allclose(norm.mean.data, [2.0, 3.0, 4.0], rtol=1e-3)
