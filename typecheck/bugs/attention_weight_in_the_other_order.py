"""The weight of a projection is stored as (out, in) and multiplied as (in, out).

Source: skyzh/tiny-llm#41, Weights shape issue in SimpleMultiHeadAttention.
"""

from typing import NewType

import numpy as np

import wengert as wg
from wengert.plugins import SGD

Batch = NewType("Batch", int)
settings = SGD(learning_rate=0.1)
x = wg.literal(np.ones((2, 12), np.float32), Batch, 12)

wq = settings.array_weight(np.ones((32, 12), np.float32), 32, 12)
# bug: print((x @ wq).shape)
print((x @ wg.permute_dims(wq, (1, 0))).shape)
