"""Raw coordinates go where their sines and cosines are expected.

Source: liyuantsao/BFSR#7, mat1 and mat2 shapes cannot be multiplied (522240x3 and 27x27).
"""

from typing import NewType

import numpy as np

import wengert as wg
from wengert.nn import Linear
from wengert.plugins import SGD

Batch = NewType("Batch", int)
settings = SGD(learning_rate=0.1)
points = wg.literal(np.ones((2, 3), np.float32), Batch, 3)

waves = [points, *(f(points * scale) for scale in (1.0, 2.0, 4.0, 8.0) for f in (wg.sin, wg.cos))]
encoded = wg.reshape(wg.stack(waves, axis=1), (points.shape[0], 27))
# bug: print(Linear.make(settings, 27, 27, seed=0)(points).shape)
print(Linear.make(settings, 27, 27, seed=0)(encoded).shape)
