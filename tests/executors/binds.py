"""Binds of every kind: expressions that a value decides on in the run.

Knows: that a bind is stated by a coroutine, by `flat_map`, by branches of a `gather`, by a tape of a user's own or by a
recovered failure.
Refuses to know: who runs them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import wengert as wg
from tests.run.counting import Boom
from wengert import ArrayLayer, Do, Tape
from wengert.graph.operand import external

Layer = Any  # an array expression of any shape
Two = Callable[[], Layer]


def by_coroutine(x: Layer, asked: Layer, left: Two, right: Two) -> Layer:
    """Stated in full, so that what comes after it is known before the run."""

    async def chosen() -> Layer:
        return left() if float(np.asarray(await asked)) > 0 else right()

    return external(Do.coroutine(chosen).flat_map(lambda layer: layer.forward), x.kind)


def by_flat_map(x: Layer, asked: Layer, left: Two, right: Two) -> Layer:
    """What comes after it has a kind that only the run tells."""
    made: Layer = ArrayLayer(
        asked.forward.flat_map(lambda tape: (left() if float(np.asarray(tape.data)) > 0 else right()).forward)
    )
    return made


def by_gather(x: Layer, asked: Layer, left: Two, right: Two) -> Layer:
    """Both values, and the mean of both."""

    async def both() -> Layer:
        a, b = left(), right()
        u, v = await wg.gather(wg.sum(a), wg.sum(b))
        return (a + b) * 0.5 if u > v else b - a * 0.25

    return external(Do.coroutine(both).flat_map(lambda layer: layer.forward), x.kind)


def a_constant(x: Layer, asked: Layer, left: Two, right: Two) -> Layer:
    """Whose deltas nobody asks for."""

    async def constant() -> Layer:
        value: Any = await x
        return wg.lift(value.copy())

    return external(Do.coroutine(constant).flat_map(lambda layer: layer.forward), x.kind)


def an_own_tape(x: Layer, asked: Layer, left: Two, right: Two) -> Layer:
    """Which sends half of what arrives, twice."""

    def halved(tape: Tape[Any, Any]) -> Tape[Any, Any]:
        def back(delta: Do[Any]) -> wg.UnitContinuation[None]:
            half = delta.map(lambda d: d * x.kind.dtype.type(0.5))
            return tape.backward(half).flat_map(lambda _: tape.backward(half))

        return Tape(tape.data, back)

    return external(left().forward.map(halved), x.kind)


def recovered(x: Layer, asked: Layer, left: Two, right: Two) -> Layer:
    def failing(tape: Tape[Any, Any]) -> Do[Any]:
        if float(np.asarray(tape.data)) > 0:
            return Do.fail(Boom("chosen"))
        tapes: Do[Any] = left().forward
        return tapes

    return external(asked.forward.flat_map(failing).recover(lambda _: right().forward), x.kind)


WAYS = (by_coroutine, by_flat_map, by_gather, a_constant, an_own_tape, recovered)
