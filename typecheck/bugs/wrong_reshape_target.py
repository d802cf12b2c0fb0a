"""512 features are cut into 8 heads of 32.

Source: written for this table.
"""

from typing import NewType

import numpy as np

import wengert as wg

Batch = NewType("Batch", int)
Time = NewType("Time", int)

x = wg.literal(np.random.default_rng(0).standard_normal((2, 6, 512), np.float32), Batch, Time, 512)
b, t, _ = x.shape

# bug: heads = wg.reshape(x, (b, t, 8, 32))
heads = wg.reshape(x, (b, t, 8, 64))
print(heads.shape)
