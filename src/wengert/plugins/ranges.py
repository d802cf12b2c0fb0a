"""Hyperparameters that are no numbers, or outside the range where a formula means anything.

Knows: how a range is checked and described.
Refuses to know: which hyperparameters there are.
"""

from __future__ import annotations

import math

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


def check_number(
    settings: object, name: str, *, least: float = 0.0, below: float = math.inf, open_below: bool = False
) -> None:
    """`PluginError` unless the member is a finite number from `least`, itself included or not, to `below`.

    >>> class Settings:
    ...     momentum = 1.5
    >>> check_number(Settings(), "momentum", below=1.0)
    Traceback (most recent call last):
    wengert.errors.PluginError: Settings: momentum is 1.5; it has to be a number with 0 <= momentum < 1
      at ...
    """
    value: object = getattr(settings, name)
    number = float(value) if is_number(value) else math.nan
    if not (least < number if open_below else least <= number) or not number < below:
        limit = "" if below == math.inf else f" < {below:g}"
        kind = "finite number" if below == math.inf else "number"
        raise PluginError(
            f"{type(settings).__name__}: {name} is {shown(value)}; it has to be a {kind} with "
            f"{least:g} {'<' if open_below else '<='} {name}{limit}\n  at {user_position()}"
        )
