"""One call of an operation, and the same in plain numpy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Example:
    """One call: `call(*operands)` is the expression, `plain(numpy, *operands)` the same in plain numpy."""

    call: Callable[..., Any]  # Any: expressions of every column
    plain: Callable[..., Any]  # Any: the first argument is numpy or autograd's numpy
    operands: tuple[Any, ...]  # Any: float64 arrays and floats, those with a derivative
