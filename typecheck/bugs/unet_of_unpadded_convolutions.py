"""The encoder's map is not cut to what unpadded convolutions leave of the decoder's.

Source: ptrblck/pytorch_misc#2, Sizes of tensors must match except in dimension 1.
"""

from typing import NewType

import numpy as np

import wengert as wg
from wengert.nn import Conv2d
from wengert.plugins import SGD

Batch = NewType("Batch", int)
settings = SGD(learning_rate=0.1)
x = wg.literal(np.ones((2, 4, 10, 10), np.float32), Batch, 4, 10, 10)

y = Conv2d.make(settings, 4, 4, 3, seed=0)(x)
# bug: both = wg.concat([x, y], axis=1)
both = wg.concat([x[:, :, 1:9, 1:9], y], axis=1)
print(both.shape)
