"""100 steps of every optimizer: by its formula in plain numpy, and by PyTorch's optimizer of that name.

Knows: the formulas a second time, written for one array and without the library; which of PyTorch's optimizers
computes which.
Refuses to know: how parts of optimizers are put together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.optimizers import (
    WithAdadelta,
    WithAdagrad,
    WithAdam,
    WithAdamW,
    WithL1,
    WithMomentum,
    WithNesterov,
    WithRMSprop,
)
from wengert.plugins import (
    SGD,
    Adam,
    AdamW,
    ClipByGlobalNorm,
    L2Regularization,
    LearningRate,
    LearningRateSchedule,
    Momentum,
    Nesterov,
    Plugin,
    WeightDecay,
)

F64 = np.ndarray[Any, np.dtype[np.float64]]  # Any: every shape
State = dict[str, F64]
Recurrence = Callable[[F64, F64, State, int], F64]  # delta, weight, state, earlier steps -> step
STEPS = 100


class WithL2(L2Regularization, Momentum, LearningRate): ...


class WithAdamAndL2(L2Regularization, Adam, LearningRate): ...


class WithSchedule(AdamW, LearningRateSchedule): ...


class WithDecay(WeightDecay, Momentum, LearningRateSchedule): ...


class RateThenMomentum(LearningRateSchedule, Momentum): ...


class RateThenNesterov(LearningRateSchedule, Nesterov): ...


class WithClip(ClipByGlobalNorm, Adam, LearningRate): ...


def momentum(d: F64, w: F64, s: State, t: int) -> F64:
    s["v"] = 0.9 * s.get("v", np.zeros_like(w)) + d
    return 0.05 * s["v"]


def nesterov(d: F64, w: F64, s: State, t: int) -> F64:
    s["v"] = 0.8 * s.get("v", np.zeros_like(w)) + d
    return 0.05 * (d + 0.8 * s["v"])


def adagrad(d: F64, w: F64, s: State, t: int) -> F64:
    s["c"] = s.get("c", np.zeros_like(w)) + d**2
    return 0.1 * d / (np.sqrt(s["c"]) + 1e-6)


def rmsprop(d: F64, w: F64, s: State, t: int) -> F64:
    s["c"] = 0.95 * s.get("c", np.zeros_like(w)) + 0.05 * d**2
    return 0.01 * d / (np.sqrt(s["c"]) + 1e-6)


def adadelta(d: F64, w: F64, s: State, t: int) -> F64:
    s["c"] = 0.8 * s.get("c", np.zeros_like(w)) + 0.2 * d**2
    u = s.get("u", np.zeros_like(w))
    step = d * np.sqrt(u + 1e-4) / np.sqrt(s["c"] + 1e-4)
    s["u"] = 0.8 * u + 0.2 * step**2
    return 0.5 * step


def rated_momentum(d: F64, w: F64, s: State, t: int) -> F64:
    s["v"] = 0.9 * s.get("v", np.zeros_like(w)) + rate(t) * d
    return s["v"]


def rated_nesterov(d: F64, w: F64, s: State, t: int) -> F64:
    s["v"] = 0.9 * s.get("v", np.zeros_like(w)) + rate(t) * d
    return rate(t) * d + 0.9 * s["v"]


def adam(d: F64, w: F64, s: State, t: int) -> F64:
    s["m"] = 0.8 * s.get("m", np.zeros_like(w)) + 0.2 * d
    s["v"] = 0.99 * s.get("v", np.zeros_like(w)) + 0.01 * d**2
    return 0.01 * (s["m"] / (1 - 0.8 ** (t + 1))) / (np.sqrt(s["v"] / (1 - 0.99 ** (t + 1))) + 1e-6)


def adamw(d: F64, w: F64, s: State, t: int) -> F64:
    return adam(d, w, s, t) + 0.01 * 0.1 * w


def l1(d: F64, w: F64, s: State, t: int) -> F64:
    return 0.05 * (d + 0.02 * np.sign(w))


def l2(d: F64, w: F64, s: State, t: int) -> F64:
    return momentum(d + 0.1 * w, w, s, t)


def adam_l2(d: F64, w: F64, s: State, t: int) -> F64:
    return adam(d + 0.1 * w, w, s, t)


def rate(t: int) -> float:
    return 0.1 / (1 + t)


def scheduled(d: F64, w: F64, s: State, t: int) -> F64:
    return rate(t) * (adam(d, w, s, t) / 0.01 + 0.1 * w)


def decay(d: F64, w: F64, s: State, t: int) -> F64:
    return rate(t) * (momentum(d, w, s, t) / 0.05 + 0.1 * w)


MOMENTS = {"beta1": 0.8, "beta2": 0.99, "eps": 1e-6}
BETAS = {"learning_rate": 0.01, **MOMENTS}
CASES: dict[str, tuple[Callable[[], Plugin], Recurrence]] = {
    "SGD": (lambda: SGD(learning_rate=0.05), lambda d, w, s, t: 0.05 * d),
    "Momentum": (lambda: WithMomentum(learning_rate=0.05), momentum),
    "Nesterov": (lambda: WithNesterov(learning_rate=0.05, momentum=0.8), nesterov),
    "Adagrad": (lambda: WithAdagrad(learning_rate=0.1, eps=1e-6), adagrad),
    "Adadelta": (lambda: WithAdadelta(learning_rate=0.5, rho=0.8, eps=1e-4), adadelta),
    "RMSprop": (lambda: WithRMSprop(learning_rate=0.01, rho=0.95, eps=1e-6), rmsprop),
    "Adam": (lambda: WithAdam(**BETAS), adam),
    "AdamW": (lambda: WithAdamW(weight_decay=0.1, **BETAS), adamw),
    "L1": (lambda: WithL1(learning_rate=0.05, l1=0.02), l1),
    "L2 and Momentum": (lambda: WithL2(learning_rate=0.05, l2=0.1), l2),
    "L2 and Adam": (lambda: WithAdamAndL2(l2=0.1, **BETAS), adam_l2),
    "Schedule": (lambda: LearningRateSchedule(schedule=rate), lambda d, w, s, t: rate(t) * d),
    "AdamW and a schedule": (lambda: WithSchedule(weight_decay=0.1, schedule=rate, **MOMENTS), scheduled),
    "a rate left of Momentum": (lambda: RateThenMomentum(schedule=rate), rated_momentum),
    "a rate left of Nesterov": (lambda: RateThenNesterov(schedule=rate), rated_nesterov),
    "WeightDecay, Momentum and a schedule": (
        lambda: WithDecay(weight_decay=0.1, schedule=rate),
        decay,
    ),
}


def data() -> tuple[list[F64], list[list[F64]]]:
    """Two weights, and the part of each step's deltas that does not depend on them."""
    chance = np.random.default_rng(7)
    starts = [chance.standard_normal((4, 3)), chance.standard_normal(5)]
    return starts, [[chance.standard_normal(w.shape) for w in starts] for _ in range(STEPS)]


def trained(settings: Any) -> list[list[F64]]:  # Any: the maker's methods are typed one by one
    """The weights after each step for the loss Σ w·g + Σ w² / 20."""
    starts, noise = data()
    weights = [settings.array_weight(w) for w in starts]
    found = []
    for gs in noise:
        parts = [wg.sum(w * g) + wg.sum(wg.square(w)) * 0.05 for w, g in zip(weights, gs, strict=True)]
        (parts[0] + parts[1]).train().run()
        found.append([np.array(w.data) for w in weights])
    return found


def agree(ours: list[list[F64]], theirs: list[list[F64]], tolerance: float = 1e-12) -> None:
    assert len(ours) == len(theirs) == STEPS
    for a, b in zip(ours, theirs, strict=True):
        for x, y in zip(a, b, strict=True):
            np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


def by_recurrence(recurrence: Recurrence) -> list[list[F64]]:
    weights, noise = data()
    states: list[State] = [{} for _ in weights]
    found = []
    for t, gs in enumerate(noise):
        pairs = zip(weights, gs, states, strict=True)
        weights = [w - recurrence(g + 0.1 * w, w, s, t) for w, g, s in pairs]
        found.append(weights)
    return found


@pytest.mark.parametrize("name", CASES)
def test_100_steps_are_those_of_the_formula(name: str) -> None:
    make, recurrence = CASES[name]
    agree(trained(make()), by_recurrence(recurrence))


@pytest.mark.parametrize("name", ["Adam", "Nesterov"])
def test_another_formula_is_noticed(name: str) -> None:
    make, _ = CASES[name]
    with pytest.raises(AssertionError):
        agree(trained(make()), by_recurrence(CASES["SGD"][1]))


def peers(torch: Any) -> dict[str, Callable[[Any], Any]]:  # Any: torch may be absent
    optim = torch.optim
    betas = {"lr": 0.01, "betas": (0.8, 0.99), "eps": 1e-6}
    return {
        "SGD": lambda p: optim.SGD(p, lr=0.05),
        "Momentum": lambda p: optim.SGD(p, lr=0.05, momentum=0.9),
        "Nesterov": lambda p: optim.SGD(p, lr=0.05, momentum=0.8, nesterov=True),
        "Adagrad": lambda p: optim.Adagrad(p, lr=0.1, eps=1e-6),
        "Adadelta": lambda p: optim.Adadelta(p, lr=0.5, rho=0.8, eps=1e-4),
        "RMSprop": lambda p: optim.RMSprop(p, lr=0.01, alpha=0.95, eps=1e-6),
        "Adam": lambda p: optim.Adam(p, **betas),
        "AdamW": lambda p: optim.AdamW(p, weight_decay=0.1, **betas),
        "L1": lambda p: optim.SGD(p, lr=0.05),  # the penalty is in the loss
        "L2 and Momentum": lambda p: optim.SGD(p, lr=0.05, momentum=0.9, weight_decay=0.1),
        "L2 and Adam": lambda p: optim.Adam(p, weight_decay=0.1, **betas),
        "Schedule": lambda p: optim.SGD(p, lr=1.0),  # times what the scheduler says
        "AdamW and a schedule": lambda p: optim.AdamW(p, weight_decay=0.1, **{**betas, "lr": 1.0}),
    }


PEERS = [name for name in CASES if "WeightDecay" not in name and "left of" not in name]  # torch has none


def by_torch(torch: Any, make: Callable[[Any], Any], name: str) -> list[list[F64]]:  # Any: as above
    starts, noise = data()
    weights = [torch.tensor(w, requires_grad=True) for w in starts]
    optimizer = make(weights)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, rate) if "chedule" in name else None
    found = []
    for gs in noise:
        optimizer.zero_grad()
        loss = 0.0
        for w, g in zip(weights, gs, strict=True):
            loss = loss + (w * torch.tensor(g)).sum() + 0.05 * (w * w).sum()
            if name == "L1":
                loss = loss + 0.02 * w.abs().sum()
        loss.backward()  # type: ignore[attr-defined] # a tensor since the first summand
        if name == "clip":
            torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
        if scheduler is not None:
            scheduler.step()
        found.append([w.detach().numpy().copy() for w in weights])
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", PEERS)
def test_100_steps_are_those_of_torch(name: str) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch comes with the extra `benchmarks` only")
    agree(trained(CASES[name][0]()), by_torch(torch, peers(torch)[name], name), tolerance=1e-9)


@pytest.mark.slow
def test_100_clipped_steps_are_those_of_torch() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch comes with the extra `benchmarks` only")
    settings = WithClip(max_norm=1.0, **BETAS)
    # PyTorch divides by n + 1e-6
    agree(trained(settings), by_torch(torch, peers(torch)["Adam"], "clip"), tolerance=1e-5)
