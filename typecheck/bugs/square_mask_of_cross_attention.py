"""The mask of cross-attention is reshaped as if queries and keys were as many.

Source: harvard-edge/cs249r_book#1875, mask reshape assumes square, breaks cross-attention.
"""

from typing import NewType

import numpy as np

import wengert as wg

Batch = NewType("Batch", int)
Queries = NewType("Queries", int)
Keys = NewType("Keys", int)
mask = wg.literal(np.ones((2, 4, 6), np.float32), Batch, Queries, Keys)
b, q, k = mask.shape
# bug: print(wg.reshape(mask, (b, 1, q, q)).shape)
print(wg.reshape(mask, (b, 1, q, k)).shape)
