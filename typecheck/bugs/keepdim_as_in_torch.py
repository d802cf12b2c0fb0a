"""The keyword for an axis that stays is numpy's, `keepdims`.

Source: google-research/jax3d#205, argmax() got an unexpected keyword argument 'keepdims.
"""

from typing import NewType

import numpy as np

import wengert as wg

Batch = NewType("Batch", int)
x = wg.literal(np.ones((2, 3), np.float32), Batch, 3)

# bug: print((x - wg.max(x, axis=1, keepdim=True)).shape)
print((x - wg.max(x, axis=1, keepdims=True)).shape)
