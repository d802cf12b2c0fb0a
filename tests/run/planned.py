"""Interpreters for tests of plans: one that never makes a plan, one that makes it at the first run.

Knows: how to compare what both do to the same network.
Refuses to know: any network.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

import wengert as wg
from wengert.run import Sequential
from wengert.run.compiled.plans import BackwardPrograms, Plans
from wengert.run.compiled.segment import Segments
from wengert.run.sequential import Engine


class Watched(Plans):
    """Plans that a test can count: made, found, and given up in a run."""

    def __init__(self, worth: int = 1) -> None:
        super().__init__(worth)

    @property
    def made(self) -> int:
        """How many plans there are."""
        return len(self._plans.items())

    def sources(self) -> list[str]:
        """The programs."""
        return [plan.program.source for plan in self._plans.items()]


def eager(worth: int = 1) -> tuple[Sequential, Watched]:
    """An interpreter whose plans come after `worth` runs, and its plans."""
    executor, plans = Sequential(), Watched(worth)
    executor.engine = Engine(plans, Segments(worth), backward=BackwardPrograms(worth))
    return executor, plans


def untimed(executor: Any) -> Any:  # Any: `Sequential`, or `Parallel`, which has one inside
    """An executor as users have it, but for the clock: its plans come after eight runs, and none goes for its time."""
    plans = getattr(executor, "inner", executor).engine.plans
    plans.account = None
    return executor


def plain() -> Sequential:
    """The definition."""
    return Sequential(compiled=False)


A = TypeVar("A")


Network = Callable[[], tuple[Sequence[Any], Callable[[int], Any]]]  # Any: weights and losses of every column


def trained(network: Network, executor: Sequential, steps: int = 5) -> list[Any]:  # Any: losses and data
    """The losses of some steps of a network made anew, then the data of its weights."""
    weights, loss = network()
    losses = [np.array(wg.train(loss(i)).run(executor)) for i in range(steps)]
    return [*losses, *(np.array(w.data) for w in weights)]


def same(a: Sequence[Any], b: Sequence[Any], tolerance: float = 0.0) -> None:
    """Both are equal bit for bit; or to a tolerance, where a sum's order follows the memory's."""
    assert len(a) == len(b)
    for x, y in zip(a, b, strict=True):
        assert x.dtype == y.dtype
        assert x.shape == y.shape
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)
