"""Conformance rows of section J about scalars: each as double and as float.

w starts at 1, x = 1, learning rate 1, unless the row says otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

import wengert as wg
from wengert import Do, DoubleLayer, DoubleWeight, FloatLayer, FloatWeight
from wengert.plugins import SGD

from .counting import Boom, Counted, failing

Make = Callable[..., Any]  # Any: a weight of either column; an expression of it has one text and two types
x = 1.0


def double(data: float = 1.0, rate: float = 1.0) -> DoubleWeight:
    return SGD(learning_rate=rate).double_weight(data)


def single(data: float = 1.0, rate: float = 1.0) -> FloatWeight:
    return SGD(learning_rate=rate).float_weight(data)


both = pytest.mark.parametrize("make", [double, single])


def trained(loss: Any, times: int) -> float:  # Any: as above
    """The last of `times` losses."""
    train = loss.train()
    for _ in range(times - 1):
        train.run()
    return float(train.run())


@both
class TestScalars:
    def test_d171_plus(self, make: Make) -> None:
        w = make()
        trained(6.7 + (x + w) + 5.5, 5)
        assert w.data == pytest.approx(-4.0)

    def test_d172_predict_after_training(self, make: Make) -> None:
        w = make()
        loss = 1.0 + (x + w) + 4.0
        trained(loss, 7)
        assert float(loss.predict().run()) == 0.0

    @pytest.mark.slow
    def test_d173_each_training_on_another_thread(self, make: Make) -> None:
        w = make()
        train = (-10.0 + 20.0 - ((x - w + 4.0) * 2.0 / 2.0)).train()
        for _ in range(1000):
            train.start().result(10.0)
        assert w.data == -999.0

    def test_d174_minimum(self, make: Make) -> None:
        w = make()
        loss = 5.0 - wg.minimum(5.0, w)
        trained(loss, 4)
        assert w.data == 5.0
        assert float(loss.predict().run()) == 0.0

    def test_d175_log(self, make: Make) -> None:
        w = make(rate=0.5)
        loss = math.log(5.0) - wg.log(w)
        trained(loss, 23)
        assert float(loss.predict().run()) < 0.1
        assert abs(float(w.data) - 5.0) < 0.1

    def test_d176_exp(self, make: Make) -> None:
        w = make(rate=0.1)
        loss = math.exp(3.0) - wg.exp(w)
        trained(loss, 4)
        assert float(loss.predict().run()) < 0.5
        assert abs(float(w.data) - 3.0) < 0.1

    def test_d177_abs(self, make: Make) -> None:
        w = make(5.0)
        loss = abs(-w)
        trained(loss, 5)
        assert w.data == 0.0
        assert float(loss.predict().run()) == 0.0

    def test_d179_two_weights(self, make: Make) -> None:
        w1, w2 = make(10.0), make(300.0)
        assert wg.train(w1 + w2).run() == 310.0
        assert w1.data < 10.0
        assert w2.data < 300.0

    def test_d180_a_weight_alone(self, make: Make) -> None:
        w = make(10.0)
        assert float(w.train().run()) == 10.0
        assert w.data < 10.0

    def test_d181_two_failures(self, make: Make) -> None:
        w = make()
        with pytest.raises(ExceptionGroup) as caught:
            (10.0 - (x - failing("1")(w) + failing("2")(w)) * 2.0 / 2.0).train().run()
        assert [str(e) for e in caught.value.exceptions] == ["1", "2"]
        assert w.data == 1.0

    def test_d182_three_failures_in_one_flat_group(self, make: Make) -> None:
        w = make()
        with pytest.raises(ExceptionGroup) as caught:
            (10.0 - (x - failing("1")(w) + failing("2")(w)) * 2.0 / failing("3")(w)).train().run()
        assert [str(e) for e in caught.value.exceptions] == ["1", "2", "3"]
        assert all(isinstance(e, Boom) for e in caught.value.exceptions)
        assert w.data == 1.0


def test_d178_an_awaited_sum_is_not_differentiated() -> None:
    @wg.differentiable
    async def network(w: DoubleWeight) -> DoubleLayer:
        a = await (x + w)
        return 6.7 + a + w + 5.5

    w = SGD(learning_rate=1.0).double_weight(1.0)
    trained(network(w), 5)
    assert w.data == pytest.approx(-4.0)


def test_d178_as_float() -> None:
    @wg.differentiable
    async def network(w: FloatWeight) -> FloatLayer:
        a = await (x + w)
        return 6.7 + a + w + 5.5

    w = SGD(learning_rate=1.0).float_weight(1.0)
    trained(network(w), 5)
    assert w.data == pytest.approx(-4.0)


@both
def test_d201_an_operation_is_called_once_with_the_sum(make: Make) -> None:
    hook = Counted()
    hook.apply(make(1.2) + make(1.2)).predict().run()
    shared = make(1.2)
    hook.apply(shared + shared).train().run()
    assert hook.forward == [pytest.approx(2.4), pytest.approx(2.4)]


def test_d201_with_a_literal() -> None:
    hook = Counted()
    literal = wg.lift(1.2)
    hook.apply(literal + literal).predict().run()
    assert hook.forward == [2.4]


def test_d202_functions_compose() -> None:
    def doubled(layer: DoubleLayer) -> DoubleLayer:
        return layer + layer

    assert doubled(wg.log(0.1)).predict().run() == pytest.approx(-4.60517)
    assert doubled(wg.log(wg.lift(0.1))).forward.map(lambda tape: tape.data).run() == pytest.approx(-4.60517)
    assert Do.defer(lambda: doubled(wg.log(0.1)).predict()).run() == pytest.approx(-4.60517)
