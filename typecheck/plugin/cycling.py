"""The other half of an import cycle (T63), and what a name that is imported brings along (T64)."""

from __future__ import annotations

from decimal import Decimal
from typing import assert_type

import importing
from registered import Point as Place

import wengert as wg


class Mean:
    """A class that this module registers."""


def case_an_import_cycle() -> None:  # T63
    assert_type(wg.exp(Mean()), wg.DoubleLayer)
    assert_type(importing.decimal(Decimal(1)), wg.DoubleLayer)
    assert_type(wg.exp(Decimal(1)), wg.DoubleLayer)
    assert_type(wg.add(Mean(), Decimal(1)), wg.DoubleLayer)


def case_a_name_is_imported_from_a_module() -> None:  # T64
    assert_type(wg.relu(Place()), wg.ArrayLayer)


@wg.register(Mean)
def mean(x: Mean) -> wg.Do[wg.Tape[float, float]]:
    return wg.Do.now(wg.Tape(1.0, lambda delta: wg.UnitContinuation.now(None)))
