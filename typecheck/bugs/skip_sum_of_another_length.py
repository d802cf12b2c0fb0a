"""A sum of skip connections adds parts that dilation has cut to other lengths.

Source: vincentherrmann/pytorch-wavenet#32, size of tensor a (4) must match the size of tensor b (2).
"""

from typing import NewType

import numpy as np

import wengert as wg

Batch = NewType("Batch", int)

long = wg.literal(np.ones((2, 16, 30), np.float32), Batch, 16, 30)
short = wg.literal(np.ones((2, 16, 28), np.float32), Batch, 16, 28)
# bug: skip = long + short
skip = long[:, :, 2:] + short
print(skip.shape)
