"""What is pooled from an odd size and doubled again is one smaller than the skip connection.

Source: YtongXie/CoTr#7, The size of tensor a (6) must match the size of tensor b (5).
"""

from typing import NewType

import numpy as np

import wengert as wg

Batch = NewType("Batch", int)

# bug: x = wg.literal(np.ones((2, 4, 11, 11), np.float32), Batch, 4, 11, 11)
x = wg.literal(np.ones((2, 4, 12, 12), np.float32), Batch, 4, 12, 12)
small = wg.max_pool2d(x, 2)
doubled = wg.stack([small, small], axis=3)
wide = wg.reshape(doubled, (x.shape[0], 4, small.shape[2], 2 * small.shape[3]))
print((wide + x[:, :, :6, :]).shape)  # shows
