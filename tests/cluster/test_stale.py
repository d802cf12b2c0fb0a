"""`Distributed(stale=n)`: the bound on age, each shard once, and the same bits from the order of commits."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import Future
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from tests.cluster.models import Model, batch_of
from tests.cluster.test_fit import Network
from tests.often import examples
from tests.optimizers import WithAdam
from wengert.cluster import Distributed, Fault, Local
from wengert.cluster.distributed import Flights
from wengert.cluster.part import digest_of
from wengert.control import Run
from wengert.control.running import execute
from wengert.errors import ArgumentError, NodeLostError
from wengert.plugins import SGD
from wengert.run import Sequential
from wengert.saving import load
from wengert.training import History

STEPS = 4
Order = tuple[tuple[tuple[int, int], ...], ...]


def trained(executor: Distributed, shards: int, steps: int = STEPS, optimizer: str = "Adam") -> str:
    """Digest of losses, weights and states of optimizers, with nothing left on its way."""
    model = Model(optimizer)
    losses = [wg.shards(model.loss, batch_of(k), shards, seed=k).train().run(executor) for k in range(steps)]
    executor.drain()
    return digest_of([model.table, model.w, model.u, model.seen]) + repr([*map(float, losses)])


def check(order: Order, stale: int, steps: int, shards: int) -> None:
    """No shard is older than allowed when it is committed, and each is committed once."""
    taken = [x for commit in order for x in commit]
    assert all(0 <= now - version <= stale for now, commit in enumerate(order) for version, _ in commit)
    assert sorted(taken) == [(version, i) for version in range(steps) for i in range(shards)]
    assert len(order) in (steps, steps + 1) and all(order)


def check_all(orders: Iterable[Order], stale: int) -> None:
    for order in orders:
        check(order, stale, steps=4, shards=2)


@examples(60)
@given(
    stale=st.integers(1, 4),
    shards=st.integers(1, 6),
    workers=st.integers(1, 4),
    optimizer=st.sampled_from(["SGD", "Adam", "Momentum"]),
    faults=st.dictionaries(st.integers(0, 40), st.sampled_from(list(Fault)), max_size=3),
)
def test_the_order_of_commits_is_the_training_whatever_happens(
    stale: int, shards: int, workers: int, optimizer: str, faults: dict[int, Fault]
) -> None:
    engine = Local(workers, lambda message: faults.get(message.number), delay=7.0)
    executor = Distributed(engine, stale=stale)
    found = trained(executor, shards, optimizer=optimizer)
    order = executor.commits
    check(order, stale, STEPS, shards)
    assert engine.unanswered == 0
    written = json.loads(json.dumps(order))
    again = Distributed(Local(1), stale=stale, order=written)
    assert trained(again, shards, optimizer=optimizer) == found and again.commits == order


class Dense:
    """A network without tables, whose steps by hand are those of a training."""

    def __init__(self) -> None:
        settings, chance = WithAdam(learning_rate=0.05), np.random.default_rng(0)
        self.w = settings.array_weight(chance.standard_normal((8, 8)).astype(np.float32), name="w")
        self.u = settings.array_weight(chance.standard_normal((8, 4)).astype(np.float32), name="u")

    def loss(self, batch: Any, seed: object) -> Any:  # Any: rows and labels, a scalar expression
        rows, labels = batch
        return wg.cross_entropy(wg.tanh(wg.lift(rows) @ self.w) @ self.u, labels)

    def left(self) -> str:
        return digest_of([self.w, self.u])


def rows_of(step: int) -> Any:  # Any: as above
    chance = np.random.default_rng(step)
    return chance.standard_normal((6, 8)).astype(np.float32), chance.integers(0, 4, 6)


def by_hand(order: Order, steps: int, shards: int) -> str:
    """The definition: gradients of shards when their step begins, added from the last to the first of a commit."""
    model, size = Dense(), 6 // shards
    weights, waiting = (model.w, model.u), dict[tuple[int, int], tuple[Any, ...]]()
    for now, commit in enumerate(order):
        rows, labels = rows_of(now)
        for i in range(shards if now < steps else 0):
            part = slice(i * size, (i + 1) * size)
            loss = model.loss((rows[part], labels[part]), None) * (size / 6)
            waiting[now, i] = wg.gradients(loss, weights).run()
        sums = [x.copy() for x in waiting[commit[-1]]]
        for x in reversed(commit[:-1]):
            for whole, one in zip(sums, waiting[x], strict=True):
                whole += one
        wg.apply(dict(zip(weights, sums, strict=True))).run()
    return model.left()


class Chosen(Local):
    """An engine that carries out the message which a script says, of those on their way."""

    def __init__(self, workers: int, script: Sequence[int]) -> None:
        super().__init__(workers)
        self.script, self.choices = script, list[int]()

    def wait(
        self, futures: Collection[Future[Any]], timeout: float
    ) -> set[Future[Any]]:  # Any: as in `Local`
        waiting = [x for x in sorted(self._queue) if x[3].future in futures]
        at = self.script[len(self.choices)] if len(self.choices) < len(self.script) else 0
        self.choices.append(len(waiting))
        self._queue.remove(waiting[at])
        self._carry_out(waiting[at][3])
        return {waiting[at][3].future}


def scripts(workers: int, stale: int, steps: int, shards: int) -> Iterator[tuple[Distributed, str]]:
    """A training for each order in which its messages can be answered, and what it leaves."""
    script: list[int] = []
    while True:
        engine, model = Chosen(workers, script), Dense()
        executor = Distributed(engine, stale=stale)
        for k in range(steps):
            wg.shards(model.loss, rows_of(k), shards).train().run(executor)
        executor.drain()
        yield executor, model.left()
        script = [*script, *[0] * (len(engine.choices) - len(script))]
        while script and script[-1] + 1 == engine.choices[len(script) - 1]:
            script.pop()
        if not script:
            return
        script[-1] += 1


@pytest.mark.parametrize(
    ("workers", "stale"), [(1, 1), (1, 2), (2, 1), pytest.param(3, 2, marks=pytest.mark.slow)]
)
def test_every_order_of_answers_keeps_the_bound_and_is_the_definition(workers: int, stale: int) -> None:
    found: dict[Order, str] = {}
    count = 0
    for executor, left in scripts(workers, stale, steps=3, shards=2):
        order, count = executor.commits, count + 1
        check(order, stale, steps=3, shards=2)
        assert found.setdefault(order, left) == left, "one order, other bits"
    assert count > 2 * len(found) > 6
    assert all(by_hand(order, 3, 2) == left for order, left in found.items())
    assert len({*found.values()}) > 1
    oldest = max(
        now - version for order in found for now, commit in enumerate(order) for version, _ in commit
    )
    assert oldest == stale, "the bound is reached, and so it is checked"


@pytest.mark.parametrize("mistake", ["stale=2", "no bound", "twice"])
def test_a_mistake_would_be_seen(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if mistake == "twice":
        take = Flights.take

        def again(self: Any, now: int, own: Any) -> Any:  # Any: as in `take`
            before = [*self.sent]
            found = take(self, now, own)
            self.sent = before if now == 1 else self.sent
            return found

        monkeypatch.setattr(Flights, "take", again)
    else:
        monkeypatch.setattr(Flights, "enough", lambda self, now, workers: not all(x.open for x in self.sent))
    orders = (executor.commits for executor, _ in islice(scripts(3, 2, steps=4, shards=2), 200))
    with pytest.raises(AssertionError):  # by one of the first orders
        check_all(orders, 1 if mistake == "stale=2" else 2)


def test_without_staleness_a_step_is_that_of_one_process() -> None:
    here, there = Dense(), Dense()
    for k in range(3):
        wg.shards(here.loss, rows_of(k), 3).train().run()
        executor = Distributed(Local(), stale=0)
        wg.shards(there.loss, rows_of(k), 3).train().run(executor)
    assert here.left() == there.left() and executor.commits == ()


def step(model: Dense, executor: Distributed, k: int, settle: Callable[[object], object] = repr) -> None:
    run = Run(executor)
    run.on_settle(settle)
    execute(wg.shards(model.loss, rows_of(k), 2).train(), run)


def refusing(value: object) -> None:
    raise LookupError(f"refused: {value}")


def checked(model: Dense, batch: Any, seed: object) -> Any:  # Any: as above
    """The loss, which fails in the run for a negative label."""
    rows, labels = batch

    @wg.differentiable
    async def either(x: wg.ArrayLayer[tuple[()]]) -> wg.ArrayLayer[tuple[()]]:
        if await x >= 0.0 and labels[0] < 0:
            raise LookupError("below 0")
        return x

    return either(model.loss((rows, np.abs(labels)), seed))


@pytest.mark.parametrize("when", ["in a shard", "before the commit", "in a late shard"])
def test_a_step_that_fails_loses_its_own_shards_and_no_other(when: str) -> None:
    engine, model = Local(1), Dense()
    executor = Distributed(engine, stale=3)

    def fail() -> None:
        if when == "before the commit":
            step(model, executor, 1, refusing)
        rows, _ = rows_of(1)
        labels = np.array([-1, 1] if when == "in a shard" else [1, -1])
        loss = wg.shards(partial(checked, model), (rows[:2], labels), 2)
        loss.train().run(executor)
        step(model, executor, 1)  # to which the first shard of that loss comes late

    step(model, executor, 0)
    before = model.left()
    with pytest.raises(LookupError, match=r"below 0|refused") as failure:
        fail()
    late = when == "in a late shard"
    notes = getattr(failure.value, "__notes__", [])
    assert ("on weights that are 1 steps old" in notes) is late
    assert ("in shard 1 of 2" in notes) is late and ("in shard 0 of 2" in notes) is (when == "in a shard")
    assert (model.left() == before) is not late
    executor.drain()
    taken = [x for commit in executor.commits for x in commit]
    assert taken == [(0, 0), (0, 1), *[(1, 0)] * late] and engine.unanswered == 0
    assert late or by_hand(executor.commits, 1, 2) == model.left()
    step(model, executor, 2)
    executor.drain()
    assert len(executor.commits) >= 4 and engine.unanswered == 0


def test_another_loss_waits_until_nothing_is_on_its_way() -> None:
    executor, model, w = Distributed(Local(1), stale=2), Dense(), SGD(learning_rate=0.1).double_weight(1.0)
    step(model, executor, 0)
    other = wg.shards(lambda part, seed: w * float(part[0]), [1.0, 2.0], 2)
    with pytest.raises(ArgumentError, match=r"and this one is double .*call drain\(\) before"):
        other.train().run(executor)
    executor.drain()
    assert other.train().run(executor) == 1.0


def test_what_trains_nothing_has_all_its_own_shards() -> None:
    executor, model = Distributed(Local(1), stale=3), Dense()
    step(model, executor, 0)
    loss = wg.shards(model.loss, rows_of(1), 3)
    assert float(loss.predict().run(executor)) == float(loss.predict().run())
    pairs = [wg.gradients(loss, (model.w, model.u)).run(by) for by in (executor, Sequential())]
    assert all(np.array_equal(a, b) for a, b in zip(*pairs, strict=True))
    executor.drain()
    assert executor.commits == (((0, 0),), ((0, 1),))


def test_workers_may_be_lost_and_the_training_goes_on_with_what_was_on_its_way() -> None:
    engine, model = Local(1, replaced=False), Dense()
    executor = Distributed(engine, stale=2, patience=5.0)
    step(model, executor, 0)
    engine.kill(engine.join())
    engine.kill("worker-0")
    with pytest.raises(NodeLostError, match="no worker is left"):
        step(model, executor, 1)
    engine.join()
    step(model, executor, 1)
    executor.drain()
    check(executor.commits, 2, 2, 2)
    assert by_hand(executor.commits, 2, 2) == model.left()


@pytest.mark.parametrize("options", [{"stale": -1}, {"order": ()}])
def test_wrong_options(options: dict[str, Any]) -> None:  # Any: what is refused
    with pytest.raises(ArgumentError, match=r"stale are 0 or more, and order= is for a stale of 1 or more"):
        Distributed(Local(), **options)


def test_an_order_of_another_training_is_refused_and_changes_nothing() -> None:
    model, orders = Dense(), [(), (((0, 2),),), (((0, 0),), ((0, 0),))]
    for order in orders:
        executor, before = Distributed(Local(), stale=1, order=order), model.left()
        if len(order) == 2:
            step(model, executor, 0)
        with pytest.raises(ArgumentError, match=rf"order= has {len(order)} .*it is of another training"):
            step(model, executor, 1)
        assert (model.left() == before) is (len(order) < 2)


def test_two_shards_in_one_training_are_refused() -> None:
    model, executor = Dense(), Distributed(Local(), stale=1)
    loss = wg.shards(model.loss, rows_of(0), 2) + wg.shards(model.loss, rows_of(1), 2)
    with pytest.raises(ArgumentError, match="with stale= a training has one `shards`"):
        loss.train().run(executor)
    assert model.left() == Dense().left()
    executor.drain()
    assert executor.commits == () and model.left() == Dense().left()


def test_fit_says_that_it_was_stale_and_measures_and_keeps_whole_steps(tmp_path: Path) -> None:
    def fitted(executor: Distributed, **options: Any) -> tuple[History, list[bytes]]:  # Any: of `fit`
        network = Network()
        path = tmp_path / f"{len([*tmp_path.iterdir()])}.safetensors"
        found = network.fit(executor=executor, weights=network.layers, checkpoint=path, every=3, **options)
        kept = Network()
        load(path, kept.layers)
        assert kept.bits() == network.bits()
        return found, network.bits()

    engine = Local(2, lambda message: Fault.DELAYED if message.number % 5 == 1 else None, delay=3.0)
    executor = Distributed(engine, stale=2)
    found, bits = fitted(executor)
    assert found.stale == 2 and repr(found).startswith("<History of 8 steps, at most 2 stale; epoch")
    assert any(version < now for now, commit in enumerate(executor.commits) for version, _ in commit)
    assert fitted(Distributed(Local(1), stale=2, order=executor.commits)) == (found, bits)
    assert engine.unanswered == 0 and "stale" not in repr(Network().fit())
