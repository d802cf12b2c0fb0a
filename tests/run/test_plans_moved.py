"""Weights that change between a planned way back and its updates: the changes of both are kept (S9, S10)."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.run.attacked import OPTIMIZERS
from tests.run.counting import state_of
from tests.run.planned import eager, plain
from tests.run.waiting import programs_counted
from wengert import ArrayLayer, Do, DoubleLayer
from wengert.run import Parallel


def scalars(settings: Any, executor: Any, inner: Any, steps: int = 12) -> list[object]:
    """Losses, data and states of a weight that a bind's resource trains while it closes."""
    weight = settings.double_weight(1.0)

    @contextmanager
    def training() -> Generator[None]:
        yield
        (weight * 1.0).train().run(inner)

    found: list[object] = []
    for _ in range(steps):
        layer = DoubleLayer(Do.resource(training).flat_map(lambda _: (weight * 2.0).forward))
        found += [(layer * weight * weight).train().run(executor), weight.data, state_of(weight)]
    return found


def arrays(settings: Any, executor: Any, inner: Any, steps: int = 12) -> list[object]:
    """The same of two weights of four numbers each, of which the resource trains one."""
    w, v = (settings.array_weight(np.arange(1.0, 5.0) / 8) for _ in range(2))

    @contextmanager
    def training() -> Generator[None]:
        yield
        wg.sum(w * w).train().run(inner)

    found: list[object] = []
    for _ in range(steps):
        layer: Any = ArrayLayer(Do.resource(training).flat_map(lambda _: (w * v).forward))
        found.append(wg.sum(layer * w * v).train().run(executor))
        for weight in (w, v):
            found += [weight.data.tolist(), state_of(weight)]
    return found


@pytest.mark.parametrize("network", [scalars, arrays])
@pytest.mark.parametrize("optimizer", sorted(OPTIMIZERS))
def test_a_resource_that_trains_while_it_closes_loses_nothing(optimizer: str, network: Any) -> None:
    expected = network(OPTIMIZERS[optimizer](), plain(), plain())
    with programs_counted() as calls:
        assert network(OPTIMIZERS[optimizer](), eager(worth=2)[0], plain()) == expected
    assert calls["way"] > 2  # it is there, and given up for what changed
    executor = eager(worth=2)[0]
    assert network(OPTIMIZERS[optimizer](), executor, executor) == expected
    parallel = Parallel(threads=2)
    assert network(OPTIMIZERS[optimizer](), parallel, parallel) == expected
