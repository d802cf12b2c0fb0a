"""`Backend`: rules and array functions that settings bring along hold for the runs of their weights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, ClassVar, cast

import cloudpickle
import numpy as np
import pytest

import wengert as wg
from wengert.control import Executor
from wengert.errors import ArgumentError
from wengert.extend import HOST, Case, Namespace, Rules, WeightPart, kinds
from wengert.plugins import SGD, Backend, Plugin
from wengert.run import Batched, Parallel, Sequential

Value = Any  # numbers and arrays of every type


def _leaky(case: Case, x: Value) -> Value:
    return case.xp.where(case.xp.greater(x, 0.0), x, 0.5 * x)


def _steepness(case: Case, g: Value, y: Value, x: Value) -> Value:
    return case.xp.where(case.xp.greater(x, 0.0), g, 0.5 * g)


class Leaky(Plugin):
    rules: ClassVar[dict[Any, Any]] = {wg.relu: Rules(kinds.elementwise, _leaky, (_steepness,))}


class Settings(Leaky, Backend, SGD): ...


class Counting:
    """numpy's functions, counted."""

    def __init__(self) -> None:
        self.calls = Counter[str]()

    def __getattr__(self, name: str) -> Callable[..., Any]:  # Any: functions of every type
        function = getattr(HOST, name)

        def counted(*arguments: Any, **options: Any) -> Any:
            self.calls[name] += 1
            return function(*arguments, **options)

        return counted


class Counted(Backend, SGD): ...


EXECUTORS = [Sequential(), Sequential(compiled=False), Parallel(2), Batched()]
executors = pytest.mark.parametrize("executor", EXECUTORS)
USUAL = SGD(learning_rate=1.0)


@executors
def test_rules_hold_in_every_run_of_such_a_weight_and_in_no_other(executor: Executor) -> None:
    for make, value, slope in ((Settings, -1.0, 0.5), (SGD, 0.0, 0.0)):
        w = make(learning_rate=0.0).array_weight(np.full(3, -2.0, np.float64))
        for _ in range(12):  # a plan comes after eight
            assert wg.relu(w).predict().run(executor).tolist() == [value] * 3
            (g,) = wg.gradients(wg.sum(wg.relu(w)), (w,)).run(executor)
            assert g.tolist() == [slope] * 3
            assert float(wg.sum(wg.relu(w)).train().run(executor)) == 3 * value
            assert wg.sum(w).train(also=wg.relu(w)).run(executor)[1].tolist() == [value] * 3


def test_a_step_is_that_of_the_rule() -> None:
    w = Settings(learning_rate=1.0).double_weight(-2.0)
    assert wg.relu(w).train().run() == -1.0 and w.data == -2.5


def test_arrays_are_those_of_the_settings() -> None:
    counting = Counting()
    settings = Counted(learning_rate=0.5, arrays=cast(Namespace, counting))
    w, other = settings.array_weight(np.ones(3)), USUAL.array_weight(np.ones(3))
    wg.sum(wg.exp(other)).train().run()
    assert not counting.calls
    wg.sum(wg.exp(w)).train().run()
    assert counting.calls["exp"] == 1
    assert w.data.tolist() == pytest.approx([1.0 - 0.5 * np.e] * 3)


@pytest.mark.parametrize("executor", [None, Sequential(compiled=False)])
def test_they_hold_from_where_a_bind_meets_the_weight(executor: Executor | None) -> None:
    w = Settings(learning_rate=1.0).double_weight(-2.0)

    @wg.differentiable
    async def network(x: wg.DoubleExpression) -> wg.DoubleLayer:
        return wg.relu(w) + wg.relu(x) if await wg.relu(w) < 0 else w * 0.0

    assert network(-4.0).train().run(executor) == -3.0
    assert w.data == -2.5

    async def questions() -> tuple[float, float]:
        return await wg.relu(-4.0).predict(), await wg.relu(w).predict()

    assert wg.Do.coroutine(questions).run(executor) == (0.0, -1.25)


def test_the_rules_of_an_executor_come_first() -> None:
    w = Settings(learning_rate=1.0).double_weight(-2.0)
    assert wg.relu(w).predict().run(Sequential(rules={wg.relu: lambda case, x: 7.0})) == 7.0


def test_settings_that_differ_are_refused_in_one_run() -> None:
    a = Settings(learning_rate=1.0).double_weight(-2.0)
    b = Counted(learning_rate=1.0, arrays=cast(Namespace, Counting())).double_weight(-2.0)
    alike = Settings(learning_rate=0.0).double_weight(-2.0)
    assert wg.relu(a * alike).predict().run() == 4.0
    with pytest.raises(
        ArgumentError, match="bring other rules or arrays than those which this run has followed"
    ):
        wg.relu(a * b).predict().run()


@pytest.mark.parametrize("executor", [Parallel(2), Batched()])
def test_an_executor_that_has_begun_by_its_own_way_refuses(executor: Executor) -> None:
    w = Settings(learning_rate=1.0).double_weight(-2.0)

    @wg.differentiable
    async def network(x: wg.DoubleExpression) -> wg.DoubleLayer:
        return wg.relu(w) if await wg.relu(w) < 0 else w * 0.0

    with pytest.raises(ArgumentError, match=r"met in a bind.* give the run Sequential\(\)"):
        network(1.0).predict().run(executor)


def test_arrays_that_lack_functions_are_refused_where_the_settings_are_made() -> None:
    with pytest.raises(ArgumentError, match=r"has the functions of wengert.arrays.Namespace; .* lacks "):
        Counted(learning_rate=1.0, arrays=cast(Namespace, object()))


def test_a_part_with_a_forward_of_its_own_is_met_too() -> None:
    class Negated(WeightPart):
        @property
        def forward(self) -> wg.Do[wg.Tape[Any, Any]]:  # Any: of every kind of weight
            return (-wg.DoubleLayer(super().forward)).forward

    class Negating(Plugin):
        weight: ClassVar[type[WeightPart]] = Negated

    class Both(Negating, Settings): ...

    w = Both(learning_rate=1.0).double_weight(2.0)
    assert wg.relu(w).train().run() == -1.0 and w.data == 2.5


def test_weights_from_another_process_bring_them_along() -> None:
    w = cloudpickle.loads(cloudpickle.dumps(Settings(learning_rate=1.0).double_weight(-2.0)))
    assert wg.relu(w).predict().run() == -1.0
