"""D39 to D47: networks whose structure depends on values, in the paper's four styles.

`gate(x)` gives two scores; the larger one scales its sub-network's output. Counting operations sit in x, in
the gate and in both sub-networks.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Literal

import numpy as np
import pytest

import wengert as wg
from wengert import ArrayLayer, Do, DoubleLayer, Tape, gather
from wengert.errors import ShapeError
from wengert.plugins import Adam, LearningRate

from .counting import Boom, Counted, state_of

Data = wg.Array[tuple[int, ...], np.float64, wg.Cpu]
Vector = ArrayLayer[tuple[int, ...], np.float64]
Scalar = Tape[float, float]


class Settings(Adam, LearningRate): ...


class Network:
    """The parts; `start` sets the scores of the gate apart, or equal."""

    def __init__(self, left: float = 2.0, right: float = 1.0) -> None:
        settings = Settings(learning_rate=0.1)
        self.scores = [settings.double_weight(score) for score in (left, right)]
        self.subs = [
            settings.array_weight(np.array(data, np.float64)) for data in ([1.0, 2.0, 3.0], [4.0, 5.0, 6.0])
        ]
        self.below = settings.double_weight(1.0)
        self.counted = {name: Counted(name) for name in ("x", "gate", "left", "right")}
        self.x: DoubleLayer = self.counted["x"].apply(self.below * 1.0)

    def gate(self, x: DoubleLayer) -> tuple[DoubleLayer, DoubleLayer]:
        shared = self.counted["gate"].apply(x)
        return shared * self.scores[0], shared * self.scores[1]

    def sub(self, index: int) -> Vector:
        made: Vector = self.counted[("left", "right")[index]].apply(self.subs[index] * self.x)
        return made

    def calls(self) -> dict[str, tuple[int, int]]:
        return {name: counted.calls for name, counted in self.counted.items()}

    def state(self) -> list[object]:
        return [*map(state_of, self.scores), *map(state_of, self.subs), state_of(self.below)]


def naive(network: Network) -> Vector:
    left, right = network.gate(network.x)
    if left.predict().run() > right.predict().run():
        return left * network.sub(0)
    return right * network.sub(1)


def monadic(network: Network) -> Vector:
    left, right = network.gate(network.x)

    def choose(a: Scalar, b: Scalar) -> Do[Tape[Data, Data]]:
        return (left * network.sub(0) if a.data > b.data else right * network.sub(1)).forward

    made: Vector = ArrayLayer(left.forward.flat_map(lambda a: right.forward.flat_map(lambda b: choose(a, b))))
    return made


def applicative(network: Network) -> Vector:
    left, right = network.gate(network.x)

    def choose(tapes: tuple[Scalar, Scalar]) -> Do[Tape[Data, Data]]:
        a, b = tapes
        return (left * network.sub(0) if a.data > b.data else right * network.sub(1)).forward

    made: Vector = ArrayLayer(gather(left.forward, right.forward).flat_map(choose))
    return made


@wg.differentiable
async def direct_choice(network: Network) -> ArrayLayer[tuple[int, ...], np.float64]:
    left, right = network.gate(network.x)
    a, b = await gather(left, right)
    return left * network.sub(0) if a > b else right * network.sub(1)


def direct(network: Network) -> Vector:
    return direct_choice(network)


def loss_of(layer: Vector) -> ArrayLayer[tuple[()], np.float64]:
    return wg.sum(layer * layer)


Style = Callable[[Network], Vector]
MONADIC = [monadic, applicative, direct]
STYLES = [naive, *MONADIC]


def test_d39_the_eager_style_computes_what_is_below_three_times() -> None:
    network = Network()
    layer = naive(network)
    assert network.calls() == {"x": (2, 0), "gate": (2, 0), "left": (0, 0), "right": (0, 0)}
    loss_of(layer).train().run()
    assert network.calls() == {"x": (3, 1), "gate": (3, 1), "left": (1, 1), "right": (0, 0)}


@pytest.mark.parametrize("style", MONADIC)
class TestOnce:
    def test_d40_d41_d43_everything_runs_once(self, style: Style) -> None:
        network = Network()
        loss_of(style(network)).train().run()
        assert network.calls() == {"x": (1, 1), "gate": (1, 1), "left": (1, 1), "right": (0, 0)}

    def test_d44_equal_scores_choose_right(self, style: Style) -> None:
        network = Network(1.0, 1.0)
        loss_of(style(network)).train().run()
        assert network.calls() == {"x": (1, 1), "gate": (1, 1), "left": (0, 0), "right": (1, 1)}

    def test_building_runs_nothing(self, style: Style) -> None:
        network = Network()
        loss_of(style(network)).train()
        assert set(network.calls().values()) == {(0, 0)}


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("scores", [(2.0, 1.0), (1.0, 2.0), (1.0, 1.0)])
def test_d44_all_styles_agree_bit_for_bit(style: Style, scores: tuple[float, float]) -> None:
    network, usual = Network(*scores), Network(*scores)
    for _ in range(3):
        assert loss_of(style(network)).train().run() == loss_of(naive(usual)).train().run()
    assert network.state() == usual.state()


@pytest.mark.parametrize("style", STYLES)
def test_d44_the_other_sub_network_and_the_other_score_stay(style: Style) -> None:
    network = Network()
    before = network.state()
    loss_of(style(network)).train().run()
    changed = [now != then for now, then in zip(network.state(), before, strict=True)]
    assert changed == [True, False, True, False, True]


def test_d45_an_awaited_value_is_data() -> None:
    counted = Counted()
    w = Settings(learning_rate=1.0).double_weight(2.0)

    @wg.differentiable
    async def network(x: DoubleLayer) -> DoubleLayer:
        first, again = await x, await x
        assert type(first) is float
        assert first == again
        return x * first

    h = counted.apply(w)
    assert wg.gradients(network(h), (w,)).run() == (2.0,)
    assert counted.calls == (1, 1)


@pytest.mark.parametrize("thing", [3.0, "text", None, [1], (1, 2)])
def test_d45_awaiting_something_else_says_so(thing: object) -> None:
    @wg.differentiable
    async def network() -> DoubleLayer:
        await thing  # type: ignore[misc] # refused by checkers as well, which is what is tested
        return wg.lift(1.0)

    with pytest.raises(TypeError, match="await"):
        network().predict().run()


class TestD46PythonWorks:
    def test_loops(self) -> None:
        w = Settings(learning_rate=1.0).double_weight(1.5)

        @wg.differentiable
        async def power(x: DoubleLayer, limit: float) -> DoubleLayer:
            y = x
            while await y < limit:
                y = y * x
            return y

        assert wg.gradients(power(w * 1.0, 3.0), (w,)).run() == pytest.approx((3 * 1.5**2,))

    def test_recursion_over_data(self) -> None:
        w = Settings(learning_rate=1.0).double_weight(2.0)

        @wg.differentiable
        async def evaluated(tree: object) -> DoubleLayer:
            if not isinstance(tree, tuple):
                assert isinstance(tree, float)
                return w * tree
            left, right = map(evaluated, tree)
            a, b = await gather(left, right)
            return left + right if a < b else left - right

        assert wg.gradients(evaluated(((1.0, 2.0), 4.0)), (w,)).run() == (7.0,)
        assert wg.gradients(evaluated(((1.0, 2.0), 3.0)), (w,)).run() == (0.0,)

    def test_try_and_with(self) -> None:
        events: list[str] = []

        @contextmanager
        def noted() -> Generator[None]:
            events.append("enter")
            try:
                yield
            finally:
                events.append("exit")

        w = Settings(learning_rate=1.0).double_weight(2.0)
        broken = Counted(forward_failure=lambda: Boom("below"))

        @wg.differentiable
        async def network() -> DoubleLayer:
            with noted():
                try:
                    await broken.apply(w)
                except Boom:
                    events.append("caught")
                    return w * await (w * 3.0)
                return w * 1.0

        loss = network()
        assert loss.train().run() == 12.0
        assert events == ["enter", "caught", "exit"]
        assert w.data == pytest.approx(1.0, abs=1e-6)

    def test_the_function_starts_afresh_in_each_run(self) -> None:
        calls: list[int] = []

        @wg.differentiable
        async def network() -> DoubleLayer:
            calls.append(len(calls))
            return wg.lift(float(len(calls)))

        layer = network()
        assert [layer.predict().run() for _ in range(3)] == [1.0, 2.0, 3.0]


class TestD47Annotations:
    def test_a_wrong_shape_fails_and_names_the_function(self) -> None:
        @wg.differentiable
        async def network() -> ArrayLayer[tuple[Literal[2], Literal[3]], np.float64]:
            made: ArrayLayer[tuple[Literal[2], Literal[3]], np.float64] = wg.lift(np.ones((3, 2)))  # type: ignore[assignment]  # mypy sees it too
            return made

        layer = network()
        assert layer.shape == (2, 3)
        with pytest.raises(ShapeError, match=r"\(2, 3\).*\(3, 2\)") as caught:
            layer.predict().run()
        assert "test_gated.py" in "".join([str(caught.value), *caught.value.__notes__])

    def test_names_that_the_run_cannot_see_leave_the_shape_open(self) -> None:
        Here = tuple[int, ...]

        @wg.differentiable
        async def network() -> ArrayLayer[Here, np.float64]:
            made: ArrayLayer[Here, np.float64] = wg.lift(np.ones((3, 2)))
            return made

        assert wg.sum(network() * 2.0).predict().run() == 12.0

    def test_what_is_left_open_the_run_decides(self) -> None:
        @wg.differentiable
        async def network(n: int) -> ArrayLayer[tuple[int, ...], np.float64]:
            made: ArrayLayer[tuple[int, ...], np.float64] = wg.lift(np.ones((n, n)))
            return made

        assert wg.sum(network(3) + network(3)).predict().run() == 18.0

    def test_a_wrong_column_fails(self) -> None:
        @wg.differentiable
        async def network() -> DoubleLayer:
            return wg.lift(np.float32(2.0))  # type: ignore[return-value] # refused by checkers as well

        with pytest.raises(wg.errors.DTypeError, match="float64"):
            network().predict().run()

    def test_what_is_no_layer_fails_and_names_the_line(self) -> None:
        @wg.differentiable
        async def network() -> DoubleLayer:
            return 2.0  # type: ignore[return-value] # refused by checkers as well, which is what is tested

        with pytest.raises(TypeError, match=r"returned 2\.0[\s\S]*test_gated\.py:\d+"):
            network().predict().run()
