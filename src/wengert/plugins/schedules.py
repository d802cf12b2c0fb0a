"""Learning rate schedules: functions of the number of commits, as frozen values.

Knows: the formulas of the usual ones, how two follow each other, and a picture of one.
Refuses to know: what the number is used for; a rate, a momentum or a decay may follow any of them.
"""

from __future__ import annotations

import math
import os
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import final

from wengert.arrays import is_integer, is_number
from wengert.errors import ArgumentError
from wengert.packages import optional
from wengert.site import user_position

__all__ = [
    "ConstantLR",
    "CosineAnnealingLR",
    "ExponentialLR",
    "LinearLR",
    "MultiStepLR",
    "OneCycleLR",
    "PolynomialLR",
    "RateSchedule",
    "SequentialLR",
    "StepLR",
]


class RateSchedule:
    """The base of frozen dataclasses that are functions of t, the number of earlier commits: 0, 1, 2, ...

    Give one to `LearningRateSchedule(schedule=...)`, or for any number of the settings to
    `Hyperparameters(schedules={...})`. ArgumentError, on making, for numbers that are negative or not finite, and for
    counts that are no integers or out of their range.

    >>> from wengert.plugins import LearningRateSchedule
    >>> schedule = CosineAnnealingLR(0.1, steps=4).warmup(2)
    >>> settings = LearningRateSchedule(schedule=schedule)
    >>> [round(schedule(t), 4) for t in range(7)]
    [0.0, 0.05, 0.1, 0.0854, 0.05, 0.0146, 0.0]
    """

    def __call__(self, t: int) -> float:
        raise NotImplementedError("each schedule has its formula")

    def __post_init__(self) -> None:
        for field in fields(self):  # type: ignore[arg-type] # every schedule is a dataclass
            value = getattr(self, field.name)
            if field.type == "int":
                _checked(
                    self, field.name, value, is_integer(value) and int(value) >= 1, "an integer from 1 on"
                )
            elif field.type == "float":
                _checked(
                    self, field.name, value, is_number(value) and value >= 0.0, "a finite number, at least 0"
                )

    def then(self, other: Callable[[int], float], after: int) -> SequentialLR:
        """This schedule for `after` commits, and then the other one, from its own 0 on.

        >>> [LinearLR(0.0, 0.2, steps=2).then(ConstantLR(0.5), after=3)(t) for t in range(5)]
        [0.0, 0.1, 0.2, 0.5, 0.5]
        """
        return SequentialLR(self, other, after)

    def warmup(self, steps: int, start: float = 0.0) -> SequentialLR:
        """A line from `start` to this schedule's first value, in so many commits, and then this schedule.

        >>> [ConstantLR(0.5).warmup(2)(t) for t in range(4)]
        [0.0, 0.25, 0.5, 0.5]

        Source: P. Goyal et al., "Accurate, Large Minibatch SGD: Training ImageNet in 1 Hour", 2017, section 2.2.
        """
        return LinearLR(start, self(0), steps).then(self, after=steps)

    def plot(self, path: str | os.PathLike[str], steps: int) -> None:
        """Draw the first `steps` values into a file, whose ending says which format.

        Raises PackageError without matplotlib, which is in the extra `plot`.
        """
        _checked(self, "plot(steps=)", steps, is_integer(steps) and int(steps) >= 1, "an integer from 1 on")
        figure = optional("matplotlib.figure", "matplotlib", "RateSchedule.plot", "plot").Figure(
            layout="constrained"
        )
        axes = figure.add_subplot()
        axes.plot(range(steps), [self(t) for t in range(steps)])
        axes.set_xlabel("commit")
        axes.set_ylabel("value")
        figure.savefig(os.fspath(path))


def _checked(schedule: object, name: str, value: object, right: bool, what: str) -> None:
    if not right:
        raise ArgumentError(
            f"{type(schedule).__name__}: {name} is {value!r:.60}; it has to be {what}\n  at {user_position()}"
        )


@final
@dataclass(frozen=True)
class ConstantLR(RateSchedule):
    """f(t) = rate.

    >>> ConstantLR(0.1)(1000)
    0.1

    Source: as in every textbook.
    """

    rate: float

    def __call__(self, t: int) -> float:
        return self.rate


@final
@dataclass(frozen=True)
class LinearLR(RateSchedule):
    """f(t) = start + (end - start) · min(t / steps, 1).

    >>> [LinearLR(1.0, 0.0, steps=4)(t) for t in (0, 1, 4, 5)]
    [1.0, 0.75, 0.0, 0.0]

    Source: `LinearLR` of PyTorch, `linear_schedule` of Optax.
    """

    start: float
    end: float
    steps: int

    def __call__(self, t: int) -> float:
        share = min(t / self.steps, 1.0)
        return (1.0 - share) * self.start + share * self.end


@final
@dataclass(frozen=True)
class CosineAnnealingLR(RateSchedule):
    """f(t) = end + (rate - end) · (1 + cos(π · min(t / steps, 1))) / 2, which stays at its end.

    >>> [round(CosineAnnealingLR(1.0, steps=4)(t), 4) for t in (0, 1, 2, 4, 5)]
    [1.0, 0.8536, 0.5, 0.0, 0.0]

    Source: I. Loshchilov, F. Hutter, "SGDR: Stochastic Gradient Descent with Warm Restarts", 2017, equation 5.
    """

    rate: float
    steps: int
    end: float = 0.0

    def __call__(self, t: int) -> float:
        return _cosine(self.rate, self.end, min(t / self.steps, 1.0))


def _cosine(start: float, end: float, share: float) -> float:
    return end + (start - end) * (1.0 + math.cos(math.pi * share)) / 2.0


@final
@dataclass(frozen=True)
class OneCycleLR(RateSchedule):
    """Half a cosine from rate / div_factor up to rate, and half a cosine down to rate / div_factor / final_div_factor.

    The way up takes the share `pct_start` of `steps`; the last of the `steps` values, that of t = steps - 1, is the
    least, and stays.

    >>> cycle = OneCycleLR(1.0, steps=10, pct_start=0.3, div_factor=10.0, final_div_factor=10.0)
    >>> [round(cycle(t), 4) for t in (0, 1, 2, 3, 9, 10)]
    [0.1, 0.55, 1.0, 0.951, 0.01, 0.01]

    Source: L. Smith, N. Topin, "Super-Convergence: Very Fast Training of Neural Networks Using Large Learning Rates",
    2017; `OneCycleLR` of PyTorch.
    """

    rate: float
    steps: int
    pct_start: float = 0.3
    div_factor: float = 25.0
    final_div_factor: float = 1e4

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("div_factor", "final_div_factor"):
            _checked(self, name, getattr(self, name), getattr(self, name) > 0.0, "above 0")
        inside = 1.0 < self.pct_start * self.steps < self.steps
        _checked(
            self, "pct_start", self.pct_start, inside, "a share of `steps` that is more than 1 and not all"
        )

    def __call__(self, t: int) -> float:
        first, top, last = self.rate / self.div_factor, self.pct_start * self.steps - 1.0, self.steps - 1.0
        if t <= top:
            return _cosine(first, self.rate, t / top)
        return _cosine(self.rate, first / self.final_div_factor, min((t - top) / (last - top), 1.0))


@final
@dataclass(frozen=True)
class StepLR(RateSchedule):
    """f(t) = rate · gamma^⌊t / step_size⌋.

    >>> [StepLR(1.0, step_size=2, gamma=0.5)(t) for t in range(5)]
    [1.0, 1.0, 0.5, 0.5, 0.25]

    Source: `StepLR` of PyTorch.
    """

    rate: float
    step_size: int
    gamma: float = 0.1

    def __call__(self, t: int) -> float:
        return self.rate * self.gamma ** (t // self.step_size)


@final
@dataclass(frozen=True)
class MultiStepLR(RateSchedule):
    """f(t) = rate · gammaⁿ, where n of the milestones are not after t.

    >>> [MultiStepLR(1.0, milestones=(1, 3), gamma=0.5)(t) for t in range(4)]
    [1.0, 0.5, 0.5, 0.25]

    Source: `MultiStepLR` of PyTorch.
    """

    rate: float
    milestones: tuple[int, ...]
    gamma: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        given: object = self.milestones
        ordered = isinstance(given, tuple) and all(map(is_integer, given)) and list(given) == sorted(given)
        _checked(self, "milestones", given, ordered, "a tuple of integers in order, as in (100, 150)")

    def __call__(self, t: int) -> float:
        return self.rate * self.gamma ** bisect_right(self.milestones, t)


@final
@dataclass(frozen=True)
class ExponentialLR(RateSchedule):
    """f(t) = rate · gammaᵗ.

    >>> [ExponentialLR(1.0, gamma=0.5)(t) for t in range(3)]
    [1.0, 0.5, 0.25]

    Source: `ExponentialLR` of PyTorch.
    """

    rate: float
    gamma: float

    def __call__(self, t: int) -> float:
        return self.rate * self.gamma**t


@final
@dataclass(frozen=True)
class PolynomialLR(RateSchedule):
    """f(t) = end + (rate - end) · (1 - min(t / steps, 1))^power.

    >>> [PolynomialLR(1.0, steps=4, power=2.0)(t) for t in (0, 1, 2, 4, 5)]
    [1.0, 0.5625, 0.25, 0.0, 0.0]

    Source: `PolynomialLR` of PyTorch, `polynomial_schedule` of Optax.
    """

    rate: float
    steps: int
    power: float = 1.0
    end: float = 0.0

    def __call__(self, t: int) -> float:
        return self.end + (self.rate - self.end) * (1.0 - min(t / self.steps, 1.0)) ** self.power


@final
@dataclass(frozen=True)
class SequentialLR(RateSchedule):
    """f(t) = first(t) for t < after, then second(t - after): see `RateSchedule.then`.

    >>> [SequentialLR(ConstantLR(1.0), ExponentialLR(1.0, 0.5), after=2)(t) for t in range(4)]
    [1.0, 1.0, 1.0, 0.5]

    Source: `SequentialLR` of PyTorch, `join_schedules` of Optax.
    """

    first: Callable[[int], float]
    second: Callable[[int], float]
    after: int

    def __call__(self, t: int) -> float:
        return self.first(t) if t < self.after else self.second(t - self.after)
