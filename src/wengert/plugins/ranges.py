"""Ranges of hyperparameters: what is declared with a member, and checked where settings are made.

Knows: how a range is checked and described.
Refuses to know: which hyperparameters there are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, TypeAlias

from wengert.arrays import is_integer, is_number
from wengert.errors import PluginError
from wengert.graph.operand import shown
from wengert.site import user_position


def plain(x: float) -> float:
    """A number as Python's, which changes no element type of what it stands beside.

    >>> import numpy as np
    >>> plain(np.float32(0.5)), plain(np.int64(2)), plain(0.1)
    (0.5, 2, 0.1)
    """
    return int(x) if is_integer(x) else float(x)


@dataclass(frozen=True, slots=True)
class Range:
    """Finite numbers from `least`, itself included or not, to `below`, which is not.

    >>> class Settings:
    ...     momentum = 1.5
    >>> Range(below=1.0).check(Settings(), "momentum")
    Traceback (most recent call last):
    wengert.errors.PluginError: Settings: momentum is 1.5; it has to be a number with 0 <= momentum < 1
      at ...
    """

    least: float = 0.0
    below: float = math.inf
    open_below: bool = False

    def check(self, settings: object, name: str) -> None:
        """`PluginError` unless the member is such a number."""
        value: object = getattr(settings, name)
        number = float(value) if is_number(value) else math.nan
        if not (self.least < number if self.open_below else self.least <= number) or not number < self.below:
            limit = "" if self.below == math.inf else f" < {self.below:g}"
            kind = "finite number" if self.below == math.inf else "number"
            raise PluginError(
                f"{type(settings).__name__}: {name} is {shown(value)}; it has to be a {kind} with "
                f"{self.least:g} {'<' if self.open_below else '<='} {name}{limit}\n  at {user_position()}"
            )


NonNegative: TypeAlias = Annotated[float, Range()]
Positive: TypeAlias = Annotated[float, Range(open_below=True)]
BelowOne: TypeAlias = Annotated[float, Range(below=1.0)]  # from 0 on
