"""A step that gives more than its loss (`also=`), and a prediction at other data (`at=`): as fast as those without.

Knows: a network of dense layers that is run again, with and without.
Refuses to know: how time is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import wengert as wg
from benchmarks.workload import OURS, Step, Variant, Workload
from wengert.nn import Linear
from wengert.plugins import SGD

ALSO, AT, PREDICTED = f"{OURS}, also", f"{OURS}, at", f"{OURS}, predicted"
ROWS, WIDTH, DEPTH = 64, 128, 4


def network(what: str, rows: int, width: int) -> Step:
    """A step of one kind."""
    settings = SGD(learning_rate=1e-6)
    layers = [Linear.make(settings, width, width, seed=i) for i in range(DEPTH)]
    y: wg.ArrayLayer[Any] = wg.lift(np.ones((rows, width), np.float32))
    for layer in layers:
        y = wg.tanh(layer(y))
    loss = wg.mean(wg.square(y))
    weight = layers[0].weight
    other = settings.array_weight(np.array(weight.data)).data  # on a cache line, as those of weights are
    questions: dict[str, Callable[[], wg.Do[Any]]] = {  # Any: of each kind what it gives
        OURS: loss.train,
        ALSO: lambda: loss.train(also=(y,)),
        PREDICTED: loss.predict,
        AT: lambda: loss.predict(at={weight: other}),
    }
    asked = questions[what]()

    def step() -> float:
        found = asked.run()
        return float(found[0] if what == ALSO else found)

    return step


def _workload(name: str, text: str, pair: tuple[str, str], small: Workload | None = None) -> Workload:
    rows, width = (ROWS, WIDTH) if small is not None else (2, 4)
    return Workload(
        name,
        f"{text} a network of {DEPTH} layers, {rows}x{width}",
        unit="us",
        seconds_in_unit=1e-6,
        parts=1,
        variants=tuple(Variant(what, partial(network, what, rows, width)) for what in pair),
        bars={pair: 1.03},
        warm=60,
        small=small,
    )


def _both(name: str, text: str, pair: tuple[str, str]) -> Workload:
    return _workload(name, text, pair, _workload(name, text, pair))


WORKLOADS = (
    _both("also", "a step that gives the last layer besides, of", (ALSO, OURS)),
    _both("at", "a prediction at other data for a weight, of", (AT, PREDICTED)),
)
