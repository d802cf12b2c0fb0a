"""What many structures cost that take turns, and what a long expression of cells costs: no cliff is allowed in either.

In the first workloads a recurrent network reads sequences of several lengths in turn, by the default executor and by
the interpreter, which has to be no faster: not in all, from the first run on, while plans are made, and not later. Of
400 structures there are 40 lengths, each with ten sizes of a batch. In the last the same cells are called in one
expression that is too long for a program, and in two that are not.

Knows: networks, lengths and bars.
Refuses to know: how time is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any

import numpy as np

import wengert as wg
from benchmarks.workload import INTERPRETED, OURS, Step, Variant, Workload
from wengert.plugins import SGD
from wengert.run import Sequential

RATE = 1e-6
SIZE, BATCH, SHORTEST, LONGEST = 64, 8, 4, 40
TOGETHER, APART = f"{OURS}, one expression", f"{OURS}, two expressions"
# an update of 300 weights more, and what the parts hand to each other
_NO_CLIFF = 3.0
_NEVER_SLOWER = 1.05
_SETTLED = {40: 0.6}  # of the interpreter's time, when all plans have been made
_ROUNDS = {1: 200, 400: 20}  # in a total, of so many structures; else:
_USUAL_ROUNDS = 100
_LATER = {400: 60}  # rounds after which nothing is said to begin any more; else:
_USUALLY_LATER = 200


def losses(structures: int) -> Callable[[int], Any]:  # Any: an expression
    """A loss for each of so many structures, built anew each time."""
    chance, settings = np.random.default_rng(0), SGD(learning_rate=RATE)
    weight = settings.array_weight((chance.standard_normal((SIZE, SIZE)) / 8).astype(np.float32))
    lengths = min(structures, LONGEST)
    inputs = chance.standard_normal((SHORTEST + lengths, BATCH + structures // lengths, SIZE)).astype(
        np.float32
    )

    def loss(step: int) -> Any:
        # neighbours differ by more than one word, and all come equally often
        wider, length = divmod(step * 7 % structures, lengths)
        now = inputs[: SHORTEST + length, : BATCH + wider]
        h: Any = now[0]  # Any: an array, then a layer of an open size
        for x in now[1:]:
            h = wg.tanh(h @ weight + x)
        return wg.mean(wg.square(h))

    return loss


def turns(structures: int, compiled: bool) -> Step:
    """A step is a run of each of so many structures, which take turns."""
    loss, executor, step = losses(structures), Sequential(compiled), count()
    return lambda: sum(float(loss(next(step)).train().run(executor)) for _ in range(structures))


def totals(structures: int, rounds: int, compiled: bool) -> Step:
    """A step is so many rounds by an executor that is new, which has everything to learn and to make."""
    loss = losses(structures)

    def run() -> float:
        executor = Sequential(compiled)
        return sum(float(loss(step).train().run(executor)) for step in range(rounds * structures))

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


def _workload(
    name: str, what: str, parts: int, step: Callable[[bool], Step], bar: float, **more: Any
) -> Workload:
    """Any: what only some workloads have."""
    return Workload(
        name,
        what,
        unit="ms a run",
        seconds_in_unit=1e-3,
        parts=parts,
        variants=(Variant(OURS, partial(step, True)), Variant(INTERPRETED, partial(step, False))),
        bars={(OURS, INTERPRETED): bar},
        **more,
    )


def _turns(structures: int, shown: int | None = None) -> Workload:
    return _workload(
        f"lengths-{shown or structures}",
        f"a recurrent network, {structures} structures in turn",
        structures,
        partial(turns, structures),
        _SETTLED.get(structures, _NEVER_SLOWER),
        warm=12 if shown else _LATER.get(structures, _USUALLY_LATER),
        small=None if shown else _turns(2, structures),
    )


def _totals(structures: int, shown: int | None = None) -> Workload:
    rounds = 12 if shown else _ROUNDS.get(structures, _USUAL_ROUNDS)
    return _workload(
        f"lengths-{shown or structures}-total",
        f"a recurrent network, {structures} structures in turn, {rounds} runs of each from the first one on",
        structures * rounds,
        partial(totals, structures, rounds),
        _NEVER_SLOWER,
        warm=1,
        settles=0.0,
        rounds=1 if structures > LONGEST else 3,
        small=None if shown else _totals(2, structures),
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


_STRUCTURES = (1, 8, 16, 40, 400)
WORKLOADS = (*map(_turns, _STRUCTURES), *map(_totals, _STRUCTURES), _cells(36, 300, _cells(4, 3)))
