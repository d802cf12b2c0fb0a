"""The letters of an operand are one fewer than its axes.

Source: locuslab/deq#17, the number of subscripts in the equation (3) does not match the number of dimensions (4).
"""

from typing import NewType

import numpy as np

import wengert as wg

Batch = NewType("Batch", int)
x = wg.literal(np.ones((2, 4, 5, 6), np.float32), Batch, 4, 5, 6)

w = wg.literal(np.ones((6, 7), np.float32), 6, 7)
# bug: print(wg.einsum("bti,io->bto", x, w).shape)
print(wg.einsum("bcti,io->bcto", x, w).shape)
