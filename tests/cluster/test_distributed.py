"""`Distributed` over the engine in this process: D1, D4, D5 and D6, whatever messages and workers meet."""

from __future__ import annotations

import gc
import math
import sys
from collections.abc import Collection
from concurrent.futures import Future
from functools import cache
from threading import Lock
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from tests.cluster.drawn import Recipe, left, recipes
from tests.cluster.models import Model, W, batch_of, failing, trained
from tests.often import examples
from wengert.cluster import Distributed, Fault, Local, Message
from wengert.cluster.working import WorkerIdentity, identity
from wengert.errors import ArgumentError, ClusterError, NodeLostError
from wengert.plugins import SGD
from wengert.run import Batched, Sequential

STEPS = 3


@cache
def here(count: int, optimizer: str, batched: bool = False) -> str:
    """The bits of one process."""
    return trained(Batched() if batched else Sequential(compiled=False), STEPS, count, optimizer)


@examples(25)
@given(
    count=st.integers(1, 8),
    workers=st.integers(1, 5),
    optimizer=st.sampled_from(["SGD", "Adam", "Momentum"]),
    faults=st.dictionaries(st.integers(0, 40), st.sampled_from(list(Fault)), max_size=12),
    batched=st.booleans(),
)
def test_same_bits_whatever_happens(
    count: int, workers: int, optimizer: str, faults: dict[int, Fault], batched: bool
) -> None:
    engine = Local(workers, lambda message: faults.get(message.number))
    executor = Distributed(engine, executor=Batched if batched else Sequential)
    assert trained(executor, STEPS, count, optimizer) == here(count, optimizer, batched)
    assert engine.unanswered == 0


@examples(200, 2000)
@given(
    recipe=recipes(),
    workers=st.integers(1, 4),
    faults=st.dictionaries(st.integers(0, 20), st.sampled_from(list(Fault)), max_size=4),
    batched=st.booleans(),
)
def test_every_expression_has_the_bits_of_one_process(
    recipe: Recipe, workers: int, faults: dict[int, Fault], batched: bool
) -> None:
    """D1 of drawn networks, losses, element types, optimizers, batches and shards."""
    engine = Local(workers, lambda message: faults.get(message.number))
    by = Batched if batched else Sequential
    assert left(recipe, Distributed(engine, executor=by)) == left(recipe, by())
    assert engine.unanswered == 0


def test_another_order_of_sums_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = here(5, "Adam")
    monkeypatch.setattr(sys.modules["wengert.run.shards"], "reversed", lambda x: x, raising=False)
    assert trained(Distributed(Local()), STEPS, 5, "Adam") != wanted


def test_workers_come_and_go_between_steps() -> None:
    engine = Local(1, replaced=False)

    def change(step: int) -> None:
        if step == 1:
            engine.join()
            engine.kill("worker-0")

    assert trained(Distributed(engine), STEPS, 4, before=change) == here(4, "Adam")
    assert engine.deaths() == ["worker-0"]


def model_and_loss() -> tuple[Model, Any]:  # Any: a scalar expression
    model = Model("Adam")
    return model, wg.shards(model.loss, batch_of(0), 3, seed=0)


def test_without_workers_a_step_waits_and_changes_nothing() -> None:
    engine = Local(1, replaced=False)
    engine.kill("worker-0")
    model, loss = model_and_loss()
    before = model.w.data.copy()
    with pytest.raises(NodeLostError, match="no worker is left: 3 of 3 shards have waited 7 s"):
        loss.train().run(Distributed(engine, patience=7.0))
    assert 7.0 <= engine.now <= 8.0 and np.array_equal(model.w.data, before) and engine.unanswered == 0


def test_a_shard_that_nobody_answers_is_given_up_in_bounded_time() -> None:
    engine = Local(2, lambda message: Fault.LOST_AFTER if message.number == 0 or message.number > 2 else None)
    _, loss = model_and_loss()
    with pytest.raises(NodeLostError, match=r"4 workers have been sent a shard.*patience="):
        loss.train().run(Distributed(engine, patience=2.0))
    assert engine.now < 2.0 * 16 and engine.unanswered == 0


def test_a_shard_that_kills_its_workers_is_given_up() -> None:
    engine = Local(2, lambda message: Fault.DIED_BEFORE)
    _, loss = model_and_loss()
    with pytest.raises(
        NodeLostError, match=r"3 workers have died with one shard, the last of them: worker-\d+"
    ):
        loss.train().run(Distributed(engine, retries=2))
    assert engine.unanswered == 0


def test_late_answers_are_ignored_and_slow_shards_are_waited_for() -> None:
    engine = Local(1, lambda message: Fault.DELAYED if message.number < 2 else None, delay=12.0)
    assert trained(Distributed(engine, patience=10.0), STEPS, 2) == here(2, "Adam")
    assert engine.now >= 10.0 and engine.unanswered == 0


def test_a_copy_whose_worker_dies_is_sent_again_at_once() -> None:
    faults = {0: Fault.LOST_BEFORE, 1: Fault.DIED_BEFORE}
    engine = Local(2, lambda message: faults.get(message.number))
    assert trained(Distributed(engine, patience=10.0), STEPS, 1) == here(1, "Adam")
    assert 10.0 <= engine.now < 12.0 and engine.unanswered == 0


class Together(Local):
    """An engine that gives all answers of a time at once."""

    def wait(
        self, futures: Collection[Future[Any]], timeout: float
    ) -> set[Future[Any]]:  # Any: as in `Local`
        found = super().wait(futures, timeout)
        while found and (more := super().wait([x for x in futures if x not in found], timeout)):
            found |= more
        return found


def test_both_copies_of_a_shard_may_answer_at_once() -> None:
    engine = Together(1, lambda message: Fault.DELAYED if message.number == 0 else None, delay=10.2)
    assert trained(Distributed(engine, patience=10.0), STEPS, 1) == here(1, "Adam")
    assert engine.now > 10.2 and engine.unanswered == 0


def test_predictions_are_distributed_and_all_else_runs_here() -> None:
    model, loss = model_and_loss()
    sent: list[Message] = []
    executor = Distributed(Local(faults=lambda message: sent.append(message)))
    plain = model.loss(batch_of(0), None)
    assert plain.predict().run(executor) == plain.predict().run() and not sent
    evaluated = wg.shards(model.loss, batch_of(0), 3)
    assert float(evaluated.predict().run(executor)) == float(evaluated.predict().run()) and len(sent) == 3
    at = {model.w: np.zeros((8, 8), np.float32)}
    assert float(evaluated.predict(at=at).run(executor)) == pytest.approx(math.log(4), rel=1e-6)
    pairs = [wg.gradients(loss, (model.w, model.u)).run(by) for by in (executor, Sequential())]
    assert all(np.array_equal(a, b) for a, b in zip(*pairs, strict=True))


def test_a_structure_travels_once_and_weights_once_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    engine, put = Local(), list[object]()

    def noted(value: object) -> object:
        put.append(value)
        return Local.put(engine, value)

    monkeypatch.setattr(engine, "put", noted)
    trained(Distributed(engine), 4, 3)
    assert [type(x) for x in put].count(bytes) == 1
    data = [x for x in put if isinstance(x, list) and isinstance(x[0], np.ndarray)]
    assert len(put) == 1 + 1 + 4 and len(data) == 4


def test_a_failure_of_a_loss_keeps_its_type_its_line_and_its_shard() -> None:
    sent: list[Message] = []
    executor = Distributed(Local(faults=lambda message: sent.append(message)))
    with pytest.raises(LookupError, match="above 1") as failure:
        wg.shards(failing, [1.0, 1.0, 5.0], 3).train().run(executor)
    notes = failure.value.__notes__
    assert any(note.startswith("in forward, the Do behind DoubleLayer") for note in notes)
    assert any("models.py" in note for note in notes)
    assert [note for note in notes if note.startswith("in shard")] == ["in shard 2 of 3"]
    assert len(sent) == 3 and W.data == 1.0


class Holding:
    """A model with a field, and a loss that reaches it, which cannot be pickled."""

    def __init__(self) -> None:
        self.parts = [(n for n in (1, 2))]

    def loss(self, part: Any, seed: object) -> wg.DoubleLayer:
        return wg.DoubleLayer((W * 1.0).forward.map(lambda tape: (self.parts, tape)[1]))


def in_a_variable(part: Any, seed: object) -> wg.DoubleLayer:
    held = (n for n in (1, 2))
    return wg.DoubleLayer((W * 1.0).forward.map(lambda tape: (held, tape)[1]))


class Locked(SGD):
    """Settings that cannot be pickled."""

    lock: Any  # Any: of a C type


locked = Locked(learning_rate=0.1, lock=Lock()).double_weight(1.0)


@pytest.mark.parametrize(
    ("loss", "said"),
    [
        (Holding().loss, r"generator' object, which is field 'parts' of Holding; make that where it is used"),
        (in_a_variable, r"generator' object, which is variable 'held' of in_a_variable\.<locals>"),
        (lambda part, seed: locked * 1.0, r"_thread\.lock' object, which is field 'lock' of Locked"),
    ],
)
def test_a_field_that_cannot_be_pickled_is_named(loss: Any, said: str) -> None:  # Any: a loss
    engine = Local()
    with pytest.raises(ArgumentError, match=rf"(?s){said}.*\n  at .*test_distributed"):
        wg.shards(loss, [1, 2], 2).train().run(Distributed(engine))
    assert engine.unanswered == 0 and locked.data == W.data == 1.0


def test_code_that_names_the_decorator_crosses() -> None:
    """As that of a script does, whose functions cannot be imported: with the module that is the decorator, too."""

    def steps(x: float) -> float:
        @wg.differentiable
        async def doubled(y: wg.DoubleLayer) -> wg.DoubleLayer:
            return y * 2.0 if await y > 0.0 else y

        return doubled(SGD(learning_rate=0.1).double_weight(x) * 1.0).predict().run()

    engine = Local()
    future = engine.submit(steps, 3.0)
    assert engine.wait([future], 1.0) and future.result() == 6.0


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (WorkerIdentity("wengert 0.0.9, Python 3.10.1", ""), "a worker has wengert 0.0.9.*install the same"),
        (identity()._replace(bits="other"), "computes other bits than this process"),
    ],
)
def test_a_worker_that_is_not_as_this_process_is_refused(
    other: WorkerIdentity, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wengert.cluster.working.identity", lambda: other)
    engine, (_, loss) = Local(), model_and_loss()
    with pytest.raises(ClusterError, match=said):
        loss.train().run(Distributed(engine))
    assert engine.unanswered == 0


def test_other_bits_are_taken_where_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wengert.cluster.working.identity", lambda: identity()._replace(bits="other"))
    _, loss = model_and_loss()
    assert loss.predict().run(Distributed(_Lenient())) == loss.predict().run()


class _Lenient:
    same_bits = False

    def __init__(self) -> None:
        self.engine = Local()


@pytest.mark.parametrize("options", [{"patience": 0.0}, {"retries": -1}, {"cluster": 3}])
def test_wrong_arguments(options: dict[str, Any]) -> None:  # Any: what is refused
    given: dict[str, Any] = {"cluster": Local(), **options}  # Any: as above
    with pytest.raises(ArgumentError, match=r"Distributed: .*\n  at .*test_distributed"):
        Distributed(**given)


@pytest.mark.slow
def test_nothing_is_left_of_many_steps() -> None:
    gc.collect()  # engines of tests before
    engine = Local()
    before, executor, model = engine.held, Distributed(engine), Model("SGD")
    for step in range(300):
        wg.shards(model.loss, batch_of(step % 3), 2, seed=1).train().run(executor)
    assert engine.unanswered == 0 and engine.held - before == 3  # two structures, and the specs


def test_the_name_in_run_is_this_executor() -> None:
    executor = wg.run.Distributed(Local(workers=1), patience=3.0, retries=2)
    assert type(executor) is Distributed and executor.patience == 3.0
    assert trained(executor, STEPS, 2) == here(2, "Adam")
    with pytest.raises(
        ArgumentError, match=r"Distributed: expected a cluster of wengert\.cluster, or an engine, got 3"
    ):
        wg.run.Distributed(3)  # type: ignore[arg-type] # what is refused
