"""S1 to S5: nothing before the run, each node once, in order, only where a weight is, one update a weight."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import wengert as wg
from wengert import Do, DoubleLayer, DoubleWeight, gather
from wengert.extend import Optimizer, Weight, broadcasting
from wengert.plugins import SGD, LearningRate, Momentum

from .counting import Boom, Counted, failing, registry_kept


def weight(data: float = 1.0, rate: float = 1.0) -> DoubleWeight:
    return SGD(learning_rate=rate).double_weight(data)


class TestS1Lazy:
    """Building an expression or a `Do` performs nothing."""

    def test_building_computes_nothing(self) -> None:
        counted = Counted()
        w = weight()
        loss = counted.apply(counted.apply(w) * 2.0)
        for question in (loss.predict(), loss.train(), wg.gradients(loss, (w,)), loss.forward, loss.as_do()):
            question.map(lambda x: x).flat_map(Do.now).shared().nested()
        gather(loss, loss.predict())
        assert counted.calls == (0, 0)
        assert w.data == 1.0

    def test_building_a_failure_does_not_fail(self) -> None:
        loss = failing()(weight()) / 0.0
        question = loss.train()
        with pytest.raises(Boom):
            question.run()

    def test_a_differentiable_function_is_called_by_the_run_and_by_each_anew(self) -> None:
        calls: list[float] = []

        @wg.differentiable
        async def network(x: DoubleWeight) -> DoubleLayer:
            calls.append(np.random.default_rng(7).random())
            return x * 2.0

        layer = network(weight())
        question = layer.predict()
        assert calls == []
        assert question.run() == question.run() == 2.0
        assert len(calls) == 2

    def test_the_forward_of_a_users_value_is_asked_by_the_run(self) -> None:
        calls: list[str] = []

        class Own:
            @property
            def forward(self) -> Do[wg.Tape[float, float]]:
                calls.append("forward")
                return wg.lift(3.0).forward

        layer = wg.add(Own(), 1.0)
        assert calls == []
        assert layer.predict().run() == 4.0
        assert calls == ["forward"]


class TestS2Once:
    """Each shared node is computed once and receives its whole delta once, whatever the fan-out."""

    def test_nested_diamonds_of_depth_1000_cost_one_call_a_node(self) -> None:
        counted = Counted()
        w = weight()
        x: DoubleLayer = counted.apply(w)
        for _ in range(1000):
            x = counted.apply(x * 0.5 + x * 0.5)
        assert x.train().run() == 1.0
        assert counted.calls == (1001, 1001)
        assert counted.backward == [1.0] * 1001, "a delta arrives whole, not in parts"
        assert w.data == 0.0

    def test_a_node_used_1000_times_gets_one_delta(self) -> None:
        counted = Counted()
        h = counted.apply(weight())
        total: DoubleLayer = h * 1.0
        for _ in range(999):
            total = total + h
        assert total.train().run() == 1000.0
        assert counted.calls == (1, 1)
        assert counted.backward == [1000.0]

    def test_both_operands_of_one_operation(self) -> None:
        counted = Counted()
        w = weight(3.0, 0.1)
        h = counted.apply(w)
        assert (h * h).train().run() == 9.0
        assert counted.backward == [6.0]
        assert w.data == pytest.approx(2.4)

    def test_once_across_binds(self) -> None:
        counted = Counted()
        h = counted.apply(weight())

        @wg.differentiable
        async def network(x: DoubleLayer, depth: int) -> DoubleLayer:
            seen = await x
            assert await x == seen
            return x * seen + (network(x, depth - 1) if depth else x)

        assert network(h, 5).train().run() == 7.0
        assert counted.calls == (1, 1)
        assert counted.backward == [7.0]

    def test_a_bind_that_stands_in_two_places_runs_once(self) -> None:
        calls: list[float] = []

        @wg.differentiable
        async def network(x: DoubleWeight) -> DoubleLayer:
            calls.append(await x)
            return x * 3.0

        w = weight()
        layer = network(w)
        assert (layer * layer).train().run() == 9.0
        assert calls == [1.0]
        assert w.data == 1.0 - 2 * 3.0 * 3.0

    def test_the_value_of_a_user_that_stands_in_two_places_is_asked_once(self) -> None:
        w, asked = weight(), list[int]()

        class Own:
            @property
            def forward(self) -> Do[wg.Tape[float, float]]:
                asked.append(1)
                return w.forward

        own = Own()
        assert wg.multiply(own, own).train().run() == 1.0
        assert asked == [1]
        assert w.data == -1.0

    def test_each_run_computes_anew(self) -> None:
        counted = Counted()
        h = counted.apply(weight())
        question = (h + h).predict()
        assert question.run() == question.run() == 2.0
        assert counted.calls == (2, 0)


class TestS3Order:
    """A node's backward fires when its last consumer has released it, not before."""

    def test_the_delta_waits_for_the_last_consumer(self) -> None:
        log: list[str] = []
        names = ("shared", "short", "long1", "long2")
        shared, short, long1, long2 = (Counted(name, log=log).apply for name in names)
        h = shared(weight())
        loss = short(h) + long2(long1(h))
        loss.train().run()
        fired = [line.split()[0] for line in log if line.endswith("backward")]
        assert sorted(fired) == sorted(names)
        assert fired.index("shared") == 3
        assert fired.index("long2") < fired.index("long1")

    def test_order_of_building_does_not_matter(self) -> None:
        log: list[str] = []
        first, second, third = (Counted(name, log=log).apply for name in ("first", "second", "third"))
        w = weight()
        a = first(w)
        b = second(a)
        c = third(a * b)
        (c + b).train().run()
        assert [x for x in log if "backward" in x] == ["third backward", "second backward", "first backward"]

    def test_across_a_bind_the_delta_waits_too(self) -> None:
        log: list[str] = []
        below, inside, outside = (Counted(name, log=log) for name in ("below", "inside", "outside"))

        @wg.differentiable
        async def network(x: DoubleLayer) -> DoubleLayer:
            await x
            return inside.apply(x)

        h = below.apply(weight())
        (network(h) + outside.apply(h)).train().run()
        assert [line for line in log if "backward" in line][-1] == "below backward"
        assert below.backward == [2.0]


class TestS4DeadBranches:
    """A sub-graph without a weight gets no backward work, not even the delta."""

    def test_no_derivative_below_literals(self) -> None:
        dead, live = Counted("dead"), Counted("live")
        constant = dead.apply(dead.apply(wg.lift(2.0)) + 1.0)
        w = weight()
        (live.apply(w) * constant).train().run()
        assert dead.calls == (2, 0)
        assert live.calls == (1, 1)
        assert w.data == -2.0

    def test_not_even_the_delta_for_it_is_computed(self) -> None:
        asked: list[str] = []

        def rule(case: object, a: float, b: float) -> float:
            return a * b

        def left(case: object, g: float, y: float, a: float, b: float) -> float:
            asked.append("left")
            return g * b

        def right(case: object, g: float, y: float, a: float, b: float) -> float:
            asked.append("right")
            return g * a

        rule.__name__ = "recorded_product"
        with registry_kept():
            product = broadcasting(left, right)(rule)
        w = weight(3.0)
        product(wg.lift(2.0) + 1.0, w).train().run()
        assert asked == ["right"]
        asked.clear()
        product(w, 4.0).train().run()
        assert asked == ["left"]

    def test_nothing_without_a_weight(self) -> None:
        dead = Counted()
        assert dead.apply(wg.lift(2.0)).train().run() == 2.0
        assert dead.calls == (1, 0)

    def test_nothing_beyond_stop_gradient_and_comparisons(self) -> None:
        stopped, compared = Counted("stopped"), Counted("compared")
        w = weight(2.0)
        mask = wg.greater(compared.apply(w), 0.0)
        loss = wg.where(mask, w, 0.0) + wg.stop_gradient(stopped.apply(w))
        assert loss.train().run() == 4.0
        assert stopped.calls == compared.calls == (1, 0)
        assert w.data == 1.0

    def test_what_only_an_await_reads_gets_no_delta(self) -> None:
        gate = Counted("gate")

        @wg.differentiable
        async def network(x: DoubleWeight) -> DoubleLayer:
            return x * await gate.apply(x)

        w = weight(3.0)
        network(w).train().run()
        assert gate.calls == (1, 0)
        assert w.data == 0.0

    @pytest.mark.parametrize("ask", [lambda x: x.predict(), lambda x: x.forward.map(lambda tape: tape.data)])
    def test_no_backward_without_a_question_for_it(self, ask: Callable[[DoubleLayer], Do[float]]) -> None:
        live = Counted()
        assert ask(live.apply(weight())).run() == 1.0
        assert live.calls == (1, 0)


class TestS5OneUpdate:
    """A weight used many times in a run gets the sum of its deltas and its optimizer runs once."""

    def test_momentum_of_many_uses_is_that_of_one(self) -> None:
        class Settings(Momentum, LearningRate): ...

        many, one = (Settings(learning_rate=0.1).double_weight(1.0) for _ in range(2))
        for _ in range(5):
            (many + many + many * 2.0).train().run()
            (one * 4.0).train().run()
        assert many.data == pytest.approx(one.data, rel=1e-15)

    def test_the_optimizer_is_asked_once(self) -> None:
        steps: list[float] = []
        w = recording(steps)
        (w * 2.0 + w * w + w).train().run()
        assert steps == [5.0]

    def test_uses_inside_and_outside_a_bind_are_one(self) -> None:
        steps: list[float] = []
        w = recording(steps)

        @wg.differentiable
        async def network() -> DoubleLayer:
            return w * 2.0 if await w > 0 else w * 0.0

        (network() + network() + w).train().run()
        assert steps == [5.0]

    def test_a_zero_delta_steps_and_an_unreached_weight_does_not(self) -> None:
        steps: list[float] = []
        w, other = recording(steps), recording(steps)
        (w * 0.0).train().run()
        assert steps == [0.0]
        assert other.data == 1.0


def recording(steps: list[float]) -> DoubleWeight:
    """A weight whose optimizer writes down each delta it is asked to step by."""

    class Recording(LearningRate):
        optimizer = _recording_part(steps)

    return Recording(learning_rate=1.0).double_weight(1.0)


def _recording_part(steps: list[float]) -> type[Optimizer]:
    class Part(Optimizer):
        def step(self, delta: float, weight: Weight) -> float:
            steps.append(delta)
            moved: float = super().step(delta, weight)
            return moved

    return Part
