"""The padding of the function is called 'same', as that of the layer.

Source: written for this table.
"""

from typing import NewType

import numpy as np

import wengert as wg

Batch = NewType("Batch", int)

x = wg.literal(np.ones((2, 3, 8, 8), np.float32), Batch, 3, 8, 8)
kernel = wg.literal(np.ones((4, 3, 3, 3), np.float32), 4, 3, 3, 3)
# bug: print(wg.conv2d(x, kernel, padding="same").shape)
print(wg.conv2d(x, kernel, padding=1).shape)
