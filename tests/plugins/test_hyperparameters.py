"""The ready plugins put together: ranges, order, and who says the rate (D57, D62 to D64, D70, D78, D84)."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest

import wengert as wg
from tests.optimizers import OPTIMIZERS
from tests.run.planned import eager
from wengert import plugins
from wengert.errors import PluginError
from wengert.extend import Optimizer, Rated
from wengert.plugins import (
    SGD,
    Adam,
    AdamW,
    ClipByGlobalNorm,
    ClipByNorm,
    ClipByValue,
    GradientNoise,
    L1Regularization,
    L2Regularization,
    LearningRate,
    LearningRateSchedule,
    Logging,
    Momentum,
    Muon,
    Names,
    Nesterov,
    Plugin,
    RMSprop,
    WeightDecay,
)
from wengert.plugins.rate import Scaled


class All(
    Names, Logging, ClipByGlobalNorm, L1Regularization, L2Regularization, Momentum, AdamW, LearningRate
): ...


class Decayed(WeightDecay, LearningRate): ...


GOOD = {"learning_rate": 0.1, "max_norm": 1.0, "l1": 0.0, "l2": 0.0, "weight_decay": 0.1}
every: Callable[..., Plugin] = All  # misuses below are meant for the run time


def test_all_keywords_are_those_of_the_list() -> None:
    keywords = set(inspect.signature(All).parameters)
    assert keywords == {*GOOD, "momentum", "beta1", "beta2", "eps", "logger"}
    every(**GOOD)


RANGES: dict[str, tuple[list[object], str]] = {
    "learning_rate": (
        [-0.1, float("inf"), float("nan"), "fast", None],
        "a finite number with 0 <= learning_rate",
    ),
    "max_norm": ([0.0, -1.0, float("nan")], "a finite number with 0 < max_norm"),
    "l1": ([-1e-9, "0"], "a finite number with 0 <= l1"),
    "l2": ([-1e-9, 1j], "a finite number with 0 <= l2"),
    "weight_decay": ([-1e-9], "a finite number with 0 <= weight_decay"),
    "momentum": ([-0.9, float("inf")], "a finite number with 0 <= momentum"),
    "beta1": ([1.0, -0.1, float("nan")], "a number with 0 <= beta1 < 1"),
    "beta2": ([1.0, 2], "a number with 0 <= beta2 < 1"),
    "eps": ([-1e-8, float("inf")], "a finite number with 0 <= eps"),
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in RANGES for value in RANGES[name][0]])
def test_what_is_out_of_range_is_refused(name: str, value: object) -> None:
    text = f"All: {name} is {value!r}; it has to be {RANGES[name][1]}"
    with pytest.raises(PluginError, match=re.escape(text) + "\n  at "):
        every(**{**GOOD, name: value})


@pytest.mark.parametrize("make", [Nesterov, Momentum])
def test_rho_and_momentum_have_ranges_wherever_they_are(make: Callable[..., Plugin]) -> None:
    with pytest.raises(PluginError, match="momentum is -1"):
        make(momentum=-1)
    with pytest.raises(PluginError, match=r"RMSprop: rho is 1\.5; it has to be a number with 0 <= rho < 1"):
        RMSprop(rho=1.5)  # type: ignore[settings, value] # refused there too


def test_numbers_of_numpy_and_integers_are_numbers() -> None:
    for rate in (1, np.float32(0.5), np.float64(0.5), np.int64(1)):
        settings: Any = every(**{**GOOD, "learning_rate": rate})  # Any: what the class is asked for
        assert settings.learning_rate == rate


@pytest.mark.parametrize("number", [np.float64, np.float32])
def test_numbers_of_numpy_change_no_element_type_and_leave_steps_in_plans(
    number: Callable[[float], Any],  # Any: to mypy a number in single precision is no float
) -> None:
    class Settings(Adam, LearningRate): ...

    def trained(rate: float, beta1: float) -> tuple[bytes, list[str]]:
        weight = Settings(learning_rate=rate, beta1=beta1).array_weight(np.ones(3, np.float32))
        executor, plans = eager()
        for _ in range(4):
            wg.sum(wg.square(weight)).train().run(executor)
        return weight.data.tobytes(), plans.sources()

    assert trained(number(0.5), number(0.875)) == trained(0.5, 0.875)


def test_members_of_other_types_stay_as_they_are_given() -> None:
    class Settings(plugins.Plugin):
        most: float | None
        exact: np.float32
        names: Callable[[], str] | str = "none"

    made = Settings(most=np.float64(0.5), exact=np.float32(0.1))
    assert (type(made.most), type(made.exact)) == (float, np.float32)


def test_missing_and_unknown_ones_are_one_error() -> None:
    with pytest.raises(PluginError) as error:
        every(learning_rate=0.1, max_norm=1.0, l1=0.1, l2=0.1, weight_decays=0.1)
    assert str(error.value) == (
        "All misses weight_decay: float and got unknown weight_decays (did you mean weight_decay?); its "
        "keywords: learning_rate: float, weight_decay: float, beta1: float = 0.9, beta2: float = 0.999, "
        "eps: float = 1e-08, momentum: float = 0.9, l2: float, l1: float, max_norm: float, "
        f"logger: Logger = {All.logger!r}"
    )


FIRST = [
    *OPTIMIZERS,
    Muon,
    GradientNoise,
    L1Regularization,
    L2Regularization,
    ClipByGlobalNorm,
    ClipByNorm,
    ClipByValue,
]


@pytest.mark.parametrize("plugin", FIRST)
@pytest.mark.parametrize("rate", [LearningRate, LearningRateSchedule, SGD])
def test_a_rate_to_the_left_is_refused_with_the_right_order(plugin: type, rate: type) -> None:
    with pytest.raises(PluginError) as error:
        type("Wrong", (rate, plugin), {})
    first = "Adam" if plugin is AdamW else plugin.__name__
    then = "LearningRate" if rate is SGD else rate.__name__
    assert f"{then} stands left of {first}" in str(error.value)
    assert f"write `class Wrong({plugin.__name__}, {rate.__name__})`" in str(error.value)
    type("Right", (plugin, rate), {})


ADVICE = re.compile(
    r"write class Settings\((\w+), (\w+)\)|(which supplies rate as \w+ does: keep one of them)"
)


@pytest.mark.parametrize("name", [*GOOD, "beta1", "rho", "momentum", "eps", "schedule", "logger"])
@pytest.mark.parametrize("plugin", [SGD, LearningRateSchedule, Adam, Momentum, ClipByGlobalNorm])
def test_advice_about_a_keyword_of_another_plugin_can_be_followed(plugin: Any, name: str) -> None:
    needed = {n: p.default for n, p in inspect.signature(plugin).parameters.items()}
    if name in needed:
        return
    with pytest.raises(PluginError) as error:
        plugin(**dict.fromkeys(needed, 0.5), **{name: 0.5})
    found = ADVICE.search(str(error.value))
    assert found is not None, error.value
    left, right, rivals = found.groups()
    if rivals:
        assert {plugin, name} in ({SGD, "schedule"}, {LearningRateSchedule, "learning_rate"})
    else:
        made: Any = type("Settings", (getattr(plugins, left), getattr(plugins, right)), {})
        assert name in inspect.signature(made).parameters


def test_decay_needs_a_rate() -> None:
    alone: Callable[..., Plugin] = WeightDecay
    with pytest.raises(PluginError) as error:
        alone(weight_decay=0.1)
    said, _, advice = str(error.value).partition("; add ")
    assert said == "WeightDecay cannot be made: no plugin supplies rate, which Rated declares"
    assert {"LearningRate", "LearningRateSchedule"} <= set(
        advice.split(" or ")
    )  # and whoever else defines one


def test_two_rates_are_refused() -> None:
    assert issubclass(LearningRate, LearningRate)  # an answer that an unfinished class would repeat
    with pytest.raises(
        PluginError, match="Two: LearningRate and LearningRateSchedule supply rate, which Rated"
    ):
        type("Two", (LearningRate, LearningRateSchedule), {})
    with pytest.raises(PluginError, match="supply rate"):
        type("Three", (WeightDecay, LearningRateSchedule, LearningRate), {})


def test_a_rate_of_somebody_else_is_one() -> None:
    class Halved(Rated):
        optimizer: ClassVar[type[Optimizer]] = Scaled

        @property
        def rate(self) -> float:
            return 0.5

    class Settings(WeightDecay, Halved): ...

    w = Settings(weight_decay=0.5).double_weight(4.0)
    (w * 1.0).train().run()
    assert w.data == 4.0 - 0.5 * 1.0 - 0.5 * 0.5 * 4.0


def test_two_families_of_hyperparameters_in_one_network() -> None:  # D70
    class Slow(L2Regularization, SGD): ...

    class Fast(Adam, LearningRate): ...

    slow, fast = Slow(learning_rate=0.5, l2=0.25), Fast(learning_rate=0.1, eps=0.0)
    a, b = slow.array_weight(np.ones((2, 2))), slow.array_weight(np.ones(2))
    c, d = fast.array_weight(np.ones((2, 2))), fast.double_weight(3.0)
    network = wg.sum(a @ c @ b) + wg.sum(b) * d
    network.train().run()
    assert (a.data == 1.0 - 0.5 * (2.0 + 0.25)).all()
    assert np.allclose(c.data, 1.0 - 0.1)
    assert d.data == pytest.approx(3.0 - 0.1)
    assert (b.data == 1.0 - 0.5 * (4.0 + 3.0 + 0.25)).all()


def test_the_sides_of_momentum_and_nesterov_have_their_own_state() -> None:
    class Both(Momentum, Nesterov, LearningRate): ...

    w = Both(learning_rate=1.0, momentum=0.5).double_weight(0.0)
    (w * 1.0).train().run()
    (w * 1.0).train().run()
    v = [1.0, 1.5]
    ahead = [1.0, 0.5 * 1.0 + 1.5]
    assert w.data == -sum(x + 0.5 * a for x, a in zip(v, ahead, strict=True))
    state: Any = vars(w.optimizer)
    assert (state["velocity"], state["ahead"]) == (v[1], ahead[1])


def test_a_range_holds_for_a_member_that_is_declared_again() -> None:
    class Mine(Adam):
        beta1: float = 1.5

    class Both(Momentum, Muon, LearningRate): ...

    with pytest.raises(PluginError, match=r"Mine: beta1 is 1\.5; it has to be a number with 0 <= beta1 < 1"):
        Mine()
    with pytest.raises(
        PluginError, match=r"Both: momentum is 1\.5; it has to be a number with 0 <= momentum < 1"
    ):
        Both(learning_rate=0.1, momentum=1.5)
    assert inspect.signature(Adam).parameters["beta1"].annotation is float, "a range is no type of its own"


@pytest.mark.parametrize(("factor", "rate"), [(-1.0, "-0.1"), (float("nan"), "nan")])
def test_a_range_is_checked_after_the_plugins_to_the_right_have_computed(factor: float, rate: str) -> None:
    class Scaled(Plugin):
        learning_rate: float
        factor: float

        def __post_init__(self) -> None:
            vars(self)["learning_rate"] = self.learning_rate * self.factor

    class Theirs(LearningRate, Scaled): ...

    with pytest.raises(PluginError, match=rf"Theirs: learning_rate is {rate}; it has to be a finite number"):
        Theirs(learning_rate=0.1, factor=factor)
    negative = float("-0.1")
    assert Theirs(learning_rate=negative, factor=-2.0).learning_rate == 0.2
