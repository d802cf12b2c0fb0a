"""A method is a cell for each object, and lives no longer than its object (S13)."""

from __future__ import annotations

import gc
import weakref
from dataclasses import dataclass
from functools import partial
from typing import Any

import cloudpickle
import numpy as np
import pytest

import wengert as wg
from tests.run.cells import EXECUTORS, F64, SETTINGS, open_shape


def test_a_method_bound_early_has_its_own_name() -> None:
    def scaled(factor: float, x: wg.DoubleExpression) -> wg.DoubleLayer:
        return wg.multiply(x, factor)

    assert "scaled" in repr(wg.cell(partial(scaled, 2.0))(wg.lift(3.0)))


def test_a_method_is_a_cell_too() -> None:
    class Model:
        def __init__(self) -> None:
            self.w = SETTINGS.double_weight(2.0)

        @wg.cell
        def apply(self, x: wg.DoubleExpression) -> wg.DoubleLayer:
            return self.w * x

    assert Model().apply(wg.lift(3.0)).predict().run() == 6.0


class Model:
    """With a cell as a method, as a person writes it."""

    traced: int = 0

    def __init__(self, factor: float = 2.0) -> None:
        self.w = SETTINGS.array_weight(np.full(3, factor, F64))

    @wg.cell
    def both(self, x: Any) -> tuple[Any, Any]:
        type(self).traced += 1
        return self.w * x, x

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Model)

    __hash__ = None  # type: ignore[assignment] # objects without a hash have methods, too


def test_a_method_is_a_cell_for_each_object() -> None:
    before, models = Model.traced, [Model(2.0), Model(3.0)]
    x = wg.lift(np.ones(3, F64))
    for _ in range(3):
        sums = [wg.sum(model.both(x)[0]).predict().run() for model in models]
    assert sums == [6.0, 9.0], "equal objects are not one"
    assert Model.traced == before + 2
    assert wg.sum(Model(4.0).both(x)[0]).predict().run() == 12.0, "nobody else holds the object"


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_method_of_an_object_that_is_gone_when_it_runs(executor: str) -> None:
    called = [Model(4.0).both(open_shape(np.ones(3, F64)))[0] for _ in range(3)]
    gc.collect()
    found = wg.sum(wg.stack(called)).predict().run(EXECUTORS[executor]())
    assert found == 3 * 12.0


def test_a_method_dies_with_its_object() -> None:  # S13
    gc.collect()
    gc.disable()
    try:
        kept: list[weakref.ref[Any]] = []
        for executor in (wg.run.Sequential(), wg.run.Batched()):
            model = Model()
            for x in (np.ones(3, F64), open_shape(np.ones(3, F64))):
                several = [model.both(x) for _ in range(3)]
                wg.sum(several[0][0] + several[1][1]).train().run(executor)
            kept += [weakref.ref(model), weakref.ref(model.w)]
            del model, several, x
        assert [ref() for ref in kept] == [None] * 4
    finally:
        gc.enable()


def test_methods_of_objects_that_cannot_be_watched_and_of_frozen_ones() -> None:
    class Slots:
        __slots__ = ("w",)

        def __init__(self) -> None:
            self.w = SETTINGS.double_weight(2.0)

        @wg.cell
        def scaled(self, x: wg.DoubleExpression) -> wg.DoubleLayer:
            return self.w * x

    @dataclass(frozen=True)
    class Frozen:
        w: wg.DoubleWeight

        @wg.cell
        def scaled(self, x: wg.DoubleExpression) -> wg.DoubleLayer:
            return self.w * x

    for model in (Slots(), Frozen(SETTINGS.double_weight(2.0))):
        assert [model.scaled(wg.lift(3.0)).predict().run() for _ in range(2)] == [6.0, 6.0]


def test_a_method_can_be_sent_elsewhere() -> None:
    class Sent:
        def __init__(self) -> None:
            self.w = SETTINGS.double_weight(2.0)

        @wg.cell
        def scaled(self, x: wg.DoubleExpression) -> wg.DoubleLayer:
            return self.w * x

    sent = Sent()
    assert sent.scaled(wg.lift(3.0)).predict().run() == 6.0
    again = cloudpickle.loads(cloudpickle.dumps(sent.scaled))
    assert again(wg.lift(4.0)).predict().run() == 8.0
