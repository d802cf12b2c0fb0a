"""The axes of a permutation stand beside each other, as in PyTorch.

Source: written for this table.
"""

from typing import NewType

import numpy as np

import wengert as wg
from wengert.plugins import SGD

Batch = NewType("Batch", int)
settings = SGD(learning_rate=0.1)
w = settings.array_weight(np.ones((3, 2), np.float32), 3, 2)
x = wg.literal(np.ones((4, 3), np.float32), Batch, 3)
answers = x @ w
loss = wg.mean(wg.square(answers))

# bug: print(wg.permute_dims(x, 1, 0).shape)
print(wg.permute_dims(x, (1, 0)).shape)
