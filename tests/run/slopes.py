"""What tests of derivatives as expressions are written with: weights, a penalty on all derivatives, nodes counted."""

from __future__ import annotations

from typing import Any

import numpy as np

import wengert as wg
from wengert.graph.order import below
from wengert.plugins import SGD

SETTINGS = SGD(learning_rate=0.1)


def weight(*shape: int, seed: int = 0) -> wg.ArrayWeight[Any, np.float64]:
    return SETTINGS.array_weight(np.random.default_rng(seed).normal(size=shape))


def array(*x: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array(x, np.float64)


def penalty(loss: Any, *wrt: Any) -> Any:
    """Any: expressions. The sum of the squares of all derivatives."""
    total: Any = 0.0
    for layer in wg.gradients(loss, list(wrt)).layers:
        total = wg.sum(layer * layer) + total
    return total


def count(x: Any) -> int:  # Any: an expression
    return len(below(x, frozenset())[0])
