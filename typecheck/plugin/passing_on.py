"""A package's front: it passes on a class that another module defines and registers."""

from __future__ import annotations

from typing import assert_type

from cycling import Mean as Mean
from registered import Point as Point

import wengert as wg


def case_what_is_passed_on() -> None:  # T64
    assert_type(wg.exp(Mean()), wg.DoubleLayer)
