"""Operations made through `extend`, beside the library's own with the same rules and promises: as fast as these.

Knows: a network of products and tanh, by either.
Refuses to know: how time is taken.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import wengert as wg
from benchmarks.workload import OURS, Step, Variant, Workload
from wengert import extend
from wengert.plugins import SGD

EXTENDED = f"{OURS}, extended"
DEPTH, SIZE = 100, (16, 64)


@extend.elementwise(lambda c, g, y, x: g * (1.0 - y * y), pure=True)
def tanh(c: Any, x: Any) -> Any:  # Any: data of any column
    """As `wengert.tanh`."""
    return c.xp.tanh(x)


@extend.broadcasting(lambda c, g, y, a, b: g * b, lambda c, g, y, a, b: g * a, pure=True)
def multiply(c: Any, a: Any, b: Any) -> Any:  # Any: as above
    """As `wengert.multiply`."""
    return a * b


def network(own: bool, depth: int) -> Step:
    """A training step through so many layers."""
    settings = SGD(learning_rate=1e-6)
    several = [settings.array_weight(np.ones(SIZE, np.float32)) for _ in range(depth)]
    squashed, times = (wg.tanh, wg.multiply) if own else (tanh, multiply)

    def step() -> float:
        x: Any = np.full(SIZE, 0.5, np.float32)  # Any: an array, then a layer
        for w in several:
            x = squashed(times(w, x))
        return float(wg.mean(x).train().run())

    return step


def _workload(depth: int, small: Workload | None = None) -> Workload:
    return Workload(
        "extended",
        f"{depth} products and tanh of 16x64, by operations made through `extend`",
        unit="us a node",
        seconds_in_unit=1e-6,
        parts=2 * depth,
        variants=(
            Variant(EXTENDED, partial(network, False, depth)),
            Variant(OURS, partial(network, True, depth)),
        ),
        bars={(EXTENDED, OURS): 1.03},
        warm=60,
        small=small,
    )


WORKLOADS = (_workload(DEPTH, _workload(3)),)
