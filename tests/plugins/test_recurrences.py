"""200 steps of every optimizer: by its formula in plain numpy, and by PyTorch's optimizer of that name.

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
    WithAdafactor,
    WithAdagrad,
    WithAdam,
    WithAdamax,
    WithAdamW,
    WithAMSGrad,
    WithL1,
    WithLAMB,
    WithLion,
    WithMean,
    WithMomentum,
    WithMovingAverage,
    WithMuon,
    WithNAdam,
    WithNesterov,
    WithRAdam,
    WithRMSprop,
)
from wengert.arrays import decayed
from wengert.errors import ArgumentError, PluginError
from wengert.plugins import (
    SGD,
    Adam,
    AdamW,
    ClipByGlobalNorm,
    ClipByNorm,
    ClipByValue,
    ExponentialMovingAverage,
    L2Regularization,
    LearningRate,
    LearningRateSchedule,
    Lookahead,
    Momentum,
    Nesterov,
    Plugin,
    Rprop,
    StochasticWeightAveraging,
    WeightDecay,
)
from wengert.training import averages

F64 = np.ndarray[Any, np.dtype[np.float64]]  # Any: every shape
State = dict[str, F64]
Recurrence = Callable[[F64, F64, State, int], F64]  # delta, weight, state, earlier steps -> step
STEPS = 200


class WithL2(L2Regularization, Momentum, LearningRate): ...


class WithAdamAndL2(L2Regularization, Adam, LearningRate): ...


class WithSchedule(AdamW, LearningRateSchedule): ...


class WithDecay(WeightDecay, Momentum, LearningRateSchedule): ...


class RateThenMomentum(LearningRateSchedule, Momentum): ...


class RateThenNesterov(LearningRateSchedule, Nesterov): ...


class WithClip(ClipByGlobalNorm, Adam, LearningRate): ...


class WithClips(ClipByValue, ClipByNorm, Momentum, LearningRate): ...


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


def moments(d: F64, w: F64, s: State, t: int) -> tuple[F64, F64]:
    s["m"] = 0.8 * s.get("m", np.zeros_like(w)) + 0.2 * d
    s["v"] = 0.99 * s.get("v", np.zeros_like(w)) + 0.01 * d**2
    return s["m"] / (1 - 0.8 ** (t + 1)), s["v"] / (1 - 0.99 ** (t + 1))


def amsgrad(d: F64, w: F64, s: State, t: int) -> F64:
    m, _ = moments(d, w, s, t)
    s["u"] = np.maximum(s.get("u", np.zeros_like(w)), s["v"])
    return 0.01 * m / (np.sqrt(s["u"] / (1 - 0.99 ** (t + 1))) + 1e-6)


def adamax(d: F64, w: F64, s: State, t: int) -> F64:
    m, _ = moments(d, w, s, t)
    s["u"] = np.maximum(0.99 * s.get("u", np.zeros_like(w)), np.abs(d) + 1e-6)
    return 0.01 * m / s["u"]


def nadam(d: F64, w: F64, s: State, t: int) -> F64:
    _, v = moments(d, w, s, t)
    mu = [0.8 * (1 - 0.5 * 0.96 ** ((i + 1) * 4e-3)) for i in range(t + 2)]
    ahead = mu[-1] * s["m"] / (1 - np.prod(mu)) + (1 - mu[-2]) * d / (1 - np.prod(mu[:-1]))
    return 0.01 * ahead / (np.sqrt(v) + 1e-6)


def radam(d: F64, w: F64, s: State, t: int) -> F64:
    m, _ = moments(d, w, s, t)
    late, most = 1 - 0.99 ** (t + 1), 2 / (1 - 0.99) - 1
    rho = most - 2 * (t + 1) * 0.99 ** (t + 1) / late
    if rho <= 5:
        return 0.01 * m
    r = np.sqrt((rho - 4) * (rho - 2) * most / ((most - 4) * (most - 2) * rho))
    return 0.01 * m * r * np.sqrt(late) / (np.sqrt(s["v"]) + 1e-6)


def lion(d: F64, w: F64, s: State, t: int) -> F64:
    m = s.get("m", np.zeros_like(w))
    s["m"] = 0.95 * m + 0.05 * d
    return 0.01 * np.sign(0.8 * m + 0.2 * d)


def lamb(d: F64, w: F64, s: State, t: int) -> F64:
    m, v = moments(d, w, s, t)
    r = m / (np.sqrt(v) + 1e-6) + 0.1 * w
    found: F64 = 0.01 * r * np.linalg.norm(w) / np.linalg.norm(r)
    return found


def rprop(d: F64, w: F64, s: State, t: int) -> F64:
    sign = np.sign(d * s.get("d", np.zeros_like(w)))
    size = s.get("size", np.full_like(w, 0.02)) * np.select([sign > 0, sign < 0], [1.2, 0.5], 1.0)
    s["size"], s["d"] = np.clip(size, 1e-3, 0.1), np.where(sign < 0, 0.0, d)
    return s["size"] * np.sign(s["d"])


def adafactor(d: F64, w: F64, s: State, t: int) -> F64:
    share, eps = (t + 1) ** -0.8, np.finfo(np.float64).eps
    if w.ndim == 2:
        s["r"] = (1 - share) * s.get("r", np.zeros((4, 1))) + share * np.mean(d**2, 1, keepdims=True)
        s["c"] = (1 - share) * s.get("c", np.zeros((1, 3))) + share * np.mean(d**2, 0, keepdims=True)
        v = s["r"] @ s["c"] / np.maximum(s["r"].mean(), eps)
    else:
        v = s["v"] = (1 - share) * s.get("v", np.zeros_like(w)) + share * d**2
    u = d / np.sqrt(np.maximum(v, eps**2))
    alpha = max(1e-3, np.sqrt(np.mean(w**2))) * min(0.1, (t + 1) ** -0.5)
    found: F64 = alpha * u / max(1.0, np.sqrt(np.mean(u**2)))
    return found


def muon(d: F64, w: F64, s: State, t: int) -> F64:
    if w.ndim != 2:  # such weights have other settings
        return 0.02 * d
    s["m"] = 0.9 * s.get("m", np.zeros_like(w)) + 0.1 * d
    x = (0.1 * d + 0.9 * s["m"]).T
    x = x / np.linalg.norm(x)
    for _ in range(5):
        gram = x @ x.T
        x = 3.4445 * x + (-4.7750 * gram + 2.0315 * gram @ gram) @ x
    found: F64 = 0.02 * np.sqrt(4 / 3) * x.T
    return found


def clips(d: F64, w: F64, s: State, t: int) -> F64:
    d = np.clip(d, -1.0, 1.0)
    return momentum(d * min(1.0, 1.5 / float(np.linalg.norm(d))), w, s, t)


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
    "AMSGrad": (lambda: WithAMSGrad(**BETAS), amsgrad),
    "Adamax": (lambda: WithAdamax(**BETAS), adamax),
    "NAdam": (lambda: WithNAdam(**BETAS), nadam),
    "RAdam": (lambda: WithRAdam(**BETAS), radam),
    "Lion": (lambda: WithLion(learning_rate=0.01, beta1=0.8, beta2=0.95), lion),
    "LAMB": (lambda: WithLAMB(decay=0.1, **BETAS), lamb),
    "Rprop": (lambda: Rprop(initial_step=0.02, min_step=1e-3, max_step=0.1), rprop),
    "Adafactor": (lambda: WithAdafactor(learning_rate=0.1, threshold=1.0), adafactor),
    "Muon": (lambda: WithMuon(learning_rate=0.02, momentum=0.9), muon),
    "clips of each weight": (
        lambda: WithClips(max_value=1.0, max_norm_of_weight=1.5, learning_rate=0.05),
        clips,
    ),
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
    others = SGD(learning_rate=0.02) if isinstance(settings, WithMuon) else settings
    weights = [(settings if w.ndim == 2 else others).array_weight(w) for w in starts]
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
def test_200_steps_are_those_of_the_formula(name: str) -> None:
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
        "AMSGrad": lambda p: optim.Adam(p, amsgrad=True, **betas),
        "Adamax": lambda p: optim.Adamax(p, **betas),
        "NAdam": lambda p: optim.NAdam(p, **betas),
        "RAdam": lambda p: optim.RAdam(p, **betas),
        "Rprop": lambda p: optim.Rprop(p, lr=0.02, step_sizes=(1e-3, 0.1)),
        "Adafactor": lambda p: optim.Adafactor(p, lr=0.1),
        "clips of each weight": lambda p: optim.SGD(p, lr=0.05, momentum=0.9),
        "Schedule": lambda p: optim.SGD(p, lr=1.0),  # times what the scheduler says
        "AdamW and a schedule": lambda p: optim.AdamW(p, weight_decay=0.1, **{**betas, "lr": 1.0}),
    }


NONE = ("WeightDecay", "left of", "Lion", "LAMB", "Muon")  # torch has none of these; its Muon, see below
PEERS = [name for name in CASES if not any(x in name for x in NONE)]


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
        if name == "clips of each weight":
            torch.nn.utils.clip_grad_value_(weights, 1.0)
            for w in weights:
                torch.nn.utils.clip_grad_norm_([w], 1.5)
        if name == "clip":
            torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
        if scheduler is not None:
            scheduler.step()
        found.append([w.detach().numpy().copy() for w in weights])
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", PEERS)
def test_200_steps_are_those_of_torch(name: str) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch comes with the extra `benchmarks` only")
    tolerance = 1e-5 if "clips" in name else 1e-9  # PyTorch divides by a norm and 1e-6
    agree(trained(CASES[name][0]()), by_torch(torch, peers(torch)[name], name), tolerance)


@pytest.mark.slow
def test_200_clipped_steps_are_those_of_torch() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch comes with the extra `benchmarks` only")
    settings = WithClip(max_norm=1.0, **BETAS)
    # PyTorch divides by n + 1e-6
    agree(trained(settings), by_torch(torch, peers(torch)["Adam"], "clip"), tolerance=1e-5)


@pytest.mark.slow
def test_200_steps_of_muon_are_near_those_of_torch_which_computes_in_bfloat16() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch comes with the extra `benchmarks` only")
    make = lambda p: torch.optim.Muon(p[:1], lr=0.02, momentum=0.9, weight_decay=0.0)  # noqa: E731
    ours, theirs = (
        [step[0] for step in steps] for steps in (trained(CASES["Muon"][0]()), by_torch(torch, make, "Muon"))
    )
    off = [np.linalg.norm(a - b) / np.linalg.norm(a) for a, b in zip(ours, theirs, strict=True)]
    assert 0.0 < max(off) < 0.05


def test_averages_are_those_of_all_weights_so_far() -> None:
    moving = WithMovingAverage(learning_rate=0.1, weight_decay=0.1, decay_of_average=0.75)
    mean = WithMean(learning_rate=0.1, weight_decay=0.1, average_from=3, average_every=2)
    v, w = (settings.array_weight(np.ones(3)) for settings in (moving, mean))
    seen, expected = [], np.zeros(3)
    for d in np.random.default_rng(0).standard_normal((12, 3)):
        (wg.sum(v * d) + wg.sum(w * d)).train().run()
        seen.append(w.data)
        expected = 0.75 * expected + 0.25 * v.data if len(seen) > 1 else v.data
    found = averages({"v": v, "w": w})
    np.testing.assert_allclose(found[v], expected, rtol=1e-12)
    np.testing.assert_allclose(found[w], np.mean(seen[3::2], axis=0), rtol=1e-12)
    with pytest.raises(PluginError, match="supply average_is"):
        type("Both", (ExponentialMovingAverage, StochasticWeightAveraging, SGD), {})
    with pytest.raises(ArgumentError, match="averages: no weight has one"):
        averages([SGD(learning_rate=0.1).double_weight(0.0)])


def test_a_slow_weight_goes_half_the_way() -> None:
    class Plain(WeightDecay, LearningRate): ...

    fast = Plain(learning_rate=0.1, weight_decay=0.1).array_weight(np.ones(3))
    noise = np.random.default_rng(0).standard_normal((4, 3))
    for d in noise:
        wg.sum(fast * d).train().run()
    from_ahead = type("Ahead", (Lookahead, WeightDecay, LearningRate), {})
    slow = from_ahead(learning_rate=0.1, weight_decay=0.1, every=4).array_weight(np.ones(3))
    for d in noise:
        wg.sum(slow * d).train().run()
    np.testing.assert_allclose(slow.data, (np.ones(3) + fast.data) / 2.0, rtol=1e-12)


FADING: dict[str, tuple[Callable[..., Any], dict[str, float], list[str]]] = {  # Any: classes of settings
    "Adam": (WithAdam, {"beta2": 0.9}, ["mean", "square"]),
    "Adamax": (WithAdamax, {}, ["mean"]),
    "Adadelta": (WithAdadelta, {}, ["square_delta", "square_step"]),
    "RMSprop": (WithRMSprop, {"rho": 0.9}, ["mean_square"]),
    "Momentum": (WithMomentum, {}, ["velocity"]),
    "Nesterov": (WithNesterov, {}, ["ahead"]),
    "Lion": (WithLion, {"beta2": 0.9}, ["direction"]),
    "Muon": (WithMuon, {"momentum": 0.9, "iterations": 1}, ["moving"]),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", FADING)
def test_what_gets_no_delta_any_more_does_not_end_in_subnormal_numbers(name: str, dtype: Any) -> None:
    """Any: an element type. Some processors take a hundred times as long for them, in a product with the rate, too."""
    make, numbers, states = FADING[name]
    w = make(learning_rate=1e-4, **numbers).array_weight(np.ones((1, 3), dtype), 1, 3)
    smallest, found = np.finfo(dtype).smallest_normal, [np.ones(3)]
    for step in range(8_000 if dtype is np.float64 else 1_000):
        wg.sum(w * (np.ones(3, dtype) if step == 0 else np.zeros(3, dtype))).train().run()
        found = [w.optimizer.kept()[state] for state in states]
        for x in found:
            assert not ((x != 0.0) & (np.abs(x) * 1e-4 < smallest)).any()
    assert all((x < smallest * 2.0**80).all() for x in found)  # it has got as far as that


@pytest.mark.parametrize(
    ("dtype", "last", "none"), [(np.float32, 1e-25, 1e-18), (np.float64, 1e-270, 1e-254)]
)
def test_a_running_mean_loses_its_last_bit_at_most_and_none_from_a_size_on(
    dtype: Any, last: float, none: float
) -> None:
    """Below a power of 2 the sum with a small number is rounded for the other side. Any: an element type."""
    tops = dtype(last) * 2.0 ** np.arange(1.0, 80.0, dtype=dtype)
    below = 2.0 ** np.ceil(np.log2(tops)) - np.spacing(tops) * np.arange(1.0, 9.0, dtype=dtype)[:, None]
    x = np.concatenate(
        [below.ravel(), np.random.default_rng(0).uniform(1.0, 2.0, (9, 79)).astype(dtype) * tops], None
    )
    lost = np.abs(decayed(x, 1.0, 0.0) - x) / np.spacing(x)
    assert x.dtype == dtype and 0.0 < lost.max() <= 1.0
    assert not lost[x >= none].any()
