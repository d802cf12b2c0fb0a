"""A U-Net joins maps of an image whose size cannot be halved.

Source: bigmb/Unet-Segmentation-Pytorch-Nest-of-Unets#55, Expected size 61 but got size 60.
"""

from typing import NewType

import numpy as np

import wengert as wg

Batch = NewType("Batch", int)

# bug: encoded = wg.literal(np.ones((2, 8, 61, 61), np.float32), Batch, 8, 61, 61)
encoded = wg.literal(np.ones((2, 8, 60, 60), np.float32), Batch, 8, 60, 60)
decoded = wg.literal(np.ones((2, 8, 60, 60), np.float32), Batch, 8, 60, 60)
print(wg.concat([encoded, decoded], axis=1).shape)  # shows
