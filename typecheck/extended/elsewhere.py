"""A module that does not import the extension (T64)."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import assert_type

import wengert as wg


def user(a: wg.DoubleExpression) -> wg.DoubleLayer:
    return wg.exp(a)


def case_registered_in_the_extension() -> None:  # T64
    assert_type(wg.exp(Decimal(1)), wg.DoubleLayer)
    assert_type(user(Decimal(1)), wg.DoubleLayer)
    assert_type(Decimal(1) * wg.lift(2.0), wg.DoubleLayer)


def case_registered_nowhere() -> None:  # T65
    user(Fraction(1))  # E[not-differentiable]: no Instance\[Fraction, ...\] in scope


def case_registered_here_as_well() -> None:  # T65
    @wg.register(Decimal)
    def local(x: Decimal) -> wg.Do[wg.Tape[float, float]]:
        return wg.Do.now(wg.Tape(float(x), lambda delta: wg.UnitContinuation.now(None)))

    assert_type(local(Decimal(1)), wg.DoubleLayer)
    assert_type(user(Decimal(1)), wg.DoubleLayer)  # a limit: what a function registers is in no scope
