"""A module that the project configures as an extension (T64)."""

from __future__ import annotations

from decimal import Decimal
from typing import assert_type

import wengert as wg


@wg.register(Decimal)
def decimal(x: Decimal) -> wg.Do[wg.Tape[float, float]]:
    return wg.Do.now(wg.Tape(float(x), lambda delta: wg.UnitContinuation.now(None)))


def case_in_the_extension_itself() -> None:  # T64
    assert_type(wg.exp(Decimal(1)), wg.DoubleLayer)
