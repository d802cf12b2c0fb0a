"""What every interpreter promises, of batches: all or nothing, whole failures, no stack, values that stay, no leak."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any, ClassVar

import numpy as np
import pytest

import wengert as wg
from tests.run.batching.trees import Layer, TreeLSTM, close, sequential, trees
from tests.run.counting import Boom, unregistered
from wengert import run
from wengert.extend import Optimizer, Weight
from wengert.plugins import SGD, Plugin


def fails_at(bad: float, *, backward: bool = False) -> Any:  # Any: an operation
    """Twice its operand; fails on one value."""

    def rule(case: Any, x: Any) -> Any:  # Any: rules take data of every type
        if not backward and np.any(x == bad):
            raise Boom(f"met {bad}")
        return x * 2.0

    def derivative(case: Any, g: Any, y: Any, x: Any) -> Any:  # Any: as above
        if backward and np.any(x == bad):
            raise Boom(f"met {bad}")
        return g * 2.0

    return unregistered("fails_at", rule, derivative)


@pytest.mark.parametrize("backward", [False, True])
def test_a_failure_in_one_row_names_its_node_and_changes_nothing(backward: bool) -> None:
    operation = fails_at(3.0, backward=backward)
    w = SGD(learning_rate=0.1).double_weight(1.0)
    total: Layer = 0.0
    for i in range(6):
        x = w * float(i)
        total = total + operation(x)  # this line
    with pytest.raises(Boom, match=r"met 3\.0") as caught:
        total.train().run(run.Batched())
    assert w.data == 1.0
    (note,) = [note for note in caught.value.__notes__ if "fails_at" in note]
    assert f"{__file__}:" in note and "fails_at(() float64)" in note


def test_several_failures_come_as_one_group() -> None:
    operation = fails_at(3.0)
    w = SGD(learning_rate=0.1).double_weight(1.0)
    with pytest.raises(ExceptionGroup):
        wg.predict((operation(w * 3.0), operation(w + 2.0), operation(w * 1.0))).run(run.Batched())


def test_an_optimizer_that_fails_changes_nothing() -> None:
    class Failing(Optimizer):
        def step(self, delta: object, weight: Weight) -> object:
            raise Boom("no step")

    class Broken(Plugin):
        optimizer: ClassVar[type[Optimizer]] = Failing

    model, other = TreeLSTM(), Broken().array_weight(np.ones(4))
    before = [np.array(w.data) for w in model.weights]
    with pytest.raises(Boom):
        (model.loss(trees(0, 4)) + wg.sum(other)).train().run(run.Batched())
    for old, w in zip(before, model.weights, strict=True):
        np.testing.assert_array_equal(old, w.data)


@pytest.mark.slow
def test_a_long_chain_needs_no_stack() -> None:
    w = SGD(learning_rate=0.1).double_weight(1.0)
    x: Layer = w * 1.0
    for _ in range(200_000):
        x = x * 1.0
    assert wg.gradients(x, (w,)).run(run.Batched()) == (1.0,)


def test_two_long_chains_run_in_step() -> None:
    w = SGD(learning_rate=0.1).double_weight(1.0)
    chains = [w * 1.0, w * 2.0, w * 3.0]
    for _ in range(2_000):
        chains = [wg.sin(x) for x in chains]
    loss = chains[0] + chains[1] + chains[2]
    batched = run.Batched()
    close(wg.gradients(loss, (w,)).run(batched), wg.gradients(loss, (w,)).run(sequential()))
    assert batched.report.launches < 2_100


def test_an_input_that_is_changed_later_changes_nothing() -> None:
    w = SGD(learning_rate=0.1).array_weight(np.ones(3))
    inputs = [np.full(3, float(i), np.float64) for i in range(4)]
    losses = [wg.sum(w * x) for x in inputs]
    for x in inputs:
        x[:] = 99.0
    (found,) = wg.gradients(losses[0] + losses[1] + losses[2] + losses[3], (w,)).run(run.Batched())
    np.testing.assert_array_equal(found, np.full(3, 6.0))


def test_results_are_the_callers_own() -> None:
    w = SGD(learning_rate=0.1).array_weight(np.ones(3))
    several = [w * float(i) for i in range(3)]
    total = several[0] + several[1] * several[2]
    batched = run.Batched()
    for _ in range(3):
        found = total.predict().run(batched)
        np.testing.assert_array_equal(found, np.full(3, 2.0))
        found[:] = 99.0
    kept = wg.gather(*several).run(batched)
    wg.sum(total).train().run(batched)
    np.testing.assert_array_equal(kept[2], np.full(3, 2.0))


def test_trainings_in_threads_lose_no_update() -> None:
    w = SGD(learning_rate=1.0).double_weight(0.0)
    batched = run.Batched()

    def train() -> None:
        for _ in range(20):
            (w * 1.0 + w * 2.0 + w * 3.0).train().run(batched)

    threads = [threading.Thread(target=train) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert w.data == -6.0 * 60


def test_nothing_of_a_model_outlives_it() -> None:
    batched = run.Batched()

    def use() -> list[weakref.ref[Any]]:  # Any: weights
        model = TreeLSTM()
        kept = model.loss(trees(0, 4))
        for _ in range(3):
            kept.train().run(batched)
            model.loss(trees(1, 4)).train().run(batched)
        wg.predict(tuple(model.state(tree)[0] for tree in trees(2, 3))).run(batched)
        return [weakref.ref(w) for w in model.weights]

    found = use()
    gc.collect()
    assert [ref() for ref in found] == [None, None, None]


def test_runs_leave_no_cycles_behind() -> None:
    model, batched = TreeLSTM(), run.Batched()
    examples = trees(0, 4)
    model.loss(examples).train().run(batched)
    gc.collect()
    gc.disable()
    try:
        before = len(gc.get_objects())
        for _ in range(20):
            model.loss(examples).train().run(batched)
            wg.predict((model.state(examples[0])[0], model.state(examples[1])[0])).run(batched)
        assert len(gc.get_objects()) - before < 500
    finally:
        gc.enable()
