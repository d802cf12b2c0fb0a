"""Ready schedules: values as PyTorch's schedulers have them, refusals, and a picture."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from wengert.errors import ArgumentError
from wengert.plugins import schedules
from wengert.plugins.schedules import (
    ConstantLR,
    CosineAnnealingLR,
    ExponentialLR,
    LinearLR,
    MultiStepLR,
    OneCycleLR,
    PolynomialLR,
    RateSchedule,
    StepLR,
)

STEPS = 60
CASES: dict[str, RateSchedule] = {
    "ConstantLR": ConstantLR(0.1),
    "LinearLR": LinearLR(0.01, 0.1, steps=20),
    "CosineAnnealingLR": CosineAnnealingLR(0.1, steps=STEPS, end=0.01),
    "OneCycleLR": OneCycleLR(0.1, steps=STEPS),
    "StepLR": StepLR(0.1, step_size=7, gamma=0.5),
    "MultiStepLR": MultiStepLR(0.1, milestones=(5, 20, 20), gamma=0.5),
    "ExponentialLR": ExponentialLR(0.1, gamma=0.95),
    "PolynomialLR": PolynomialLR(0.1, steps=30, power=1.5),
    "SequentialLR": CosineAnnealingLR(0.1, steps=50).warmup(10, start=0.01),
}


def peers(s: Any, optimizer: Any) -> dict[str, Callable[[], Any]]:  # Any: torch may be absent
    return {
        "ConstantLR": lambda: s.ConstantLR(optimizer, factor=1.0),
        "LinearLR": lambda: s.LinearLR(optimizer, start_factor=0.1, total_iters=20),
        "CosineAnnealingLR": lambda: s.CosineAnnealingLR(optimizer, T_max=STEPS, eta_min=0.01),
        "OneCycleLR": lambda: s.OneCycleLR(optimizer, max_lr=0.1, total_steps=STEPS),
        "StepLR": lambda: s.StepLR(optimizer, step_size=7, gamma=0.5),
        "MultiStepLR": lambda: s.MultiStepLR(optimizer, milestones=[5, 20, 20], gamma=0.5),
        "ExponentialLR": lambda: s.ExponentialLR(optimizer, gamma=0.95),
        "PolynomialLR": lambda: s.PolynomialLR(optimizer, total_iters=30, power=1.5),
        "SequentialLR": lambda: s.SequentialLR(
            optimizer,
            [
                s.LinearLR(optimizer, start_factor=0.1, total_iters=10),
                s.CosineAnnealingLR(optimizer, T_max=50),
            ],
            milestones=[10],
        ),
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_values_are_those_of_torch(name: str) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch comes with the extra `benchmarks` only")
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1, momentum=0.9)
    scheduler = peers(torch.optim.lr_scheduler, optimizer)[name]()
    found = []
    for t in range(STEPS):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        if t < STEPS - 1:
            scheduler.step()
    assert [CASES[name](t) for t in range(STEPS)] == pytest.approx(found, rel=1e-9)


def test_all_are_values() -> None:
    for schedule in CASES.values():
        assert pickle.loads(pickle.dumps(schedule)) == schedule
        assert all(0.0 <= schedule(t) <= 0.1 for t in (0, 1, STEPS, 10 * STEPS))
    assert {type(s).__name__ for s in CASES.values()} | {"RateSchedule"} == set(schedules.__all__)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: ConstantLR(-0.1), r"ConstantLR: rate is -0\.1; it has to be a finite number, at least 0"),
        (
            lambda: CosineAnnealingLR(0.1, steps=0),
            "CosineAnnealingLR: steps is 0; it has to be an integer from 1",
        ),
        (lambda: LinearLR(0.1, float("inf"), 3), "LinearLR: end is inf"),
        (lambda: OneCycleLR(0.1, steps=2), "OneCycleLR: pct_start is 0.3; it has to be a share"),
        (
            lambda: OneCycleLR(0.1, steps=9, div_factor=0.0),
            "OneCycleLR: div_factor is 0.0; it has to be above 0",
        ),
        (
            lambda: MultiStepLR(0.1, (3, 1)),
            r"MultiStepLR: milestones is \(3, 1\); it has to be a tuple of integers",
        ),
        (lambda: ConstantLR(0.1).then(ConstantLR(0.1), after=0), "SequentialLR: after is 0"),
    ],
)
def test_numbers_out_of_range_are_refused(make: Callable[[], object], said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        make()


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # matplotlib's own are not ours to mend
def test_a_picture_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="of the extra `plot`")
    OneCycleLR(0.1, steps=20).plot(tmp_path / "rate.svg", steps=20)
    assert "commit" in (tmp_path / "rate.svg").read_text()
