"""The elementwise product is written where the matrix product is meant.

Source: written for this table.
"""

from typing import NewType

import numpy as np

import wengert as wg
from wengert.plugins import SGD

Batch = NewType("Batch", int)

w = SGD(learning_rate=0.1).array_weight(np.ones((64, 64), np.float32), 64, 64, name="w")
x = wg.literal(np.ones((32, 64), np.float32), Batch, 64)
# bug: print((x * w).shape)
print((x @ w).shape)
