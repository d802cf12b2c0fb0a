"""A plan trains as the interpreter does with every optimizer, whether the plan has its steps or asks for them."""

from __future__ import annotations

from functools import partial, reduce
from operator import add
from typing import Any, ClassVar, Final

import numpy as np
import pytest

import wengert as wg
from tests.executors.binds import by_coroutine
from tests.optimizers import (
    WithAdadelta,
    WithAdafactor,
    WithAdagrad,
    WithAdamax,
    WithAdamW,
    WithAMSGrad,
    WithL1,
    WithLAMB,
    WithLion,
    WithLookahead,
    WithMean,
    WithMovingAverage,
    WithNAdam,
    WithNames,
    WithNesterov,
    WithRAdam,
    WithRMSprop,
)
from tests.run.planned import eager, plain, same, trained
from tests.run.test_plans import NETWORKS
from tests.run.waiting import programs_counted
from wengert.errors import NonFiniteError, PluginError
from wengert.extend import Optimizer, Rated, dense
from wengert.plugins import (
    SGD,
    Adafactor,
    AdamW,
    ClipByGlobalNorm,
    ClipByNorm,
    ClipByValue,
    FailOnNonFinite,
    GradientNoise,
    Hyperparameters,
    L1Regularization,
    L2Regularization,
    LearningRate,
    LearningRateSchedule,
    Logging,
    Lookahead,
    Nesterov,
    Plugin,
    Rprop,
    WeightDecay,
)
from wengert.plugins.rate import Scaled


class WithL2(L2Regularization, LearningRate): ...


class WithDecay(LearningRate, WeightDecay): ...


class Logged(Logging, AdamW, LearningRate): ...


class Limited(ClipByValue, Nesterov, LearningRate): ...


class Shortened(ClipByNorm, Nesterov, LearningRate): ...


class Noisy(GradientNoise, Nesterov, LearningRate): ...


class Clipped(L2Regularization, ClipByGlobalNorm, Nesterov, LearningRate): ...


class Scheduled(ClipByGlobalNorm, L1Regularization, AdamW, LearningRateSchedule): ...


class Everything(
    FailOnNonFinite, Logging, ClipByGlobalNorm, L1Regularization, AdamW, LearningRateSchedule
): ...


class Finite(FailOnNonFinite, LearningRate): ...


class Changing(Hyperparameters, ClipByGlobalNorm, AdamW, LearningRate): ...


class Meeting(Hyperparameters, Lookahead, LearningRate): ...


class WithTimes(Adafactor, LearningRateSchedule): ...


class Reading(Optimizer["LearningRateSchedule"], pure=True):
    """Somebody else's part, which reads the rate besides."""

    def step(self, delta: Any, weight: Any) -> Any:
        return super().step(dense(delta) * (1.0 + weight.settings.rate + self.settings.rate), weight)


class Reads(Plugin):
    optimizer: ClassVar[type[Optimizer]] = Reading


class Mine(Reads, LearningRateSchedule): ...


class Half(Rated):
    base: float
    optimizer: ClassVar[type[Optimizer]] = Scaled

    @property
    def rate(self) -> float:
        return self.base / 2.0


class Halved(Hyperparameters, Half): ...


class Decides(Optimizer["Halved"], pure=True):
    def step(self, delta: Any, weight: Any) -> Any:
        return super().step(dense(delta) if self.settings.base < 0.04 else -dense(delta), weight)


class Decided(Plugin):
    optimizer: ClassVar[type[Optimizer]] = Decides


class Deciding(Decided, Halved): ...


CHANGING: Final = {
    "learning_rate": lambda t: 0.1 / (1 + t),
    "beta1": lambda t: min(0.9, 0.1 * t),
    "max_norm": lambda t: 1.0 / (1 + t),
}

PLANNED: dict[str, Any] = {  # Any: settings classes take different keywords
    "L1": lambda: WithL1(learning_rate=0.05, l1=0.01),
    "L2": lambda: WithL2(learning_rate=0.05, l2=0.1),
    "WeightDecay": lambda: WithDecay(learning_rate=0.05, weight_decay=0.1),
    "Nesterov": lambda: WithNesterov(learning_rate=0.02),
    "Adagrad": lambda: WithAdagrad(learning_rate=0.1),
    "Adadelta": lambda: WithAdadelta(learning_rate=1.0),
    "RMSprop": lambda: WithRMSprop(learning_rate=0.01),
    "AdamW": lambda: WithAdamW(learning_rate=0.01, weight_decay=0.1),
    "AMSGrad": lambda: WithAMSGrad(learning_rate=0.01),
    "Adamax": lambda: WithAdamax(learning_rate=0.01),
    "NAdam": lambda: WithNAdam(learning_rate=0.01),
    "RAdam": lambda: WithRAdam(learning_rate=0.01),
    "Lion": lambda: WithLion(learning_rate=0.01),
    "LAMB": lambda: WithLAMB(learning_rate=0.01, decay=0.1),
    "Rprop": lambda: Rprop(),
    "Adafactor": lambda: WithAdafactor(learning_rate=0.01),
    "ClipByValue": lambda: Limited(learning_rate=0.02, max_value=0.1),
    "moving average": lambda: WithMovingAverage(learning_rate=0.01, weight_decay=0.1),
    "mean": lambda: WithMean(learning_rate=0.01, weight_decay=0.1, average_from=2, average_every=2),
    "Lookahead": lambda: WithLookahead(learning_rate=0.01, weight_decay=0.1, every=3),
    "Logging": lambda: Logged(learning_rate=0.01, weight_decay=0.1),
    "schedule": lambda: LearningRateSchedule(schedule=lambda t: 0.1 / (1 + t)),
    "clip each": lambda: Shortened(learning_rate=0.02, max_norm_of_weight=0.1),
    "clip": lambda: Clipped(learning_rate=0.02, l2=0.1, max_norm=0.5),
    "clip by a schedule": lambda: Scheduled(
        max_norm=0.5, l1=0.01, weight_decay=0.1, schedule=lambda t: 0.1 / (1 + t)
    ),
    "everything": lambda: Everything(
        max_norm=0.5, l1=0.01, weight_decay=0.1, schedule=lambda t: 0.1 / (1 + t)
    ),
    "finite": lambda: Finite(learning_rate=0.02),
    "numbers that change": lambda: Changing(
        learning_rate=0.05, max_norm=0.5, weight_decay=0.1, schedules=CHANGING
    ),
    "whole numbers that change": lambda: Meeting(
        learning_rate=0.05,
        every=3,
        schedules={"every": lambda t: 2 + t % 2, "share": lambda t: 0.5 / (1 + t)},
    ),
    "Adafactor by a schedule": lambda: WithTimes(schedule=lambda t: 5.0 / (1 + t)),
    "a rate that a part of yours reads": lambda: Mine(schedule=lambda t: 0.1 / (1 + t)),
    "a rate of yours, of numbers that change": lambda: Halved(
        base=0.1, schedules={"base": lambda t: 0.1 / (1 + t)}
    ),
}
ASKED: dict[str, Any] = {  # Any: as above
    "noise": lambda: Noisy(learning_rate=0.02, noise_seed=1),
    "a part that decides by a number": lambda: Deciding(
        base=0.1, schedules={"base": lambda t: 0.1 / (1 + t)}
    ),
}


@pytest.mark.parametrize("optimizer", [*PLANNED, *ASKED])
@pytest.mark.parametrize("name", NETWORKS)
def test_training_is_that_of_the_interpreter(name: str, optimizer: str) -> None:
    executor, plans = eager(worth=2)
    make = {**PLANNED, **ASKED}[optimizer]
    network = lambda: NETWORKS[name](make())  # noqa: E731 # both runs make their own
    same(trained(network, plain(), 8), trained(network, executor, 8))
    assert plans.made == 1
    (plan,) = plans._plans.items()
    assert plan.updating is (optimizer in PLANNED)


@pytest.mark.parametrize("bind", [False, True])
def test_a_step_that_asks_for_the_name_of_its_weight_is_no_step_of_another(bind: bool) -> None:
    """Two networks of one structure and one settings object: a plan of the one took the other's steps."""
    x = np.arange(18.0).reshape(6, 3) / 7

    def run(executor: Any) -> list[Any]:  # Any: of either kind
        settings = WithNames(learning_rate=0.01)
        weights = [settings.array_weight(np.ones((3, 4)), name=name) for name in "abab"]
        for _ in range(8):
            for w in weights:
                loss = wg.mean(wg.square(x @ w))
                if bind:
                    loss = by_coroutine(
                        loss, wg.sum(w), partial(wg.multiply, loss, 2.0), partial(wg.abs, loss)
                    )
                loss.train().run(executor)
        return [w.data for w in weights]

    with programs_counted() as calls:
        a, b, *others = found = run(eager(worth=2)[0])
    assert (calls["way"] > 3) is bind
    same(found, run(plain()))
    same([a, b], others)
    assert not np.array_equal(a, b)


def test_the_time_of_a_schedule_is_one_for_plans_and_the_interpreter() -> None:
    def run(executor: Any) -> tuple[list[float], int]:  # Any: of either kind
        settings = LearningRateSchedule(schedule=lambda t: 0.5**t)
        w, other = settings.double_weight(8.0), settings.double_weight(8.0)
        for i in range(9):
            (w * w * 0.1).train().run(executor)
            if i % 3 == 2:  # a commit of the same settings that no plan makes
                (other * 1.0).train().run(plain())
        return [w.data, other.data], settings.commits

    executor, plans = eager(worth=2)
    assert run(executor) == run(plain())
    assert any(plan.updating and plan.told for plan in plans._plans.items())


def test_a_schedule_that_gives_no_rate_any_more_fails_the_run_of_a_plan() -> None:
    executor, _ = eager(worth=2)
    w = LearningRateSchedule(schedule=lambda t: 0.1 if t < 6 else -1.0).double_weight(8.0)
    for _ in range(6):
        (w * w).train().run(executor)
    before = w.data
    with pytest.raises(PluginError, match=r"schedule\(6\) is -1.0") as caught:
        (w * w).train().run(executor)
    assert w.data == before and "in the update of" in "".join(caught.value.__notes__)


def views_of_another(a: Any, b: Any, draw: Any) -> list[Any]:  # Any: weights, layers, and draws of any shape
    return [a @ b, b @ draw(4), wg.stack([a @ draw(3)]), wg.literal(draw(1, 3)) @ b]


def rows_and_products(a: Any, b: Any, draw: Any) -> list[Any]:  # Any: as above
    """So many rows of one product that it is none of few rows any more, and rows of a table beside it."""
    products = [wg.literal(draw(1, 3)) @ b for _ in range(3)]
    rows = [wg.take(b, np.array([0, 2]), axis=0), wg.take(b, np.array([2]), axis=0)]
    return [rows[0], *products, rows[1], wg.literal(draw(5, 3)) @ b, b * a[:1]]


def rows_of_ones(a: Any, b: Any, draw: Any) -> list[Any]:  # Any: as above
    """Of one delta the rows are known before the run, and of another a side of its product."""
    taken = [wg.take(x, np.array([i, 2]), axis=0) for i in range(2) for x in (b, 2.0 * b)]
    products = [wg.literal(draw(1, 3)) @ b for _ in range(3)]
    return [taken[0], wg.sum(products[0]), *products[1:], wg.sum(taken[2])]


@pytest.mark.parametrize("parts", [views_of_another, rows_and_products, rows_of_ones])
def test_terms_are_subtracted_one_by_one_in_the_order_of_the_interpreter(parts: Any) -> None:
    """What they read of other weights' data is copied; their sum would be rounded otherwise."""

    def run(executor: Any) -> list[bytes]:  # Any: of either kind
        settings, chance = SGD(learning_rate=0.1), np.random.default_rng(5)

        def draw(*shape: int) -> Any:  # Any: an array of this shape
            return chance.normal(size=shape).astype(np.float32)

        a, b = settings.array_weight(draw(3)), settings.array_weight(draw(3, 4))
        for _ in range(8):
            squares = [wg.mean(wg.square(x)) if x.shape else x for x in parts(a, b, draw)]
            reduce(add, squares).train().run(executor)
        return [a.data.tobytes(), b.data.tobytes()]

    assert run(eager(worth=2)[0]) == run(plain())


def test_reading_data_in_a_step_leaves_the_weight_its_buffer() -> None:
    """A step that asked for `weight.data` would make every commit copy the weight."""
    executor, _ = eager(worth=2)
    for by in (plain(), executor):
        weights, loss = NETWORKS["classifier"](
            Everything(max_norm=0.5, l1=0.01, weight_decay=0.1, schedule=lambda t: 0.1)
        )
        buffers = [w.ref.data for w in weights]
        for i in range(4):
            loss(i).train().run(by)
        assert all(w.ref.data is buffer for w, buffer in zip(weights, buffers, strict=True))


def test_numbers_that_are_assigned_are_those_of_the_next_step_of_a_plan() -> None:
    def run(executor: Any) -> tuple[float, dict[str, float], int]:  # Any: of either kind
        settings = Changing(
            learning_rate=0.1, max_norm=0.5, weight_decay=0.1, schedules={"beta1": lambda t: 0.5}
        )
        w = settings.double_weight(8.0)
        for i in range(9):
            (w * w).train().run(executor)
            if i % 2:
                settings.assign(learning_rate=0.1 / i, max_norm=i).run()
        return w.data, settings.numbers(), settings.time

    executor, plans = eager(worth=2)
    assert run(executor) == run(plain())
    assert plans.made == 1 and all(plan.updating and plan.told for plan in plans._plans.items())


def test_a_number_that_leaves_its_range_fails_the_run_of_a_plan_before_any_step() -> None:
    executor, _ = eager(worth=2)
    settings = Changing(
        learning_rate=0.1,
        max_norm=0.5,
        weight_decay=0.1,
        schedules={"beta1": lambda t: 0.5 if t < 6 else 2.0},
    )
    w = settings.double_weight(8.0)
    for _ in range(5):
        (w * w).train().run(executor)
    before = w.data, settings.time, w.optimizer.state()
    for _ in range(2):
        with pytest.raises(PluginError, match=r"beta1 is 2\.0"):
            (w * w).train().run(executor)
    assert (w.data, settings.time, w.optimizer.state()) == before


def test_what_is_not_finite_is_refused_by_a_plan_with_the_words_of_the_interpreter() -> None:
    def run(executor: Any) -> list[Any]:  # Any: of either kind
        settings, found = Finite(learning_rate=0.125), list[Any]()
        w, v = settings.array_weight(np.ones(2), name="w"), WithNesterov(learning_rate=0.1).double_weight(1.0)
        for i in range(12):
            try:
                (wg.sum(wg.sqrt(w * {7: -1.0, 9: 0.0}.get(i, 1.0))) * v).train().run(executor)
            except NonFiniteError as refusal:
                notes = [note.partition(", built at")[0] for note in refusal.__notes__]
                found.append((i, str(refusal).partition(" stay")[0], *notes))
            found.append((w.data.tolist(), v.data, v.optimizer.state()))
        return found

    executor, plans = eager(worth=2)
    by_plan = run(executor)
    assert by_plan == run(plain())
    assert [x[:2] for x in by_plan if isinstance(x[0], int)] == [
        (7, "the loss is nan, so <ArrayWeight 'w' (2,) float64> and all other weights"),
        (9, "the delta of <ArrayWeight 'w' (2,) float64> is not finite, so it and all other weights"),
    ]
    assert plans.made == 1 and all(plan.updating and plan.worked for plan in plans._plans.items())


class Telling(Optimizer["Listening"]):
    """Somebody's part, which is told of commits, and fails in one of them."""

    heard: int = 0

    def committed(self, weights: Any) -> None:
        super().committed(weights)
        self.settings.told.append((self.heard, [w.data.tolist() for w in weights]))
        self.heard += 1
        if len(self.settings.told) == 7:
            raise ZeroDivisionError("not today")


class Listening(Plugin):
    told: list[Any]
    optimizer: ClassVar[type[Optimizer]] = Telling


class Told(Listening, AdamW, LearningRate): ...


def test_optimizers_are_told_of_the_commits_of_a_plan() -> None:
    def run(executor: Any) -> list[Any]:  # Any: of either kind
        settings = [Told(learning_rate=0.1, weight_decay=0.1, told=[]) for _ in range(2)]
        first, second = (one.array_weight(np.ones(2)) for one in settings)
        third, other = settings[0].array_weight(np.ones(2) * 2.0), SGD(learning_rate=0.1).double_weight(1.0)
        failures = 0
        for i in range(10):
            loss = wg.sum(first * second * third) * other * float(i)
            try:
                loss.train().run(executor)
            except* ZeroDivisionError as failure:
                failures += len(failure.exceptions)
        heard = [x.optimizer.kept().get("heard") for x in (first, second, third)]
        return [failures, settings[0].told, settings[1].told, other.data, *heard]

    executor, plans = eager(worth=2)
    by_plan, by_interpreter = run(executor), run(plain())
    assert repr(by_plan) == repr(by_interpreter)
    assert by_plan[0] == 2 and [len(x) for x in by_plan[1:3]] == [10, 10]
    assert plans.made == 1 and all(plan.updating for plan in plans._plans.items())
