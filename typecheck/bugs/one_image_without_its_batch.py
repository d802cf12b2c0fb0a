"""One image goes into a network without an axis for the batch.

Source: michuanhaohao/reid-strong-baseline#6, single image test.
"""

import numpy as np

import wengert as wg
from wengert.nn import Conv2d
from wengert.plugins import SGD

settings = SGD(learning_rate=0.1)

image = wg.literal(np.ones((3, 8, 8), np.float32), 3, 8, 8)
conv = Conv2d.make(settings, 3, 16, 3, seed=0)
# bug: print(conv(image).shape)
print(conv(wg.expand_dims(image, axis=0)).shape)
