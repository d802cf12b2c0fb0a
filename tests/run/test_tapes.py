"""D1 to D7: tapes, and backward by hand."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import wengert as wg
from wengert import Do, DoubleLayer, DoubleWeight, Tape, UnitContinuation, gather
from wengert.errors import TapeReleasedError
from wengert.plugins import SGD, LearningRate, Momentum

from .counting import Boom, Counted


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
        asked: list[str] = []
        by_hand(layer, Do.delay(lambda: noting(asked, "delta"))).run()
        assert asked == []

    def test_d3_stop_gradient_needs_none(self) -> None:
        asked: list[str] = []
        by_hand(wg.stop_gradient(weight()), Do.delay(lambda: noting(asked, "delta"))).run()
        assert asked == []

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
