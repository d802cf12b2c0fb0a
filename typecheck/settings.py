"""Settings composed of plugins, and the weights that they make (T49 to T55)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from logging import getLogger
from typing import Any, Literal, Protocol, assert_type

import numpy as np

import wengert as wg
from wengert.plugins import (
    SGD,
    Adagrad,
    Adam,
    AdamW,
    ClipByGlobalNorm,
    ClipByValue,
    ExponentialMovingAverage,
    Factory,
    FailOnNonFinite,
    L1Regularization,
    L2Regularization,
    LearningRate,
    LearningRateSchedule,
    Lion,
    Logging,
    Momentum,
    Names,
    Nesterov,
    Plugin,
    RMSprop,
    StoredAs,
    WeightDecay,
    inject,
    schedules,
)


class Settings(Adam, Names, FailOnNonFinite, LearningRate):
    """Required and optional members together."""


class Scheduled(Plugin):
    """A plugin of a user's own, with a member of every form."""

    warmup: int
    schedule: Callable[[int], float]
    seed: Callable[[], int] = lambda: 0
    note: str = ""


class Both(Momentum, Scheduled, LearningRate):
    """Own and ready plugins in one."""


class Decoupled(Logging, ClipByGlobalNorm, L1Regularization, L2Regularization, AdamW, LearningRateSchedule):
    """A plugin that needs the rate, and one that says it."""


class Small(Adam, StoredAs, LearningRate):
    """Weights in two bytes, which are float32 for a checker as for operations."""


class Averaged(ExponentialMovingAverage, ClipByValue, Lion, WeightDecay, LearningRateSchedule):
    """An average, and a ready schedule."""


class Accelerated(Nesterov, RMSprop, Adagrad, LearningRate):
    """Ready plugins that share a keyword."""


class Needs(Plugin):
    """A plugin that is given something."""

    rate: float
    given: float = inject()


def case_composing() -> None:  # T49
    assert_type(Settings(learning_rate=1e-3), Settings)
    Settings(learning_rate=1e-3, beta1=0.8, beta2=0.99, eps=1e-7)
    SGD(learning_rate=1)
    Both(learning_rate=0.1, warmup=10, schedule=lambda step: 1.0 / (step + 1))
    Both(learning_rate=0.1, warmup=10, schedule=float, note="x", momentum=0.5)


def case_keywords_of_the_ready_plugins() -> None:  # T49, D74 to D85
    assert_type(
        Decoupled(max_norm=1.0, l1=0, l2=1e-4, weight_decay=0.1, schedule=lambda t: 0.1 / (1 + t)), Decoupled
    )
    Averaged(max_value=1.0, weight_decay=0.1, schedule=schedules.CosineAnnealingLR(0.1, steps=100).warmup(10))
    Decoupled(
        max_norm=1, l1=0.1, l2=0.1, weight_decay=0.1, schedule=float, beta1=0.8, logger=getLogger("mine")
    )
    Accelerated(learning_rate=0.1, momentum=0.8, rho=0.9, eps=1e-6)
    Small(stored_as="bfloat16", learning_rate=0.1).array_weight(np.zeros(2, np.float32))
    LearningRateSchedule(schedule=float)
    L2Regularization(l2=0.1)


def case_wrong_keywords_of_the_ready_plugins_are_refused() -> None:  # T50, D57, D63
    Decoupled(max_norm=1.0, l1=0.1, l2=0.1, weight_decay=0.1)  # E[call-arg]: schedule
    Decoupled(max_norm=1.0, l1=0.1, l2=0.1, schedule=float)  # E[call-arg]: weight_decay
    LearningRateSchedule(schedule=0.1)  # E[arg-type]: expected "Callable\[\[int\], float\]"
    LearningRateSchedule(learning_rate=0.1)  # E[call-arg]: Unexpected keyword argument "learning_rate"
    LearningRateSchedule(schedule=len)  # E[arg-type]: incompatible type "Callable\[.*"
    Accelerated(learning_rate=0.1, rho="slow")  # E[arg-type]: incompatible type "str"
    Small(stored_as="int8", learning_rate=0.1)  # E[arg-type]: expected "Literal\['float16', 'bfloat16'\]"
    ClipByGlobalNorm()  # E[call-arg]: max_norm
    Logging(logger="mine")  # E[arg-type]: expected "Logger"
    WeightDecay(weight_decay=0.1)  # E[abstract]: Cannot instantiate abstract class "WeightDecay"
    L1Regularization(l2=0.1)  # E[call-arg]: Unexpected keyword argument "l2"


def case_wrong_members_are_refused() -> None:  # T50, D57
    Settings()  # E[call-arg]: learning_rate
    Settings(learning_rate=1e-3, rate=1.0)  # E[call-arg]: Unexpected keyword argument "rate"
    Settings(learning_rate="fast")  # E[arg-type]: incompatible type "str"
    Settings(1e-3)  # E: Too many positional arguments
    Both(learning_rate=0.1, warmup=10)  # E[call-arg]: schedule
    Both(learning_rate=0.1, warmup=10, schedule=len)  # E[arg-type]: incompatible type "Callable\[.*"


def case_settings_are_values(settings: Settings) -> None:  # T51
    settings.learning_rate = 0.5  # E[misc]: read-only
    assert_type(settings.learning_rate, float)
    Needs(rate=1.0)
    Needs(rate=1.0, given=2.0)  # E[call-arg]: given


def case_factories() -> None:  # T52
    factory = Factory(Settings)
    assert_type(factory.new_instance(learning_rate=0.1), Settings)
    assert_type(Factory(Both).new_instance(learning_rate=0.1, warmup=1, schedule=float), Both)
    factory.new_instance()  # E[call-arg]: Missing named argument "learning_rate"
    factory.new_instance(learning_rate="fast")  # E[arg-type]: incompatible type "str"
    factory.new_instance(0.1)  # E: Too many positional arguments


class HasRate(Protocol):
    @property
    def learning_rate(self) -> float: ...


def rate_of(settings: HasRate) -> float:
    return settings.learning_rate


def case_consumers_by_protocol() -> None:  # T53
    rate_of(Settings(learning_rate=0.1))
    rate_of(SGD(learning_rate=0.1))
    rate_of(Scheduled(warmup=1, schedule=float))  # E[arg-type]: incompatible type "Scheduled"


a32: np.ndarray[Any, np.dtype[np.float32]] = np.ones(3, np.float32)
a64: np.ndarray[Any, np.dtype[np.float64]] = np.ones(3, np.float64)


def case_weights_keep_the_dtype(settings: Settings) -> None:  # T55
    assert_type(settings.double_weight(1), wg.DoubleWeight)
    assert_type(settings.float_weight(0.5), wg.FloatWeight)
    assert_type(settings.float_weight(np.float32(0.5)), wg.FloatWeight)
    assert_type(settings.array_weight(a32), wg.ArrayWeight[Any, np.float32, wg.Cpu])
    assert_type(settings.array_weight(a64, name="w"), wg.ArrayWeight[Any, np.float64, wg.Cpu])
    assert_type(settings.array_weight(a64, 3).dtype, np.dtype[np.float64])
    assert_type(wg.literal(a64), wg.ArrayLayer[Any, np.float64, wg.Cpu])


def case_what_is_no_weight_is_refused(settings: Settings) -> None:  # T55
    settings.array_weight(np.zeros(3, np.int64))  # E: only arrays of floating-point|"array_weight
    settings.array_weight([1.0, 2.0])  # E[arg-type]: incompatible type "list\[float\]"
    settings.double_weight("1")  # E[arg-type]: incompatible type "str"
    settings.double_weight(1.0).data = 2.0  # E[misc]: read-only
    wg.literal(np.zeros(3, np.bool))  # E: only arrays of floating-point|cannot be ".*bool


def case_weights_of_two_settings_meet(settings: Settings) -> None:  # T49
    other = SGD(learning_rate=0.1)
    assert_type(settings.double_weight(1.0) * other.double_weight(2.0), wg.DoubleLayer)
    assert_type(settings.array_weight(a32) @ other.array_weight(a32), wg.ArrayLayer[Any, np.float32, wg.Cpu])


def case_one_member_with_two_types() -> None:  # T54: a limit of mypy; refused when the class is made
    class Text(Plugin):
        member: str

    class Number(Plugin):
        member: int


def case_literal_members() -> None:
    class Mode(Plugin):
        mode: Literal["a", "b"] = "a"

    Mode(mode="b")
    Mode(mode="c")  # E[arg-type]: incompatible type "Literal\['c'\]"


@dataclass(frozen=True)
class Angle:
    """A value that a weight can hold."""

    degrees: float

    def zero_delta(self) -> float:
        return 0.0

    def stepped(self, step: float, /) -> Angle:
        return Angle(self.degrees - step)

    def to_array(self) -> float:
        return self.degrees

    def from_array(self, array: float, /) -> Angle:
        return Angle(array)

    def __mul__(self, other: float, /) -> Angle:
        return Angle(self.degrees * other)


def case_a_weight_of_a_users_type(settings: SGD) -> None:
    w = settings.data_weight(Angle(10.0), name="w")
    assert_type(w, wg.DataWeight[Angle, float])
    assert_type(w.data, Angle)
    assert_type(w.predict().run(), Angle)
    assert_type(w * 2.0, wg.Layer[Angle, float])
    assert_type(wg.gradients(wg.lift(1.0), (w,)).run(), tuple[float])
    wg.assign({w: Angle(2.0)}).run()
    settings.weight(Angle(10.0), name="w").data.degrees + 1.0
    print(settings.weight(Angle(10.0)).wrong)  # E: has no attribute "wrong"
    settings.weight(2.0)  # E[arg-type]: incompatible type "float"
    settings.data_weight(2.0)  # E[arg-type]: incompatible type "float"
    settings.data_weight(object())  # E[arg-type]: incompatible type "object"
