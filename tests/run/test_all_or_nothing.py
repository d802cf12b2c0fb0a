"""S6 and S7: a run that fails changes nothing, releases all, and says what happened where."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import wengert as wg
from wengert import ArrayLayer, Do, DoubleLayer, DoubleWeight
from wengert.extend import Optimizer, Weight
from wengert.plugins import SGD, Adam, LearningRate, Plugin

from .counting import Boom, Counted, failing, state_of

HERE = Path(__file__).name


class Failing(Optimizer):
    """Steps as usual, then fails where its settings say so."""

    settings: Fragile

    def step(self, delta: float, weight: Weight) -> float:
        moved: float = super().step(delta, weight)
        if self.settings.fails:
            raise Boom(f"no update of {weight.name}")
        return moved


class Fragile(Plugin):
    fails: bool = False
    optimizer: ClassVar[type[Optimizer]] = Failing


class Settings(Adam, Fragile, LearningRate): ...


class Pair:
    """Two weights with state, and what they looked like before."""

    def __init__(self, *, first: bool = False, second: bool = False) -> None:
        self.w1 = Settings(learning_rate=1.0, fails=first).double_weight(1.0, name="w1")
        self.w2 = Settings(learning_rate=1.0, fails=second).double_weight(2.0, name="w2")
        self.a = Settings(learning_rate=1.0).array_weight(np.ones((2, 3)), name="a")
        self.before = self.state()

    def state(self) -> list[object]:
        return [state_of(self.w1), state_of(self.w2), state_of(self.a)]

    def loss(self) -> DoubleLayer:
        return self.w1 * self.w2 + self.w1

    def whole(self) -> ArrayLayer[tuple[()], np.float64]:
        return wg.sum(wg.multiply(self.a, self.loss()))

    def unchanged(self) -> bool:
        another = SGD(learning_rate=1.0).double_weight(1.0)
        assert another.train().start().result(10.0) == 1.0, "the failed run still keeps others from training"
        return self.state() == self.before


class TestS6AllOrNothing:
    """If forward, backward or an optimizer raises, no weight and no optimizer state has changed."""

    def test_forward(self) -> None:
        pair = Pair()
        with pytest.raises(Boom):
            (pair.loss() + failing()(pair.w1)).train().run()
        assert pair.unchanged()

    def test_backward(self) -> None:
        pair = Pair()
        with pytest.raises(Boom):
            (pair.loss() + failing(backward=True)(pair.w2)).train().run()
        assert pair.unchanged()

    def test_the_first_optimizer(self) -> None:
        pair = Pair(first=True)
        with pytest.raises(Boom, match="w1") as caught:
            pair.whole().train().run()
        assert pair.unchanged()
        assert any("w1" in note and HERE in note for note in caught.value.__notes__)

    def test_the_second_optimizer(self) -> None:
        pair = Pair(second=True)
        with pytest.raises(Boom, match="w2"):
            pair.whole().train().run()
        assert pair.unchanged()

    def test_both_optimizers(self) -> None:
        pair = Pair(first=True, second=True)
        with pytest.raises(ExceptionGroup) as caught:
            pair.whole().train().run()
        assert sorted(map(str, caught.value.exceptions)) == ["no update of w1", "no update of w2"]
        assert pair.unchanged()

    def test_a_step_of_the_wrong_shape(self) -> None:
        class Wrong(Optimizer):
            def step(self, delta: object, weight: Weight) -> object:
                return np.ones((5,))

        class Broken(Plugin):
            optimizer: ClassVar[type[Optimizer]] = Wrong

        pair = Pair()
        broken = Broken().array_weight(np.ones((2, 3)), name="broken")
        with pytest.raises(wg.errors.ShapeError, match=r"\(5,\).*broken"):
            (wg.sum(broken) + pair.whole()).train().run()
        assert pair.unchanged()
        assert broken.data.tolist() == np.ones((2, 3)).tolist()

    def test_a_bind_that_fails(self) -> None:
        pair = Pair()

        @wg.differentiable
        async def network(x: DoubleWeight) -> DoubleLayer:
            if await x > 0:
                raise Boom("in the bind")
            return x * 1.0

        with pytest.raises(Boom, match="in the bind"):
            (pair.loss() + network(pair.w1)).train().run()
        assert pair.unchanged()

    def test_a_delta_sent_by_hand_that_fails(self) -> None:
        pair = Pair()
        question = pair.loss().forward.flat_map(
            lambda tape: Do.delay(lambda: tape.backward(Do.fail(Boom("the delta"))).run())
        )
        with pytest.raises(Boom, match="the delta"):
            question.run()
        assert pair.unchanged()

    def test_a_failure_after_a_backward_by_hand(self) -> None:
        pair = Pair()
        question = pair.loss().forward.flat_map(
            lambda tape: Do.delay(lambda: tape.backward(Do.now(1.0)).run()).flat_map(
                lambda _: Do.fail(Boom("later"))
            )
        )
        with pytest.raises(Boom, match="later"):
            question.run()
        assert pair.unchanged()

    def test_a_resource_whose_release_fails(self) -> None:
        pair = Pair()

        @contextmanager
        def resource() -> Generator[DoubleLayer]:
            yield pair.loss()
            raise Boom("on leaving")

        layer = DoubleLayer(Do.resource(resource).flat_map(lambda loss: loss.forward))
        with pytest.raises(Boom, match="on leaving"):
            layer.train().run()
        assert pair.unchanged()

    def test_resources_are_released_exactly_once_when_backward_fails(self) -> None:
        pair, events = Pair(), list[str]()

        @contextmanager
        def resource() -> Generator[DoubleLayer]:
            events.append("open")
            try:
                yield failing(backward=True)(pair.loss())
            finally:
                events.append("close")

        layer = DoubleLayer(Do.resource(resource).flat_map(lambda loss: loss.forward))
        with pytest.raises(Boom):
            layer.train().run()
        assert events == ["open", "close"]
        assert pair.unchanged()

    def test_a_weight_reached_before_and_after_the_failure_trains_next_time(self) -> None:
        pair = Pair()
        counted = Counted(forward_failure=lambda: Boom("once"))
        loss = pair.loss() + counted.apply(pair.w1)
        with pytest.raises(Boom):
            loss.train().run()
        counted.forward_failure = None
        assert loss.train().run() == 4.0
        assert pair.w1.data == pytest.approx(0.0, abs=1e-6)
        assert pair.w2.data == pytest.approx(1.0)


class TestS7FailuresAreWhole:
    """All failures of a run arrive, each with operation, operands and the user's line."""

    def test_one_arrives_as_itself_with_its_note(self) -> None:
        w = SGD(learning_rate=1.0).array_weight(np.ones((2, 3), np.float32), name="w")
        layer = failing("alone")(w * 2.0)  # this line is in the note
        with pytest.raises(Boom, match="alone") as caught:
            wg.sum(layer).train().run()
        (note,) = caught.value.__notes__
        assert "failing((2, 3) float32)" in note
        assert f"{HERE}:{line_of('this line is in the note')}" in note

    def test_two_branches_arrive_as_one_flat_group(self) -> None:
        w = SGD(learning_rate=1.0).double_weight(1.0)
        loss = (failing("one")(w) + failing("two")(w)) * failing("three")(w)
        with pytest.raises(ExceptionGroup) as caught:
            loss.train().run()
        assert [str(e) for e in caught.value.exceptions] == ["one", "two", "three"]
        assert all("failing(() float64)" in e.__notes__[0] for e in caught.value.exceptions)
        assert w.data == 1.0

    def test_one_failed_node_with_many_consumers_counts_once(self) -> None:
        h = failing("shared")(SGD(learning_rate=1.0).double_weight(1.0))
        with pytest.raises(Boom, match="shared") as caught:
            (h * h + h).train().run()
        assert len(caught.value.__notes__) == 1

    def test_failures_of_backward_arrive_together_and_say_so(self) -> None:
        w = SGD(learning_rate=1.0).double_weight(1.0)
        loss = failing("one", backward=True)(w) + failing("two", backward=True)(w)
        with pytest.raises(ExceptionGroup) as caught:
            loss.train().run()
        assert sorted(str(e) for e in caught.value.exceptions) == ["one", "two"]
        assert all(
            "in backward of failing_backward(() float64)" in e.__notes__[0] for e in caught.value.exceptions
        )

    def test_what_needs_no_failed_node_still_runs(self) -> None:
        after = Counted()
        w = SGD(learning_rate=1.0).double_weight(1.0)
        with pytest.raises(Boom):
            (failing()(w) + after.apply(w)).predict().run()
        assert after.calls == (1, 0)

    def test_gathered_binds_that_fail(self) -> None:
        @wg.differentiable
        async def network(x: DoubleWeight, text: str) -> DoubleLayer:
            await x
            raise Boom(text)

        w = SGD(learning_rate=1.0).double_weight(1.0)
        with pytest.raises(ExceptionGroup) as caught:
            (network(w, "left") + network(w, "right")).train().run()
        assert [str(e) for e in caught.value.exceptions] == ["left", "right"]


def line_of(text: str) -> int:
    """The first line of this file with `text`."""
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return next(i for i, line in enumerate(lines, 1) if text in line)
