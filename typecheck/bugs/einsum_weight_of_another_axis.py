"""The weight of a mode is indexed by its modes first, and the letters by its inputs.

Source: pytorch/pytorch#58380, Clarity of error message in einsum.
"""

import numpy as np

import wengert as wg

first = wg.literal(np.ones((12, 64, 2), np.float32), 12, 64, 2)
weights = wg.literal(np.ones((12, 64, 2), np.float32), 12, 64, 2)
# bug: print(wg.einsum("bix,iox->box", first, weights).shape)
print(wg.einsum("bix,bix->bx", first, weights).shape)
