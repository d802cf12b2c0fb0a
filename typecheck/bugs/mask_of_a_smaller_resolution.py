"""Features are multiplied by a mask of another resolution.

Source: AndreaCodegoni/Tiny_model_4_CD#2, The size of tensor a (64) must match the size of tensor b (256).
"""

from typing import NewType

import numpy as np

import wengert as wg

Batch = NewType("Batch", int)
features = wg.literal(np.ones((2, 4, 16, 16), np.float32), Batch, 4, 16, 16)
mask = wg.literal(np.ones((2, 1, 4, 4), np.float32), Batch, 1, 4, 4)

# bug: print((features * mask).shape)
print((wg.avg_pool2d(features, 4) * mask).shape)
