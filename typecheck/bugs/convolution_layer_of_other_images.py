"""A network for gray images is given color ones.

Source: written for this table.
"""

from typing import NewType

import numpy as np

import wengert as wg
import wengert.nn as nn
from wengert.plugins import SGD

Batch = NewType("Batch", int)

# bug: conv = nn.Conv2d.make(SGD(learning_rate=0.1), 1, 8, 3, seed=0)
conv = nn.Conv2d.make(SGD(learning_rate=0.1), 3, 8, 3, seed=0)
images = wg.literal(np.ones((2, 3, 32, 32), np.float32), Batch, 3, 32, 32)
print(conv(images).shape)  # shows
