"""A second registration of one class (T65), and one of a class and of its subclass."""

from __future__ import annotations

from typing import assert_type

import cycling
import numpy as np

import wengert as wg


class Wide:
    """A class."""


class Narrow(Wide):
    """Its subclass, with a registration of its own."""


@wg.register(cycling.Mean)
def mean(x: cycling.Mean) -> wg.Do[wg.Tape[float, float]]:
    return wg.Do.now(wg.Tape(2.0, lambda delta: wg.UnitContinuation.now(None)))


@wg.register(Wide)
def wide(x: Wide) -> wg.Do[wg.Tape[float, float]]:
    return wg.Do.now(wg.Tape(2.0, lambda delta: wg.UnitContinuation.now(None)))


@wg.register(Narrow)
def narrow(x: Narrow) -> wg.Do[wg.Tape[np.float32, np.float32]]:
    return wg.Do.now(wg.Tape(np.float32(2), lambda delta: wg.UnitContinuation.now(None)))


def case_the_registration_of_this_module_is_the_second() -> None:  # T65
    wg.exp(cycling.Mean())  # E[not-differentiable]: 2 registrations are in scope


def case_the_nearer_class_counts() -> None:  # T63
    assert_type(wg.exp(Narrow()), wg.FloatLayer)
    assert_type(wg.exp(Wide()), wg.DoubleLayer)
