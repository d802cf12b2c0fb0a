"""A run is one transaction: weights are read once, nodes computed once, and weights change at the end or never."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
import pytest

import wengert as wg
from wengert import ArrayLayer, ArrayWeight, Do, DoubleLayer, DoubleWeight
from wengert.extend import Optimizer, Weight
from wengert.plugins import SGD, Adam, FailOnNonFinite, LearningRate, Plugin

from .counting import Boom, Counted

Loss = ArrayLayer[tuple[()], np.float64]
EXECUTORS: list[Callable[[], Any]] = [  # Any: each has its own class
    wg.run.Sequential,
    lambda: wg.run.Sequential(compiled=False),
    lambda: wg.run.Parallel(threads=2),
    wg.run.Batched,
]
everywhere = pytest.mark.parametrize(
    "executor", EXECUTORS, ids=["plans", "interpreter", "parallel", "batched"]
)


class Settings(Adam, LearningRate): ...


class Fails(Optimizer):
    def step(self, delta: float, weight: Weight) -> float:
        raise Boom


class Broken(Plugin):
    optimizer: ClassVar[type[Optimizer]] = Fails


class Breaking(Broken, LearningRate): ...


def array(settings: Any = None) -> ArrayWeight[Any, np.float64, Any]:  # Any: settings of any class
    return (settings or SGD(learning_rate=0.1)).array_weight(np.ones((2, 2)), name="w")


def double(at: float = 1.0) -> DoubleWeight:
    return SGD(learning_rate=0.1).double_weight(at)


def out_of_range(w: ArrayWeight[Any, np.float64, Any]) -> Loss:
    return wg.sum(wg.take(w, np.array([7])))


class TestNothingOrAll:
    @everywhere
    @pytest.mark.parametrize("question", ["predict", "train", "gradients", "value", "forward"])
    def test_what_fails_beside_a_training_leaves_nothing_of_it(
        self, executor: Callable[[], Any], question: str
    ) -> None:
        w = array()
        bad = out_of_range(w)
        others: dict[str, Do[Any]] = {
            "predict": bad.predict(),
            "train": bad.train(),
            "gradients": wg.gradients(bad, (w,)),
            "value": bad.as_do(),
            "forward": bad.forward,
        }
        other, training = others[question], wg.sum(wg.square(w)).train()
        runs: list[Do[Any]] = [
            wg.gather(training, other),
            wg.gather(other, training),
            wg.gather(Do.now(1), wg.gather(training.map(float)), other),
            training.flat_map(lambda _: other),
            training.shared().flat_map(lambda _: other),
        ]
        for run in runs:
            with pytest.raises(IndexError):
                run.run(executor())
            assert (w.data == 1.0).all()

    @everywhere
    def test_what_is_made_of_the_loss_belongs_to_the_run(self, executor: Callable[[], Any]) -> None:
        w = array()

        def fail(loss: object) -> None:
            raise Boom

        with pytest.raises(Boom):
            wg.sum(w).train().map(fail).run(executor())
        assert (w.data == 1.0).all()

    @everywhere
    def test_what_is_made_of_the_loss_of_a_plan(self, executor: Callable[[], Any]) -> None:
        w, chosen = double(), executor()
        calls: list[float] = []

        def told(loss: float) -> float:
            calls.append(loss)
            if len(calls) == 14:
                raise Boom
            return loss + 100.0

        training = wg.square(w).train().map(told).map(lambda loss: -loss)
        before = w.data
        for _ in range(13):
            before = w.data
            assert training.run(chosen) == -(before * before + 100.0)
            assert w.data != before
        before = w.data
        with pytest.raises(Boom):
            training.run(chosen)
        assert w.data == before
        assert len(calls) == 14
        training.run(chosen)
        assert w.data != before

    @everywhere
    def test_a_training_that_is_all_of_a_run_is_recovered_from_its_commit(
        self, executor: Callable[[], Any]
    ) -> None:
        bad = Breaking(learning_rate=0.1).double_weight(1.0)
        for _ in range(10):
            assert (bad * 2.0).train().nested().recover(lambda failure: Do.now(-1.0)).run(executor()) == -1.0
        assert bad.data == 1.0

    @everywhere
    def test_a_release_that_fails(self, executor: Callable[[], Any]) -> None:
        w = array()

        @contextmanager
        def opened() -> Generator[None]:
            yield
            raise Boom

        with pytest.raises(Boom):
            Do.resource(opened).flat_map(lambda _: wg.sum(w).train()).run(executor())
        assert (w.data == 1.0).all()

    @everywhere
    def test_a_training_that_was_recovered_leaves_nothing(self, executor: Callable[[], Any]) -> None:
        w, other = array(), array()
        broken = Counted(backward_failure=Boom)
        # the delta of `w` has arrived when the backward of what is made before it fails
        loss = wg.sum(broken.apply(other * 2.0)) + wg.sum(w)
        given = wg.gather(wg.sum(w).train(), loss.train().recover(lambda failure: Do.now(-1.0))).run(
            executor()
        )
        assert [float(x) for x in given] == [4.0, -1.0]
        assert (w.data == 0.9).all()
        assert (other.data == 1.0).all()

    @everywhere
    def test_a_refusal_can_be_recovered(self, executor: Callable[[], Any]) -> None:
        class Guarded(FailOnNonFinite, SGD): ...

        w, zero = double(), Guarded(learning_rate=0.1).double_weight(0.0)
        skipped = wg.sqrt(zero).train().recover(lambda failure: Do.now(-1.0))
        assert wg.gather((w * 2.0).train(), skipped).run(executor()) == (2.0, -1.0)
        assert (w.data, zero.data) == (0.8, 0.0)

    @everywhere
    def test_an_optimizer_that_fails_at_the_end(self, executor: Callable[[], Any]) -> None:
        w, bad = array(), Breaking(learning_rate=0.1).double_weight(1.0)
        with pytest.raises(Boom):
            wg.gather(wg.sum(w).train(), (bad * 2.0).train()).run(executor())
        assert (w.data == 1.0).all()
        assert bad.data == 1.0


class TestOnce:
    @everywhere
    @pytest.mark.parametrize("first", [True, False])
    def test_one_forward_for_all_parts_of_a_run(self, executor: Callable[[], Any], first: bool) -> None:
        w, counted = double(), Counted()
        h = counted.apply(w * 3.0)
        parts: list[Do[Any]] = [wg.square(h).train(), h.predict(), h.as_do(), wg.gradients(h, (w,))]
        given = wg.gather(*(parts if first else parts[::-1])).run(executor())
        assert given == ((9.0, 3.0, 3.0, (3.0,)) if first else ((3.0,), 3.0, 3.0, 9.0))
        assert len(counted.forward) == 1
        assert w.data == pytest.approx(1.0 - 0.1 * 18.0)

    @everywhere
    def test_before_the_update_whatever_the_notation(self, executor: Callable[[], Any]) -> None:
        w = double()
        h = w * 3.0

        async def program() -> tuple[float, float, float]:
            loss = await wg.square(h).train()
            return loss, await h.predict(), w.data

        assert Do.coroutine(program).run(executor()) == (9.0, 3.0, 1.0)
        before = w.data
        assert before == pytest.approx(1.0 - 0.1 * 18.0)
        later = wg.square(h).train().flat_map(lambda _: h.predict())
        assert later.run(executor()) == 3.0 * before
        assert w.data != before

    @everywhere
    def test_predictions_of_one_run_share_nodes_and_give_arrays_of_their_own(
        self, executor: Callable[[], Any]
    ) -> None:
        w, counted = array(), Counted()
        h = wg.add(counted.apply(w), 1.0)
        a, b, c = wg.gather(h.predict(), h.predict(), wg.sum(h).predict()).run(executor())
        assert len(counted.forward) == 1
        a[:] = 0.0
        assert (b == 2.0).all()
        assert float(c) == 8.0
        assert (w.data == 1.0).all()

    @everywhere
    def test_a_prediction_within_a_network_is_of_the_same_pass(self, executor: Callable[[], Any]) -> None:
        w, counted = double(), Counted()

        @wg.differentiable
        async def network(x: DoubleLayer) -> DoubleLayer:
            h = counted.apply(x)
            return h * (2.0 if await h.predict() > 0 else 3.0)

        assert network(w * 1.0).train().run(executor()) == 2.0
        assert len(counted.forward) == 1
        assert w.data == 0.8


class TestTrainingsOfOneRun:
    @everywhere
    def test_deltas_add_up_and_each_weight_takes_one_step(self, executor: Callable[[], Any]) -> None:
        both, apart = array(Settings(learning_rate=0.1)), array(Settings(learning_rate=0.1))
        first: Callable[[Any], Loss] = lambda w: wg.sum(wg.square(w))  # noqa: E731 # two formulas, beside each other
        second: Callable[[Any], Loss] = lambda w: wg.sum(wg.exp(w))  # noqa: E731 # as above
        for _ in range(3):
            wg.gather(first(both).train(), second(both).train()).run(executor())
            (first(apart) + second(apart)).train().run()
        np.testing.assert_allclose(both.data, apart.data, rtol=1e-12)

    @everywhere
    def test_a_training_within_a_training(self, executor: Callable[[], Any]) -> None:
        w, other = double(), double()

        @wg.differentiable
        async def network(x: DoubleLayer) -> DoubleLayer:
            await (other * 2.0).train()
            await (x * 5.0).train()
            return x * 3.0

        assert network(w * 1.0).train().run(executor()) == 3.0
        assert [w.data, other.data] == pytest.approx([1.0 - 0.1 * 8.0, 0.8])

    @everywhere
    def test_a_training_within_a_training_that_fails(self, executor: Callable[[], Any]) -> None:
        w, other = double(), double()

        @wg.differentiable
        async def network(x: DoubleLayer) -> DoubleLayer:
            await (other * 2.0).train()
            raise Boom

        with pytest.raises(Boom):
            network(w * 1.0).train().run(executor())
        assert (w.data, other.data) == (1.0, 1.0)

    @everywhere
    def test_a_training_within_a_prediction(self, executor: Callable[[], Any]) -> None:
        w, other = double(), double()

        @wg.differentiable
        async def network(x: DoubleLayer) -> DoubleLayer:
            await (other * 2.0).train()
            return x * 3.0

        assert network(w * 1.0).predict().run(executor()) == 3.0
        assert (w.data, other.data) == (1.0, 0.8)

    @everywhere
    def test_a_delta_by_hand_and_a_training_are_one_commit(self, executor: Callable[[], Any]) -> None:
        w = double()

        def sent(tape: wg.Tape[float, float]) -> Do[None]:
            return Do.delay(lambda: tape.backward(Do.now(1.0)).run())

        by_hand = (w * 4.0).forward.flat_map(sent)
        wg.gather(by_hand, (w * 2.0).train()).run(executor())
        assert w.data == pytest.approx(1.0 - 0.1 * 6.0)

    def test_in_a_run_of_many_steps_every_training_sees_the_weights_of_the_beginning(self) -> None:
        w = double()

        async def program() -> list[float]:
            return [await wg.square(w).train() for _ in range(4)]

        assert Do.coroutine(program).run() == [1.0] * 4
        assert w.data == pytest.approx(1.0 - 0.1 * 8.0)

    @pytest.mark.parametrize("order", [1, -1])
    def test_runs_that_predict_and_train_are_serial(self, order: int) -> None:
        w = SGD(learning_rate=0.001).double_weight(1.0)
        h = w * 3.0
        seen: list[tuple[float, float]] = []

        def work() -> None:
            for _ in range(25):
                loss, value = wg.gather(*[wg.square(h).train(), h.predict()][::order]).run()[::order]
                seen.append((loss, value))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        expected, at = [], 1.0
        for _ in range(100):
            expected.append(((at * 3.0) ** 2, at * 3.0))
            at -= 0.001 * (2.0 * (at * 3.0) * 3.0)
        np.testing.assert_allclose(sorted(seen, reverse=True), expected, rtol=1e-12)
        assert w.data == pytest.approx(at, rel=1e-12)


def test_predictions_of_a_gather_are_one_batch() -> None:
    w, executor = array(), wg.run.Batched()
    rows = [wg.lift(np.full(2, float(i), np.float64)) for i in range(8)]
    given = wg.gather(*(wg.tanh(row @ w).predict() for row in rows)).run(executor)
    assert executor.report.launches < 8
    for i, value in enumerate(given):
        np.testing.assert_allclose(value, np.tanh(np.full(2, 2.0 * i)), rtol=1e-12)
