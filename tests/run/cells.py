"""What the tests of cells share: settings, an operand of an open shape, an executor of each kind."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import wengert as wg
from wengert.plugins import SGD

F64 = np.float64
SETTINGS = SGD(learning_rate=0.1)


@wg.differentiable
async def open_shape(x: wg.ArrayExpression[Any, np.float64]) -> wg.ArrayLayer[Any, np.float64]:
    """What only the run knows the shape of."""
    return wg.multiply(x, 1.0)


EXECUTORS: dict[str, Any] = {  # Any: executors of every kind
    "sequential": wg.run.Sequential,
    "parallel": partial(wg.run.Parallel, threads=2),
    "batched": wg.run.Batched,
}
