"""A layer has lost channels, and the next one was left as it was.

Source: VainF/Torch-Pruning#212, mat1 and mat2 error when pruning layer4.0.conv2.
"""

from typing import NewType

import numpy as np

import wengert as wg
from wengert.nn import Linear, Sequential
from wengert.plugins import SGD

Batch = NewType("Batch", int)
settings = SGD(learning_rate=0.1)
x = wg.literal(np.ones((2, 8), np.float32), Batch, 8)

pruned = Linear.make(settings, 8, 1, seed=0)
# bug: top = Linear.make(settings, 16, 2, seed=1)
top = Linear.make(settings, 1, 2, seed=1)
print(Sequential(pruned, wg.relu, top)(x).shape)  # shows
