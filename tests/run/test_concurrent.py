"""S10 and D90: concurrent runs over shared weights equal some serial order."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import wengert as wg
from wengert import Do, Tape
from wengert.plugins import SGD, LearningRate, Momentum

from .counting import Counted


def at_once(*works: Callable[[], None]) -> None:
    """All on threads of their own; a failure in one arrives here."""
    with ThreadPoolExecutor(len(works)) as pool:
        for future in [pool.submit(work) for work in works]:
            future.result(60.0)


def repeat(question: Do[object], times: int) -> None:
    """Run it many times."""
    for _ in range(times):
        question.run()


class TestS10:
    """Two trainings over shared weights lose no update; a prediction never sees half an update."""

    def test_no_lost_update(self) -> None:
        w = SGD(learning_rate=1.0).double_weight(0.0)
        a = SGD(learning_rate=1.0).array_weight(np.zeros((8, 8)))
        train = (w * 1.0 + wg.sum(a)).train()

        def work() -> None:
            for _ in range(200):
                train.run()

        at_once(work, work)
        assert w.data == -400.0
        assert (a.data == -400.0).all()

    def test_trainings_that_depend_on_the_value_are_serial(self) -> None:
        """w -> w / 2 in each of 40 runs: any other order of reading and writing ends elsewhere."""
        w = SGD(learning_rate=0.25).array_weight(np.full((3,), 2.0**60, np.float64))
        train = wg.sum(w * w).train()
        at_once(*[lambda: repeat(train, 10)] * 4)
        assert w.data.tolist() == [2.0**20] * 3

    def test_optimizer_state_is_serial_too(self) -> None:
        class Settings(Momentum, LearningRate): ...

        threaded, serial = (
            Settings(learning_rate=2.0**-10, momentum=0.5).double_weight(0.0) for _ in range(2)
        )
        train = (threaded * 1.0).train()
        at_once(*[lambda: repeat(train, 50)] * 4)
        for _ in range(200):
            (serial * 1.0).train().run()
        assert threaded.data == serial.data

    def test_a_prediction_sees_one_version_of_all_weights(self) -> None:
        settings = SGD(learning_rate=1.0)
        a, b = (settings.array_weight(np.zeros((64, 64))) for _ in range(2))
        c = settings.double_weight(0.0)
        train = (wg.sum(a) + wg.sum(b) + c).train()
        spread = wg.predict((wg.max(a), wg.min(a), wg.max(b), wg.min(b), c))
        done = threading.Event()
        seen: set[float] = set()

        def training() -> None:
            for _ in range(200):
                train.run()
            done.set()

        def predicting() -> None:
            while not done.is_set():
                values = {np.asarray(x).item() for x in spread.run()}
                assert len(values) == 1, "half an update"
                seen.update(values)

        at_once(training, predicting, predicting)
        assert c.data == -200.0
        assert seen <= {-float(i) for i in range(201)}

    def test_a_prediction_in_progress_keeps_the_version_it_began_with(self) -> None:
        settings = SGD(learning_rate=1.0)
        a, b = (settings.array_weight(np.zeros(2)) for _ in range(2))
        train = (wg.sum(a) + wg.sum(b)).train()

        @wg.differentiable
        async def network() -> wg.ArrayLayer[tuple[int, ...], np.float64]:
            first = await (a * 1.0)
            train.start().result(10.0)
            train.start().result(10.0)
            assert first.tolist() == [0.0, 0.0]
            made: wg.ArrayLayer[tuple[int, ...], np.float64] = wg.lift(first) + b
            return made

        assert network().predict().run().tolist() == [0.0, 0.0]
        assert a.data.tolist() == b.data.tolist() == [-2.0, -2.0]
        assert b.predict().run().tolist() == [-2.0, -2.0]

    def test_d21_a_weight_is_read_once_a_run(self) -> None:
        w = SGD(learning_rate=1.0).double_weight(1.0)

        @wg.differentiable
        async def network() -> wg.DoubleLayer:
            before = await w
            (w * 1.0).train().run()
            assert w.data == before - 1.0
            return w * 10.0 + before

        assert network().predict().run() == 11.0
        assert w.data == 0.0

    def test_data_is_never_half_an_update(self) -> None:
        w = SGD(learning_rate=1.0).array_weight(np.zeros((128, 128)))
        train = wg.sum(w).train()
        done = threading.Event()

        def training() -> None:
            for _ in range(200):
                train.run()
            done.set()

        def looking() -> None:
            while not done.is_set():
                shown = w.data
                first = shown.copy()
                assert (first == first[0, 0]).all(), "half an update"
                assert (shown == first).all(), "what was shown has changed"

        at_once(training, looking)

    def test_weights_of_different_networks_train_at_once(self) -> None:
        meeting = threading.Barrier(2)
        results: list[float] = []

        def work() -> None:
            w = SGD(learning_rate=1.0).double_weight(1.0)
            for _ in range(100):
                (w * 1.0).train().run()
            results.append(w.data)
            meeting.wait(10.0)

        at_once(work, work)
        assert results == [-99.0, -99.0]

    def test_a_prediction_does_not_wait_for_a_training(self) -> None:
        reached, go = threading.Event(), threading.Event()

        class Waiting(list[str]):
            def append(self, line: str) -> None:
                reached.set()
                assert go.wait(10.0)

        w = SGD(learning_rate=1.0).double_weight(1.0)
        future = Counted(log=Waiting()).apply(w).train().start()
        assert reached.wait(10.0)
        assert (w * 2.0).predict().run() == 2.0
        go.set()
        assert future.result(10.0) == 1.0
        assert (w * 2.0).predict().run() == 0.0


class TestByHand:
    """A `backward` by hand is a training (D6), so that it is serial too."""

    def test_no_lost_update_and_no_lost_state(self) -> None:
        class Settings(Momentum, LearningRate): ...

        threaded, serial = (
            Settings(learning_rate=2.0**-10, momentum=0.5).double_weight(0.0) for _ in range(2)
        )

        def send(tape: Tape[float, float]) -> Do[None]:
            return Do.delay(lambda: tape.backward(Do.now(1.0)).run())

        question = threaded.forward.flat_map(send)
        at_once(*[lambda: repeat(question, 50)] * 4)
        for _ in range(200):
            (serial * 1.0).train().run()
        assert threaded.data == serial.data

    @pytest.mark.parametrize("rounds", [3])
    def test_two_in_progress_at_once_equal_a_serial_order(self, rounds: int) -> None:
        """Each halves w; both have been begun before either ends, if the library lets them."""
        w = SGD(learning_rate=0.25).double_weight(1.0)
        meeting = threading.Barrier(2)

        def send(tape: Tape[float, float]) -> Do[None]:
            def both_are_here() -> None:
                try:
                    meeting.wait(0.2)
                except threading.BrokenBarrierError:
                    meeting.reset()
                tape.backward(Do.now(1.0)).run()

            return Do.delay(both_are_here)

        question = (w * w).forward.flat_map(send)
        for _ in range(rounds):
            at_once(question.run, question.run)
        assert w.data == 0.25**rounds
