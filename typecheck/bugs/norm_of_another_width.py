"""The layer is made wider, and its normalization is not.

Source: written for this table.
"""

from typing import NewType

import numpy as np

import wengert as wg
import wengert.nn as nn
from wengert.plugins import SGD

Batch = NewType("Batch", int)

settings = SGD(learning_rate=0.1)
layer = nn.Linear.make(settings, 64, 512, seed=0)
# bug: norm = nn.LayerNorm.make(settings, 256)
norm = nn.LayerNorm.make(settings, 512)
print(norm(layer(wg.literal(np.ones((4, 64), np.float32), Batch, 64))).shape)  # shows
