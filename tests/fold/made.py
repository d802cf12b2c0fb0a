"""What tests of blocks are written with.

Knows: blocks without their types, as tests also write what a checker refuses; short names for the usual ones; a weight,
its delta, an executor of each kind.
Refuses to know: any test.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

import wengert as wg
from wengert import fold
from wengert.plugins import SGD

Unchecked = Any
made: Unchecked = fold


def S(dtype: str = "float32") -> Unchecked:
    return made.Scalar(dtype)


def V(n: int) -> Unchecked:
    return made.Vector(n)


def F(function: Callable[..., Any]) -> Unchecked:  # Any: of whatever the block gives
    return made.Function(function)


def Id() -> Unchecked:
    return made.Identity()


def plain(x: Any) -> Any:  # Any: nested data of every kind
    """Data in place of arrays."""
    if isinstance(x, itertools.repeat):
        return ("endless", plain(next(x)))
    if isinstance(x, (tuple, list)):
        return type(x)(plain(part) for part in x)
    return x.tolist() if hasattr(x, "tolist") else x


EXECUTORS = {
    "sequential": wg.run.Sequential(),
    "parallel": wg.run.Parallel(threads=2),
    "batched": wg.run.Batched(),
}


def weight(x: float) -> wg.ArrayWeight[tuple[()]]:
    return SGD(learning_rate=0.1).array_weight(np.full((), x, np.float32))


def deltas(loss: Any, *weights: Any) -> list[float]:  # Any: expressions
    return [float(np.asarray(delta)) for delta in wg.gradients(loss, weights).run()]


def data_of(layer: Any) -> Any:  # Any: numbers in lists
    return np.asarray(layer.predict().run()).tolist()
