"""A class token is put before the sequence, and the mask is as long as without it.

Source: tahmid0007/VisualTransformers#11, Mask shape is not correct.
"""

from typing import NewType

import numpy as np

import wengert as wg

Batch = NewType("Batch", int)
x = wg.literal(np.ones((2, 5, 8), np.float32), Batch, 5, 8)
token = wg.literal(np.ones((2, 1, 8), np.float32), Batch, 1, 8)

tokens = wg.concat([token, x], axis=1)
# bug: mask = wg.literal(np.ones((2, 5, 1), np.float32), Batch, 5, 1)
mask = wg.literal(np.ones((2, 6, 1), np.float32), Batch, 6, 1)
print((tokens * mask).shape)  # shows
