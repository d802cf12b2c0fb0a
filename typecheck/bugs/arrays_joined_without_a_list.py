"""Arrays that are joined stand beside each other, not in a list.

Source: pytorch/pytorch#130691, The doc of cat() should say tuple or list of tensors.
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

# bug: print(wg.concat(x, answers, axis=1).shape)
print(wg.concat([x, answers], axis=1).shape)
