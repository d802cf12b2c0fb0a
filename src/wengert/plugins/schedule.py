"""A learning rate that changes with time.

Knows: that time is the number of commits of one settings object, which only a commit changes.
Refuses to know: any particular schedule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from numbers import Real
from operator import setitem
from typing import ClassVar, Final, Self

from wengert.arrays import Value
from wengert.arrays.changes import Change
from wengert.errors import PluginError
from wengert.plugins.optimizer import Optimizer
from wengert.plugins.plugin import Plugin
from wengert.plugins.rate import LearningRate, Rated, Scaled


class LearningRateScheduleOptimizer(Scaled["LearningRateSchedule"]):
    """Tells the time to the settings; a file has it with each weight, whichever of them it is given back to."""

    commits: int = 0  # in a file only: the time is that of the settings, also for a weight that had no delta

    def inputs(self) -> dict[str, float]:
        return {**super().inputs(), "_input": self.settings.rate}

    def _late_changes(self, alone: bool) -> list[Change]:
        # of each weight, though one would do: all set the same number
        return [*super()._late_changes(alone), *self.settings.going_on(self.settings.commits + 1)]

    def kept(self) -> dict[str, Value]:
        return {**super().kept(), "commits": self.settings.commits}

    def _loading(self, optimizers: Sequence[Self]) -> list[Change]:
        commits = max(vars(optimizer).pop("commits", 0) for optimizer in optimizers)
        return [*super()._loading(optimizers), *self.settings.going_on(commits)]


class LearningRateSchedule(Rated):
    """w ← w - schedule(t) · d, where t is how many commits this settings object has had before: 0, 1, 2, ...

    `schedule` is called once a commit. `PluginError` if it gives no finite number, or one below 0; no weight
    changes then. A file of weights has the time at which it was saved, and loading it sets this object's.

    >>> w = LearningRateSchedule(schedule=lambda t: 0.5**t).double_weight(2.0)
    >>> [(w * 1.0).train().run() for _ in range(3)], w.data
    ([2.0, 1.0, 0.5], 0.25)

    Source: H. Robbins, S. Monro, "A Stochastic Approximation Method", 1951: steps a₁, a₂, ...
    """

    schedule: Callable[[int], float]
    optimizer: ClassVar[type[Optimizer]] = LearningRateScheduleOptimizer
    _input: ClassVar[float | None] = None  # of the settings that steps of a plan read: the rate

    def __post_init__(self) -> None:
        if not callable(self.schedule):
            raise PluginError(
                f"{type(self).__name__}: schedule is {self.schedule!r}; it has to be a function of the number "
                "of earlier commits, as in schedule=lambda t: 0.1 / (1 + t)"
            )
        self._commits = 0
        self._rates: dict[int, float] = {}  # of the present commit

    @property
    def commits(self) -> int:
        """Number of commits so far."""
        return self._commits

    @property
    def rate(self) -> float:
        if self._input is not None:
            return self._input
        t = self._commits
        if t not in self._rates:
            self._rates.clear()
            self._rates[t] = self._checked(self.schedule(t), t)
        return self._rates[t]

    def _checked(self, rate: object, t: int) -> float:
        if isinstance(rate, Real) and 0.0 <= float(rate) < inf:
            return float(rate)
        raise PluginError(
            f"{type(self).__name__}: schedule({t}) is {rate!r}; a rate has to be a finite number, at least 0"
        )

    def going_on(self, commits: int) -> list[Change]:
        """Changes that set the number of commits."""
        return [(self._rates.clear,), (setitem, vars(self), "_commits", commits)]


RATES: Final[tuple[type[Plugin], ...]] = (LearningRate, LearningRateSchedule)  # what has to come last
