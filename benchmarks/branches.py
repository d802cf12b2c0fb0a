"""Workloads of branches that are too small to share: a `gather` of two, beside waiting for one and then for the other.

Empty branches are two delays of a number, made and run; small ones two layers of 2x2, whose values decide which of them
is the model's answer.

Knows: the branches, the executors and bars.
Refuses to know: how time is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import wengert as wg
from benchmarks.workload import BY_HAND, OURS, Step, Variant, Workload
from wengert.plugins import SGD
from wengert.run import Batched, Parallel

US = 1e-6
TOGETHER, IN_TURN = f"{OURS}, gathered", f"{OURS}, in turn"
NEVER_SLOWER = 1.05
Layer = wg.ArrayLayer[Any, np.float32]  # Any: shapes


def one() -> float:
    """The number of an empty branch."""
    return 1.0


def empty(together: bool) -> Step:
    """The sum of two delays."""

    def both() -> wg.Do[tuple[float, float]]:
        left, right = wg.Do.delay(one), wg.Do.delay(one)
        if together:
            return wg.gather(left, right)
        return left.flat_map(lambda a: right.map(lambda b: (a, b)))

    return lambda: sum(both().run())


def layers(executor: Callable[[], Any] | None, together: bool) -> Step:  # Any: executors
    """The loss of the layer with the greater first number, and a step of its weight."""
    weights = [SGD(learning_rate=0.0).array_weight(np.full((2, 2), n, np.float32)) for n in (1.0, 2.0)]
    x, chosen = wg.lift(np.ones((1, 2), np.float32)), None if executor is None else executor()

    @wg.differentiable
    async def model(x: Layer) -> wg.ArrayLayer[tuple[()], np.float32]:
        left, right = (x @ weight for weight in weights)
        if together:
            a, b = await wg.gather(left, right)
        else:
            a, b = await left, await right
        return wg.sum(left if a[0, 0] > b[0, 0] else right)

    return lambda: float(model(x).train().run(chosen))


def _workload(name: str, what: str, make: Callable[[bool], Step], answer: float) -> Workload:
    return Workload(
        f"branches-{name}",
        f"two branches of {what}",
        unit="us",
        seconds_in_unit=US,
        parts=1,
        variants=(
            Variant(TOGETHER, partial(make, True)),
            Variant(IN_TURN, partial(make, False)),
            Variant(BY_HAND, lambda: lambda: answer),
        ),
        bars={(TOGETHER, IN_TURN): NEVER_SLOWER},
    )


WORKLOADS = (
    _workload("empty", "an empty delay each", empty, 2.0),
    _workload("layers", "a layer of 2x2 each, a step of training", partial(layers, None), 8.0),
    _workload("layers-parallel", "the same by `Parallel`", partial(layers, lambda: Parallel(threads=2)), 8.0),
    _workload("layers-batched", "the same by `Batched`", partial(layers, lambda: Batched(threads=2)), 8.0),
)
