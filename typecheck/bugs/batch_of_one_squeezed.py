"""All axes of size one are squeezed, and the batch is among them.

Source: vvvb-github/AVSegFormer#9, einsum(): the number of subscripts in the equation (2) does not match.
"""

import numpy as np

import wengert as wg

maps = wg.literal(np.ones((1, 4, 3, 3), np.float32), 1, 4, 3, 3)
pooled = wg.literal(np.ones((1, 4, 1), np.float32), 1, 4, 1)
# bug: gate = wg.squeeze(pooled, axis=(0, 2))
gate = wg.squeeze(pooled, axis=2)
print(wg.einsum("bchw,bc->bchw", maps, gate).shape)  # shows
