"""Weights that live in one array are weights like all others: S6, S10, S11 and S13 hold for each of them."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
import weakref
from functools import reduce
from itertools import pairwise
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.often import few
from tests.run.attacked import OPTIMIZERS, interruptions, none_interrupted
from tests.run.branches import Heads, stacks
from tests.run.counting import state_of
from tests.run.planned import eager, plain, same
from tests.run.test_leaks import growth
from wengert.arrays.changes import carry_out
from wengert.graph.store import STORE
from wengert.plugins import SGD
from wengert.run import Sequential
from wengert.saving import load, save

# Any in all: interpreters, and weights of every column


class Scene:
    """Heads whose weights live together, and the same network for the interpreter."""

    def __init__(self, optimizer: str = "SGD", steps: int = 3) -> None:
        self.executor, self.plans = eager()
        self.net, self.other = (Heads(OPTIMIZERS[optimizer]()) for _ in range(2))
        self.steps = 0
        for _ in range(steps):
            self.step()
        assert stacks(self.plans) == 3
        assert self.together()

    def step(self, executor: Any = None) -> float:
        loss = wg.train(self.net.loss(self.steps)).run(executor or self.executor)
        wg.train(self.other.loss(self.steps)).run(plain())
        self.steps += 1
        return float(loss)

    def check(self) -> None:
        """Both networks have the same weights."""
        same([w.ref.data for w in self.net.weights], [w.ref.data for w in self.other.weights])

    def together(self) -> bool:
        """Whether the first weights of all heads live in one array, where nobody's copy is in the way."""
        cells = [head[0].ref for head in self.net.heads]
        arena = cells[0].arena
        rows = [] if arena is None else arena.rows
        return all(any(row is cell.data for row in rows) for cell in cells)


@pytest.mark.parametrize("optimizer", sorted(OPTIMIZERS))
def test_rebuilt_and_kept_expressions_use_the_same_array(optimizer: str) -> None:
    scene = Scene(optimizer)
    arena = scene.net.heads[0][0].ref.arena
    for _ in range(4):
        scene.step()
    kept = [net.loss(0) for net in (scene.net, scene.other)]
    for _ in range(3):
        for loss, by in zip(kept, (scene.executor, plain()), strict=True):
            wg.train(loss).run(by)
    scene.check()
    if "SGD" in optimizer:  # the others' steps are single calls, which change row after row
        assert scene.net.heads[0][0].ref.arena is arena
    assert scene.together()


def test_data_that_were_read_stay_as_they_were() -> None:
    """S11, for the array's rows as for any other weight's data, and for what is read from them inside a run."""
    scene = Scene()
    w = scene.net.heads[2][0]
    views, before = [], []
    for _ in range(4):
        views += [w.data, w.data[1:], wg.predict(w).run(scene.executor)]
        before += [np.array(view) for view in views[-3:]]
        scene.step()
    for view, old in zip(views, before, strict=True):
        assert np.array_equal(view, old)
    assert not np.array_equal(views[0], w.data)
    scene.check()
    assert scene.together()


def test_data_that_were_read_inside_a_run_stay_as_they_were() -> None:
    """S11: also those of a view, and while other runs change the weights in place."""
    scene = Scene()
    w, seen = scene.net.heads[2][0], list[Any]()

    @wg.differentiable
    async def reads(h: wg.ArrayLayer) -> wg.ArrayLayer:
        seen.extend([await w, await w[1:], await wg.permute_dims(w, (1, 0))])
        return h

    for executor in (scene.executor, plain(), scene.executor):
        wg.predict(wg.sum(reads(w * 1.0))).run(executor)
        before = [np.array(x) for x in seen]
        scene.step(executor)
        scene.step()
        for x, old in zip(seen, before, strict=True):
            assert not x.flags.writeable
            assert np.array_equal(x, old)
    scene.check()


def test_new_data_in_a_weight_are_seen_and_move_in() -> None:
    scene = Scene()
    fresh = np.full((6, 6), 0.125, np.float32)
    for net in (scene.net, scene.other):
        cell = net.heads[1][0].ref
        with STORE.lock:
            carry_out(STORE.replaced([(cell, fresh.copy())], STORE.others(-1)))
    assert not scene.together()
    for _ in range(3):
        scene.step()
    scene.check()
    assert scene.together()


@pytest.mark.parametrize("optimizer", sorted(OPTIMIZERS))
def test_weights_from_a_file_move_in(optimizer: str, tmp_path: Path) -> None:
    scene = Scene(optimizer)
    names = {f"w{i}": w for i, w in enumerate(scene.net.weights)}
    others = {f"w{i}": w for i, w in enumerate(scene.other.weights)}
    save(tmp_path / "first", names)
    for _ in range(3):
        scene.step()
    for weights in (names, others):
        load(tmp_path / "first", weights)
    scene.check()
    scene.step()
    scene.check()


def test_other_interpreters_and_plans_train_the_same_weights() -> None:
    """Plans of single calls, the interpreter, and heads in another order."""
    scene = Scene()
    for executor in (plain(), Sequential(stacked=False), eager()[0], scene.executor, plain(), scene.executor):
        for _ in range(2):
            scene.step(executor)
    scene.net.heads.reverse()
    scene.other.heads.reverse()
    for executor in (scene.executor, plain(), eager()[0]):
        for _ in range(3):
            scene.step(executor)
    scene.check()


def test_a_head_that_trains_alone() -> None:
    """A plan of one head changes rows of the array in which all live."""
    scene = Scene()
    executor, _ = eager()
    for step in range(4):
        for net, by in ((scene.net, executor), (scene.other, plain())):
            wg.train(net.loss_of(net.heads[3], net.hidden(step), step, 3)).run(by)
        scene.step()
    scene.check()
    assert scene.together()


@pytest.mark.parametrize("optimizer", few(sorted(OPTIMIZERS), 1))
def test_a_run_that_fails_changes_nothing(optimizer: str) -> None:
    """S6: at whatever line of the program; the interpreter makes the step then, or says what is wrong."""
    scene = Scene(optimizer)
    (plan,) = scene.plans._plans.items()
    source, run = plan.program.source, plan.program.run
    scene.plans._worth = 10**9  # no other plan in its place
    body = source.splitlines()
    settle = next(i for i, line in enumerate(body) if "= yield" in line)
    for at in range(3, settle, 7):
        before = [state_of(w) for w in scene.net.weights]
        broken = "\n".join([*body[:at], " raise MemoryError", *body[at:]])
        made: dict[str, Any] = {}
        exec(broken, run.__globals__, made)
        plan.program.run = made["program"]
        with interruptions() as found:
            scene.step()
        assert len(found) == 1
        plan.program.run = run
        assert [state_of(w) for w in scene.net.weights] != before
        scene.check()
    with none_interrupted():
        scene.step()
    scene.check()


class Steady:
    """Weights that grow by -1 in each step, whose data live in one array that is changed as a whole."""

    def __init__(self, starts: range) -> None:
        self.executor, self.plans = eager()
        settings = SGD(learning_rate=1.0)
        self.weights = [settings.array_weight(np.full((2, 8), i, np.float64)) for i in starts]

    def train(self) -> None:
        losses = [wg.sum(wg.tanh(w * 0.0) + w * np.ones((2, 8))) for w in self.weights]
        reduce(add, losses).train().run(self.executor)

    def stacked(self) -> bool:
        plans = self.plans._plans.items()
        return any(len(plan.whole) == 1 for plan in plans)


@pytest.mark.usefixtures("switching_fast")
def test_predictions_during_training_see_whole_versions() -> None:
    """S10: all weights grow by the same number, while other threads look at the differences."""
    scene = Steady(range(12))
    done, wrong = threading.Event(), list[Any]()

    def trains() -> None:
        while not done.is_set():
            scene.train()

    def predicts() -> None:
        for _ in range(150):
            found = wg.stack([wg.tanh(w * 0.0) + w for w in scene.weights]).predict().run(scene.executor)
            if (np.diff(found, axis=0) != 1.0).any():
                wrong.append(found)

    threads = [threading.Thread(target=f) for f in (predicts, predicts, trains, trains)]
    for thread in threads:
        thread.start()
    for thread in threads[:2]:
        thread.join()
    done.set()
    for thread in threads[2:]:
        thread.join()
    assert not wrong
    assert scene.stacked()
    assert stacks(scene.plans) >= 2  # of the predictions, too
    assert all(np.array_equal(b.data - a.data, np.ones((2, 8))) for a, b in pairwise(scene.weights))


@pytest.mark.usefixtures("switching_fast")
def test_two_threads_lose_no_update() -> None:
    """S10: as many steps as both have made."""
    scene = Steady(range(12))

    def trains() -> None:
        for _ in range(100):
            scene.train()

    threads = [threading.Thread(target=trains) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert scene.stacked()
    assert all((w.data == i - 200.0).all() for i, w in enumerate(scene.weights))


def test_a_reader_sees_the_version_from_before_a_commit() -> None:
    scene = Scene()
    reader = object()
    snapshot = STORE.begin(reader)
    before = [np.array(w.ref.at(snapshot)) for w in scene.net.weights]
    try:
        for _ in range(3):
            scene.step()
        same([w.ref.at(snapshot) for w in scene.net.weights], before)
    finally:
        STORE.end(reader)
    scene.step()
    scene.step()
    assert not any(w.ref.history for w in scene.net.weights)
    scene.check()
    assert scene.together()


def test_a_weight_is_pickled_and_copied_without_its_neighbours() -> None:
    w = Scene().net.heads[0][0]
    assert len(pickle.dumps(w.ref)) < 2 * w.data.nbytes + 500
    twin = copy.deepcopy(w.ref)
    assert twin.arena is None
    assert np.array_equal(twin.data, w.ref.data)
    assert not np.shares_memory(twin.data, w.ref.data)


@pytest.mark.slow
def test_nothing_leaks() -> None:
    """S13: a thousand steps add nothing, and networks go with their last user."""
    scene = Scene()

    def step() -> None:
        scene.steps += 1
        wg.train(scene.net.loss(scene.steps)).run(scene.executor)

    gc.collect()
    gc.disable()
    try:
        growth(step, 300)  # lists of free objects fill
        assert growth(step, 300) < 50_000
        w = weakref.ref(scene.net.heads[0][0].ref.arena.data)
        del scene.net
        assert w() is None
    finally:
        gc.enable()
