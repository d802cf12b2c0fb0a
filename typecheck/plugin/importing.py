"""Registrations of modules that are imported directly (T64), also in a cycle (T63)."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import assert_type

import cycling
import registered

import wengert as wg


@wg.register(Decimal)
def decimal(x: Decimal) -> wg.Do[wg.Tape[float, float]]:
    return wg.Do.now(wg.Tape(float(x), lambda delta: wg.UnitContinuation.now(None)))


def case_a_module_is_imported() -> None:  # T64
    assert_type(wg.exp(Fraction(1)), wg.DoubleLayer)
    assert_type(wg.relu(registered.Far()), wg.ArrayLayer)
    assert_type(registered.user(Fraction(1)), wg.DoubleLayer)


def case_in_a_function_of_another_module() -> None:  # T64
    assert_type(registered.user(Decimal(1)), wg.DoubleLayer)
    registered.user(cycling.Mean())


def case_an_import_cycle() -> None:  # T63
    assert_type(wg.exp(cycling.Mean()), wg.DoubleLayer)
    assert_type(Decimal(1) * wg.lift(2.0), wg.DoubleLayer)
