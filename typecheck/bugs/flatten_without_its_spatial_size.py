"""The layer behind the flattening counts the channels and forgets height and width.

Source: mrdbourke/pytorch-deep-learning#763, Different inputs on Conv2d.
"""

from typing import NewType

import numpy as np

import wengert as wg
from wengert.nn import Linear
from wengert.plugins import SGD

Batch = NewType("Batch", int)
settings = SGD(learning_rate=0.1)
maps = wg.literal(np.ones((2, 10, 7, 7), np.float32), Batch, 10, 7, 7)

flat = wg.reshape(maps, (maps.shape[0], 490))
# bug: top = Linear.make(settings, 10, 10, seed=0)
top = Linear.make(settings, 490, 10, seed=0)
print(top(flat).shape)  # shows
