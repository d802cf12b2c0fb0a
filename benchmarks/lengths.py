"""What many structures cost that take turns, and what a long expression of cells costs: no cliff is allowed in either.

In the first workloads a recurrent network reads sequences of several lengths in turn, by the default executor and by
the interpreter, which has to be no faster. In the last the same cells are called in one expression that is too long
for a program, and in two that are not.

Knows: networks, lengths and bars.
Refuses to know: how time is taken.
"""

from __future__ import annotations

from functools import partial
from itertools import count
from typing import Any

import numpy as np

import wengert as wg
from benchmarks.workload import INTERPRETED, OURS, Step, Variant, Workload
from wengert.plugins import SGD
from wengert.run import Sequential

RATE = 1e-6
SIZE, BATCH, SHORTEST = 64, 8, 4
TOGETHER, APART = f"{OURS}, one expression", f"{OURS}, two expressions"
# an update of 300 weights more, and what the parts hand to each other
_NO_CLIFF = 3.0
_NEVER_SLOWER = 1.05


def turns(lengths: int, compiled: bool) -> Step:
    """A step for a sequence of the next length; so many take turns."""
    chance, settings, executor = np.random.default_rng(0), SGD(learning_rate=RATE), Sequential(compiled)
    weight = settings.array_weight((chance.standard_normal((SIZE, SIZE)) / 8).astype(np.float32))
    longest = SHORTEST + lengths
    inputs = chance.standard_normal((longest, BATCH, SIZE)).astype(np.float32)
    step = count()

    def run() -> float:
        # neighbours differ by more than one word, and all come equally often
        length = SHORTEST + next(step) * 7 % lengths
        h: Any = inputs[0]  # Any: an array, then a layer of an open size
        for x in inputs[1:length]:
            h = wg.tanh(h @ weight + x)
        return float(wg.mean(wg.square(h)).train().run(executor))

    return run


def cells(calls: int, weights: int, expressions: int) -> Step:
    """A step of so many calls of a cell that uses so many weights, shared out among expressions."""
    settings, executor = SGD(learning_rate=RATE), Sequential()
    several = [settings.double_weight(0.01 * i) for i in range(weights)]

    @wg.cell
    def one(x: wg.DoubleLayer) -> wg.DoubleLayer:
        for w in several:
            x = x * w + w
        return x

    def run() -> float:
        total = 0.0
        for part in range(expressions):
            first, *others = range(part, calls, expressions)
            y = one(wg.lift(0.5 + first))
            for k in others:
                y = y + one(wg.lift(0.5 + k))
            total += float(y.train().run(executor))
        return total

    return run


def _turns(lengths: int, shown: int | None = None) -> Workload:
    return Workload(
        f"lengths-{shown or lengths}",
        f"a recurrent network, {lengths} lengths in turn",
        unit="ms a step",
        seconds_in_unit=1e-3,
        parts=1,
        variants=(
            Variant(OURS, partial(turns, lengths, True)),
            Variant(INTERPRETED, partial(turns, lengths, False)),
        ),
        bars={(OURS, INTERPRETED): _NEVER_SLOWER},
        warm=12 * lengths,
        small=None if shown else _turns(2, lengths),
    )


def _cells(calls: int, weights: int, small: Workload | None = None) -> Workload:
    return Workload(
        "cells-long",
        f"{calls} calls of a cell of {2 * weights} operations",
        unit="us an operation",
        seconds_in_unit=1e-6,
        parts=2 * calls * weights,
        variants=(
            Variant(TOGETHER, partial(cells, calls, weights, 1)),
            Variant(APART, partial(cells, calls, weights, 2)),
        ),
        bars={(TOGETHER, APART): _NO_CLIFF},
        warm=24,
        small=small,
    )


WORKLOADS = (*map(_turns, (1, 8, 16, 40, 400)), _cells(36, 300, _cells(4, 3)))
