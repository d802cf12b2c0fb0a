"""Plans give what the interpreter gives, and keep its promises (S2, S5, S6, S11)."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import pytest

import wengert as wg
from tests.optimizers import WithAdam, WithMomentum
from tests.run.counting import Boom, Counted
from tests.run.planned import eager, plain, same, trained
from wengert.extend import Optimizer, dense
from wengert.plugins import SGD, LearningRate, Plugin
from wengert.run import Sequential

F32 = np.float32


SETTINGS: dict[str, Any] = {  # Any: settings classes take different keywords
    "SGD": lambda: SGD(learning_rate=0.1),
    "Adam": lambda: WithAdam(learning_rate=0.01),
    "Momentum": lambda: WithMomentum(learning_rate=0.05),
}


def classifier(settings: Any) -> tuple[Sequence[Any], Any]:  # Any: settings, weights and losses
    chance = np.random.default_rng(0)
    w = settings.array_weight(chance.standard_normal((6, 8)).astype(F32))
    b = settings.array_weight(np.zeros(8, F32))
    v = settings.array_weight(chance.standard_normal((8, 4)).astype(F32))
    xs = chance.standard_normal((10, 5, 6)).astype(F32)
    labels = chance.integers(0, 4, (10, 5))

    def loss(i: int) -> Any:
        h = wg.relu(xs[i] @ w + b)
        return wg.cross_entropy(h @ v, labels[i]) + 0.1 * wg.mean(h * h) + wg.sum(wg.square(v)) * 0.001

    return (w, b, v), loss


def scalars(settings: Any) -> tuple[Sequence[Any], Any]:
    a, b, f = settings.double_weight(0.5), settings.double_weight(-1.5), settings.float_weight(0.25)
    return (a, b, f), lambda i: wg.exp(a) * b / (1.0 + a * a) + wg.tanh(b) * float(i)


def shared(settings: Any) -> tuple[Sequence[Any], Any]:
    w = settings.array_weight(np.linspace(-1, 1, 6).reshape(2, 3))
    table = settings.array_weight(np.ones((5, 3)))

    def loss(i: int) -> Any:
        rows = wg.take(table, [i % 5, 1, 1], axis=0)
        h = wg.matmul(w, wg.permute_dims(w, (1, 0)))
        return wg.sum(h @ w) + wg.sum(rows * w[0]) + wg.sum(wg.softmax(w) * wg.log_softmax(w))

    return (w, table), loss


NETWORKS: dict[str, Any] = {"classifier": classifier, "scalars": scalars, "shared": shared}


@pytest.mark.parametrize("optimizer", SETTINGS)
@pytest.mark.parametrize("name", NETWORKS)
def test_training_is_that_of_the_interpreter(name: str, optimizer: str) -> None:
    executor, plans = eager(worth=2)  # the states of optimizers begin with the first step
    network = lambda: NETWORKS[name](SETTINGS[optimizer]())  # noqa: E731 # both runs make their own
    same(trained(network, plain(), 8), trained(network, executor, 8))
    assert plans.made == 1


def test_a_kept_expression_and_one_built_anew_share_a_plan() -> None:
    executor, plans = eager()
    w = SGD(learning_rate=0.5).double_weight(1.0)
    kept = w * 3.0
    assert [kept.train().run(executor) for _ in range(3)] == [3.0, -1.5, -6.0]
    assert (w * 4.0).train().run(executor) == 4.0 * -3.5
    assert plans.made == 1


def test_a_plan_comes_after_some_runs() -> None:
    executor, plans = eager(worth=3)
    w = SGD(learning_rate=0.5).double_weight(1.0)
    made = []
    for _ in range(4):
        (w * 1.0).train().run(executor)
        made.append(plans.made)
    assert made == [0, 0, 1, 1]


def test_another_sharing_is_another_structure() -> None:
    executor, plans = eager()
    settings = SGD(learning_rate=0.0)
    a, b = settings.double_weight(2.0), settings.double_weight(5.0)
    assert (a * a).train().run(executor) == 4.0
    assert (a * b).train().run(executor) == 10.0
    assert (a * b).predict().run(executor) == 10.0
    assert (b * b).train().run(executor) == 25.0
    x = a + 1.0
    assert (x * x).train().run(executor) == 9.0
    assert ((a + 1.0) * (b + 1.0)).train().run(executor) == 18.0
    assert plans.made == 5


def test_literals_and_weights_are_no_part_of_a_plan() -> None:
    executor, plans = eager()
    settings = SGD(learning_rate=1.0)
    for i in range(4):
        w = settings.array_weight(np.full(3, float(i), np.float64))
        x = np.arange(3.0) + i
        assert wg.sum(w * x).train().run(executor) == (i * x).sum()
        assert w.data.tolist() == (np.full(3, float(i)) - x).tolist()
    assert plans.made == 1


def test_other_settings_are_not_those_of_the_plan() -> None:
    executor, plans = eager()
    every = [SGD(learning_rate=rate) for rate in (0.5, 0.25, 0.125)]
    for settings in every * 3:
        w = settings.double_weight(1.0)
        (w * 2.0).train().run(executor)
        assert w.data == 1.0 - 2.0 * settings.learning_rate
    assert plans.made == 3


def test_another_optimizer_is_not_that_of_the_plan() -> None:
    executor, _ = eager()
    for make in (SETTINGS["SGD"], SETTINGS["Momentum"], SETTINGS["SGD"]):
        ours, theirs = (make().double_weight(1.0) for _ in range(2))
        for _ in range(4):
            (ours * ours).train().run(executor)
            (theirs * theirs).train().run(plain())
        assert ours.data == theirs.data


class Keeping(Optimizer["Doubling"]):
    """Someone else's optimizer, which keeps what it was given."""

    seen: tuple[Any, ...] = ()

    def step(self, delta: Any, weight: Any) -> Any:
        self.seen = (*self.seen, dense(delta))
        return super().step(2.0 * self.seen[-1], weight)


class Doubling(Plugin):
    optimizer: ClassVar[type[Optimizer]] = Keeping


def test_the_optimizer_of_somebody_else_is_asked_in_each_run() -> None:
    class Settings(Doubling, LearningRate): ...

    executor, plans = eager()
    ours, theirs = (Settings(learning_rate=0.5).array_weight(np.ones((2, 2))) for _ in range(2))
    for i in range(1, 5):
        wg.sum(ours * ours * float(i)).train().run(executor)
        wg.sum(theirs * theirs * float(i)).train().run(plain())
    assert plans.made == 1
    kept = [w.optimizer.seen for w in (ours, theirs)]  # type: ignore[attr-defined] # of the class above
    same(*kept)
    assert len(kept[0]) == 4


def test_an_operation_of_somebody_else_is_called_once_a_run() -> None:
    executor, plans = eager()
    counted = Counted()
    w = SGD(learning_rate=0.1).array_weight(np.ones(3))
    for i in range(1, 5):
        wg.sum(counted.apply(w * 2.0)).train().run(executor)
        assert counted.calls == (i, i)
    assert plans.made == 1


def test_a_failure_in_the_middle_of_a_plan_changes_nothing_and_is_whole() -> None:
    executor, plans = eager()
    counted = Counted()
    settings = SGD(learning_rate=0.1)
    w, v = settings.array_weight(np.ones(3)), settings.array_weight(np.ones(3))

    def loss() -> Any:
        return wg.sum(counted.apply(w * 2.0) * v)

    loss().train().run(executor)
    before = w.data.copy(), v.data.copy()
    for where in ("forward_failure", "backward_failure"):
        setattr(counted, where, Boom)
        with pytest.raises(Boom) as failure:
            loss().train().run(executor)
        assert any(__file__ in note for note in failure.value.__notes__)
        assert (w.data == before[0]).all()
        assert (v.data == before[1]).all()
        setattr(counted, where, None)
    loss().train().run(executor)
    assert (w.data != before[0]).all()
    assert plans.made == 1


def test_what_a_plan_gives_stays_as_it_is() -> None:
    executor, _ = eager()
    w = SGD(learning_rate=1.0).array_weight(np.ones((2, 3)))
    x = wg.literal(np.ones((2, 3)))
    outputs = [((w + x) * 2.0).predict().run(executor) for _ in range(4)]
    views = [w.data for _ in range(2)]
    flat = wg.reshape(w, (3, 2)).predict()
    shapes = [flat.run(executor) for _ in range(3)]
    wg.sum((w + x) * 2.0).train().run(executor)
    wg.sum((w + x) * 2.0).train().run(executor)
    assert all((y == 4.0).all() for y in outputs)
    assert all((y == 1.0).all() for y in (*views, *shapes))
    assert (w.data == -3.0).all()


def test_a_reader_keeps_its_snapshot_while_a_plan_commits() -> None:
    executor, plans = eager()
    w = SGD(learning_rate=1.0).array_weight(np.ones(4))

    def train() -> None:
        wg.sum(w * 1.0).train().run(executor)

    for _ in range(3):
        train()
    inside, go_on = threading.Event(), threading.Event()

    @wg.differentiable
    async def waiting(x: wg.ArrayLayer[Any, np.float64]) -> wg.ArrayLayer[Any, np.float64]:
        inside.set()
        go_on.wait(10)
        return w * 1.0

    started = (w + waiting(w * 1.0)).predict().start()
    assert inside.wait(10)
    train()
    go_on.set()
    assert (started.result() == -4.0).all()
    assert (w.data == -3.0).all()
    assert plans.made == 1


def test_an_update_that_reads_another_weight_sees_the_old_one() -> None:
    def network() -> Any:
        settings = SGD(learning_rate=0.1)
        a = settings.array_weight(np.arange(6.0).reshape(2, 3))
        b = settings.array_weight(np.arange(12.0).reshape(3, 4) / 7)
        return (a, b), lambda i: wg.sum(wg.square(a @ b)) * 0.01

    executor, plans = eager()
    same(trained(network, plain()), trained(network, executor))
    assert plans.made == 1


def test_gradients_by_plan() -> None:
    executor, plans = eager()
    settings = SGD(learning_rate=1.0)
    w, v, unused = (settings.array_weight(np.full((2, 3), x, np.float64)) for x in (1.5, -2.0, 1.0))
    d = settings.double_weight(0.5)

    def asked(i: int, by: Sequential) -> Any:
        h = wg.tanh(w * v) * float(i)
        x = wg.matmul(h, wg.permute_dims(v, (1, 0)))
        loss = wg.sum(wg.square(x)) + wg.sum(w) + wg.sum(unused)
        return wg.gradients(loss, [h, w, v, x, w, unused]).run(by)

    for i in range(1, 5):
        theirs, ours = asked(i, plain()), asked(i, executor)
        same(theirs, ours)
        assert all(x.flags.writeable for x in ours)
        ours[1][:] = ours[4][:] = ours[5][:] = 7.0  # they are the user's own
    assert plans.made == 1
    assert [wg.gradients(d * 3.0, (d,)).run(executor) for _ in range(3)] == [(3.0,)] * 3
    assert [wg.gradients(d * 3.0, (w, d)).run(executor)[1] for _ in range(3)] == [3.0] * 3


def test_a_loss_that_is_a_weight_and_one_without_weights() -> None:
    executor, _ = eager()
    w = SGD(learning_rate=1.0).double_weight(2.0)
    assert [w.train().run(executor) for _ in range(3)] == [2.0, 1.0, 0.0]
    assert [(wg.lift(2.0) * 3.0).train().run(executor) for _ in range(3)] == [6.0] * 3


def test_a_first_step_makes_no_plan() -> None:
    executor, plans = eager()
    w = SETTINGS["Momentum"]().array_weight(np.ones(3))
    made = []
    for _ in range(4):
        wg.sum(w * 2.0).train().run(executor)
        made.append(plans.made)
    assert made == [0, 1, 1, 1]
    assert "= yield" in plans.sources()[0]


def test_buffers_are_shared_by_what_does_not_live_together() -> None:
    executor, plans = eager()
    x = wg.literal(np.ones((4, 4)))
    y = x * 2.0
    for _ in range(20):
        y = wg.tanh(y + x)
    wg.sum(y).predict().run(executor)
    (source,) = plans.sources()
    assert "(b0,) = frame" in source
