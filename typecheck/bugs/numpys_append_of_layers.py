"""Layers are put together by numpy's function.

Source: jax-ml/jax#3160, Tracer can't be used with raw numpy functions.
"""

from typing import NewType

import numpy as np

import wengert as wg

Batch = NewType("Batch", int)
x = wg.literal(np.ones((2, 3), np.float32), Batch, 3)

# bug: print(np.concatenate([x, x], axis=1).shape)
print(wg.concat([x, x], axis=1).shape)
