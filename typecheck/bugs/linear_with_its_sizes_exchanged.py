"""The sizes of a layer are given in the order outputs, inputs.

Source: written for this table.
"""

from typing import NewType

import numpy as np

import wengert as wg
import wengert.nn as nn
from wengert.plugins import SGD

Batch = NewType("Batch", int)

# bug: layer = nn.Linear.make(SGD(learning_rate=0.1), 10, 64, seed=0)
layer = nn.Linear.make(SGD(learning_rate=0.1), 64, 10, seed=0)
x = wg.literal(np.ones((4, 64), np.float32), Batch, 64)
print(layer(x).shape)  # shows
