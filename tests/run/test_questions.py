"""D86 to D89: predict, train and gradients, and how their runs end."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import TimeoutError as FutureTimeout

import numpy as np
import pytest

import wengert as wg
from wengert import DoubleLayer, DoubleWeight
from wengert.errors import NotDifferentiableError, ShapeError
from wengert.plugins import SGD, LearningRate, Momentum

from .counting import Counted, state_of


def weight(data: float = 1.0, rate: float = 1.0) -> DoubleWeight:
    return SGD(learning_rate=rate).double_weight(data)


class TestQuestions:
    def test_d86_nothing_is_performed_until_run(self) -> None:
        counted = Counted()
        w = weight()
        layer = counted.apply(w)
        wg.predict(layer), wg.train(layer), wg.gradients(layer, (w,))
        assert counted.calls == (0, 0)

    def test_d86_train_gives_the_loss_before_the_update(self) -> None:
        w = weight()
        assert [(w * 1.0).train().run() for _ in range(3)] == [1.0, 0.0, -1.0]

    def test_d86_predict_and_gradients_change_no_weight(self) -> None:
        class Settings(Momentum, LearningRate): ...

        w = Settings(learning_rate=1.0).double_weight(2.0)
        before = state_of(w)
        assert wg.predict(w * w).run() == 4.0
        assert wg.gradients(w * w, (w,)).run() == (4.0,)
        assert state_of(w) == before

    def test_d86_gradients_by_position_of_nodes_and_of_what_the_loss_does_not_reach(self) -> None:
        w, other = weight(3.0), weight(5.0)
        h = w * 2.0
        assert wg.gradients(h * h, (w, h, other)).run() == (24.0, 12.0, 0.0)
        assert wg.gradients(h * h, [w, w]).run() == [24.0, 24.0]
        assert wg.gradients(h * h, wrt=[w]).run() == [24.0]

    def test_d86_gradients_of_a_layer_that_a_bind_gives(self) -> None:
        @wg.differentiable
        async def network(x: DoubleLayer) -> DoubleLayer:
            return x * 3.0 if await x > 0 else x

        w = weight(2.0)
        h = w * 1.0
        made = network(h)
        assert wg.gradients(made * made, (made, h, w)).run() == (12.0, 36.0, 36.0)

    def test_d86_gradients_of_a_layer_inside_a_tape_of_ones_own(self) -> None:
        w = weight(2.0)
        own = DoubleLayer((w * 3.0).forward.map(lambda tape: tape))
        assert wg.gradients(own * own, (own, w)).run() == (12.0, 36.0)

    @pytest.mark.parametrize("shape", [(2,), (1,), (2, 3)])
    def test_d87_an_array_loss_is_refused_at_the_call(self, shape: tuple[int, ...]) -> None:
        w = SGD(learning_rate=1.0).array_weight(np.ones(shape))
        for ask in (wg.train, lambda x: wg.gradients(x, (w,))):
            with pytest.raises(ShapeError, match=r"reduce it first"):
                ask(w * 2.0)

    def test_d87_a_product_and_a_mask_are_refused_at_the_call(self) -> None:
        w = weight()
        with pytest.raises(ShapeError):
            wg.train((w, w))  # type: ignore[call-overload] # refused by checkers as well, which is what is tested
        with pytest.raises(NotDifferentiableError):
            wg.train(wg.greater(w, 0.0))  # type: ignore[call-overload] # as above
        with pytest.raises(NotDifferentiableError):
            wg.train("loss")  # type: ignore[call-overload] # as above

    def test_d87_a_loss_whose_shape_only_the_run_tells(self) -> None:
        w = SGD(learning_rate=1.0).array_weight(np.ones(2))

        @wg.differentiable
        async def network(x: wg.ArrayLayer[tuple[()], np.float64]) -> wg.ArrayLayer[tuple[()], np.float64]:
            await x
            layer: wg.ArrayLayer[tuple[()], np.float64] = w * 2.0
            return layer

        loss = network(wg.sum(w))
        with pytest.raises(ShapeError):
            loss.train().run()
        assert w.data.tolist() == [1.0, 1.0]

    def test_d87_an_array_of_shape_nothing_is_a_loss(self) -> None:
        w = SGD(learning_rate=1.0).array_weight(np.array(3.0, np.float64))
        assert float(wg.train(w).run()) == 3.0
        assert float(w.data) == 2.0

    def test_d87_a_loss_without_weights(self) -> None:
        assert wg.train(2.0).run() == 2.0
        assert wg.lift(2.0).train().run() == 2.0

    def test_d88_a_timeout_gives_up_waiting_and_not_the_run(self) -> None:
        w, go = weight(), threading.Event()

        class Waiting(list[str]):
            def append(self, line: str) -> None:
                go.wait(10.0)

        future = Counted(log=Waiting()).apply(w).train().start()
        with pytest.raises(FutureTimeout):
            future.result(0.01)
        go.set()
        assert future.result(10.0) == 1.0
        assert w.data == 0.0

    def test_d88_await_leaves_the_event_loop_free(self) -> None:
        w, reached, go = weight(), threading.Event(), threading.Event()

        class Waiting(list[str]):
            def append(self, line: str) -> None:
                reached.set()
                assert go.wait(10.0), "the event loop was not free to open the gate"

        async def opener() -> None:
            while not reached.is_set():
                await asyncio.sleep(0.001)
            go.set()

        async def program() -> float:
            task = asyncio.create_task(opener())
            loss = await Counted(log=Waiting()).apply(w).train()
            await task
            return loss

        assert asyncio.run(program()) == 1.0
        assert w.data == 0.0

    def test_d89_run_inside_a_running_do_ends(self) -> None:
        w = weight()

        @wg.differentiable
        async def network(x: DoubleWeight) -> DoubleLayer:
            assert (x * 2.0).predict().run() == 2.0
            assert (x * 2.0).predict().start().result(10.0) == 2.0
            assert wg.gradients(x * 2.0, (x,)).run() == (2.0,)
            return x * 1.0

        assert network(w).train().run() == 1.0
        assert w.data == 0.0

    def test_d89_a_training_inside_a_training_ends(self) -> None:
        w, other = weight(), weight()

        @wg.differentiable
        async def network(x: DoubleWeight) -> DoubleLayer:
            (other * 2.0).train().run()
            (other * 2.0).train().start().result(10.0)
            return x * 1.0

        assert network(w).train().run() == 1.0
        assert (w.data, other.data) == (0.0, -3.0)

    def test_a_question_can_be_asked_again(self) -> None:
        w = weight()
        train = (w * 1.0).train()
        assert [train.run(), train.run(), train.start().result(10.0)] == [1.0, 0.0, -1.0]
