"""D1 to D7 and D86 to D89: tapes, backward by hand, and the questions that a run answers."""

from __future__ import annotations

import asyncio
import dataclasses
import threading
from concurrent.futures import TimeoutError as FutureTimeout

import numpy as np
import pytest

import wengert as wg
from wengert import Do, DoubleLayer, DoubleWeight, Tape, UnitContinuation, gather
from wengert.errors import NotDifferentiableError, ShapeError, TapeReleasedError
from wengert.plugins import SGD, LearningRate, Momentum

from .counting import Boom, Counted, state_of


def weight(data: float = 1.0, rate: float = 1.0) -> DoubleWeight:
    return SGD(learning_rate=rate).double_weight(data)


def by_hand(layer: wg.Differentiable[float, float], delta: Do[float], times: int = 1) -> Do[float]:
    """Send `delta` to a tape `times` times; the tape's data."""

    def send(tape: Tape[float, float]) -> Do[float]:
        sent = UnitContinuation.now(None)
        for _ in range(times):
            sent = sent.flat_map(lambda _: tape.backward(delta))
        return Do.delay(sent.run).map(lambda _: tape.data)

    return layer.forward.flat_map(send)


def noting(log: list[str], text: str) -> float:
    """1.0, with an entry in a log."""
    log.append(text)
    return 1.0


class TestTape:
    def test_d1_a_tape_is_frozen(self) -> None:
        tape = Tape(1.0, lambda delta: UnitContinuation.now(None))
        with pytest.raises(dataclasses.FrozenInstanceError):
            tape.data = 2.0  # type: ignore[misc] # refused by checkers as well, which is what is tested

    def test_d2_backward_performs_nothing_until_its_continuation_runs(self) -> None:
        w = weight()
        asked: list[str] = []

        def only_ask(tape: Tape[float, float]) -> Do[None]:
            tape.backward(Do.delay(lambda: noting(asked, "delta")))
            return Do.now(None)

        w.forward.flat_map(only_ask).run()
        assert asked == []
        assert w.data == 1.0

    def test_d2_the_delta_stays_a_do_until_the_accumulator_runs_it(self) -> None:
        w = weight()
        order: list[str] = []

        def send(tape: Tape[float, float]) -> Do[None]:
            tape.backward(Do.delay(lambda: noting(order, "delta"))).run()
            order.append("sent")
            return Do.now(None)

        (w * 2.0).forward.flat_map(send).run()
        assert order == ["sent", "delta"]
        assert w.data == -1.0

    @pytest.mark.parametrize("layer", [wg.lift(2.0), wg.lift(2.0) * 3.0, wg.lift(wg.lift(2.0) + 1.0)])
    def test_d3_a_delta_that_nobody_needs_never_runs(self, layer: DoubleLayer) -> None:
        by_hand(layer, Do.fail(Boom("never"))).run()

    def test_d3_stop_gradient_needs_none(self) -> None:
        by_hand(wg.stop_gradient(weight()), Do.fail(Boom("never"))).run()

    def test_d4_a_released_tape_refuses_at_the_call(self) -> None:
        w = weight()
        tape = (w * 2.0).forward.run()
        assert tape.data == 2.0
        with pytest.raises(TapeReleasedError, match=r"multiply.*test_tapes.py:\d+.*has ended"):
            tape.backward(Do.now(1.0))
        assert w.data == 1.0

    def test_d4_a_nested_tape_too(self) -> None:
        question = (
            (weight() * 2.0)
            .forward.nested()
            .flat_map(lambda tape: Do.delay(lambda: tape.backward(Do.now(1.0))))
        )
        with pytest.raises(TapeReleasedError):
            question.run()

    def test_d4_within_a_nested_part_it_works(self) -> None:
        w = weight()
        assert by_hand(w * 2.0, Do.now(3.0)).nested().run() == 2.0
        assert w.data == -5.0

    def test_d4_what_was_opened_for_an_attempt_that_failed_is_there_for_others(self) -> None:
        w = weight(3.0)
        shared = DoubleLayer((w * 2.0).forward.map(lambda tape: Tape(tape.data, tape.backward)))
        attempt = shared.forward.flat_map(lambda _: Do.fail(Boom()))
        recovered = DoubleLayer(attempt.recover(lambda _: (w * 3.0).forward))
        later = DoubleLayer(Do.now(None).flat_map(lambda _: shared.forward))
        assert (recovered + later).train().run() == 15.0
        assert w.data == 3.0 - 5.0

    def test_d5_the_sum_of_deltas_runs_once(self) -> None:
        counted = Counted()
        w = weight()
        by_hand(counted.apply(w), Do.now(2.0), times=3).run()
        assert counted.backward == [6.0]
        assert w.data == -5.0

    def test_d5_two_tapes_of_one_node(self) -> None:
        counted = Counted()
        w = weight()
        h = counted.apply(w)
        question = gather(by_hand(h, Do.now(1.0)), by_hand(h * 3.0, Do.now(1.0)))
        assert question.run() == (1.0, 3.0)
        assert counted.calls == (1, 1)
        assert counted.backward == [4.0]
        assert w.data == -3.0

    def test_d6_backward_by_hand_is_a_training_of_one_commit(self) -> None:
        class Settings(Momentum, LearningRate): ...

        mine, usual = (Settings(learning_rate=0.1).double_weight(1.0) for _ in range(2))
        for _ in range(3):
            gather(by_hand(mine * 2.0, Do.now(1.0)), by_hand(mine * mine, Do.now(1.0))).run()
            (usual * 2.0 + usual * usual).train().run()
        assert mine.data == pytest.approx(usual.data, rel=1e-15)

    def test_d6_a_delta_that_reads_the_network(self) -> None:
        w = weight(3.0, 0.1)
        by_hand(w * w, (w * 2.0).forward.map(lambda tape: tape.data)).run()
        assert w.data == pytest.approx(3.0 - 0.1 * 6.0 * 6.0)

    def test_d6_by_hand_through_a_bind(self) -> None:
        @wg.differentiable
        async def network(x: DoubleWeight) -> DoubleLayer:
            return x * 3.0 if await x > 0 else -x

        w = weight()
        by_hand(network(w), Do.now(2.0)).run()
        assert w.data == -5.0

    def test_d6_within_a_bind_the_updates_are_in_the_commit_of_its_training(self) -> None:
        w = weight()

        @wg.differentiable
        async def network(x: DoubleWeight) -> DoubleLayer:
            await by_hand(x * 10.0, Do.now(1.0))
            assert x.data == 1.0
            return x * 2.0

        network(w).train().run()
        assert w.data == 1.0 - 12.0

    def test_d6_two_binds_by_hand(self) -> None:
        counted = Counted()

        @wg.differentiable
        async def network(x: DoubleLayer) -> DoubleLayer:
            return x * 3.0 if await x > 0 else -x

        w = weight()
        h = counted.apply(w)
        question = gather(by_hand(network(h), Do.now(1.0)), by_hand(network(network(h)), Do.now(1.0)))
        assert question.run() == (3.0, 9.0)
        assert counted.backward == [12.0]
        assert w.data == -11.0

    def test_d6_by_hand_through_a_tape_of_ones_own(self) -> None:
        w = weight()

        def doubling(tape: Tape[float, float]) -> Tape[float, float]:
            return Tape(tape.data, lambda delta: tape.backward(delta.map(lambda d: d * 2.0)))

        own = DoubleLayer((w * 3.0).forward.map(doubling))
        by_hand(own * own, Do.now(1.0)).run()
        assert w.data == 1.0 - 2.0 * 3.0 * 2.0 * 3.0

    def test_d7_literals_weights_and_layers_have_a_forward(self) -> None:
        w = weight(2.0)
        assert wg.lift(2.0).forward.run().data == w.forward.run().data == (w * 1.0).forward.run().data == 2.0
        array = SGD(learning_rate=1.0).array_weight(np.full((), 2.0, np.float64))
        assert array.forward.map(lambda tape: np.asarray(tape.data).item()).run() == 2.0


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
        assert wg.gradients(h * h, [w, w]).run() == (24.0, 24.0)

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
