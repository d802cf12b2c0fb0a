"""A state that may be missing is replaced by `or`, which asks its truth.

Source: jax-ml/jax#16430, create TracerBoolConversionError for more targeted debugging tips.
"""

from typing import Literal, NewType

import numpy as np

import wengert as wg

Batch = NewType("Batch", int)
State = wg.ArrayLayer[tuple[Batch, Literal[3]]]
zeros = wg.literal(np.zeros((2, 3), np.float32), Batch, 3)


def begin(state: State | None = None) -> State:
    # bug: return state or zeros
    return zeros if state is None else state


print(begin().shape)
