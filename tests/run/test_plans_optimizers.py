"""A plan trains as the interpreter does with every optimizer, whether the plan has its steps or asks for them."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pytest

import wengert as wg
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
    WithNesterov,
    WithRAdam,
    WithRMSprop,
)
from tests.run.planned import eager, plain, same, trained
from tests.run.test_plans import NETWORKS
from wengert.errors import PluginError
from wengert.plugins import (
    SGD,
    AdamW,
    ClipByGlobalNorm,
    ClipByNorm,
    ClipByValue,
    FailOnNonFinite,
    GradientNoise,
    L1Regularization,
    L2Regularization,
    LearningRate,
    LearningRateSchedule,
    Logging,
    Nesterov,
    Rprop,
    WeightDecay,
)


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
}
ASKED: dict[str, Any] = {  # Any: as above
    "noise": lambda: Noisy(learning_rate=0.02, noise_seed=1),
    "everything": lambda: Everything(
        max_norm=0.5, l1=0.01, weight_decay=0.1, schedule=lambda t: 0.1 / (1 + t)
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


@pytest.mark.parametrize("parts", [views_of_another, rows_and_products])
def test_terms_are_subtracted_one_by_one_in_the_order_of_the_interpreter(parts: Any) -> None:
    """What they read of other weights' data is copied; their sum would be rounded otherwise."""

    def run(executor: Any) -> list[bytes]:  # Any: of either kind
        settings, chance = SGD(learning_rate=0.1), np.random.default_rng(5)

        def draw(*shape: int) -> Any:  # Any: an array of this shape
            return chance.normal(size=shape).astype(np.float32)

        a, b = settings.array_weight(draw(3)), settings.array_weight(draw(3, 4))
        for _ in range(8):
            squares = [wg.mean(wg.square(part)) for part in parts(a, b, draw)]
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
