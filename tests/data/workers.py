"""What workers of `prefetch` run: functions of a module, which a process that is new can import."""

from __future__ import annotations

import os
import signal
from typing import Any

import numpy as np


def drawn(places: Any) -> Any:
    """Numbers that depend on the batch alone."""
    return np.random.default_rng(places.tolist()).standard_normal(3)


def killed(places: Any) -> Any:
    """A worker that the system kills."""
    os.kill(os.getpid(), signal.SIGKILL)


def failing(places: Any) -> Any:
    """An error of the user's function."""
    raise ValueError(f"no file for {places.tolist()}")
