"""A registration in the module of the class is in scope wherever the class comes from (T64)."""

from __future__ import annotations

from typing import assert_type

from given import x
from passing_on import Mean, Point

import wengert as wg


class Further(Point):
    """A subclass in a module that knows nothing of the registration."""


def case_a_class_that_another_module_passes_on() -> None:  # T64
    assert_type(wg.exp(Mean()), wg.DoubleLayer)
    assert_type(2.0 * wg.lift(1.0) * Mean(), wg.DoubleLayer)
    assert_type(wg.relu(Point()), wg.ArrayLayer)
    assert_type(x * Further(), wg.ArrayLayer)
