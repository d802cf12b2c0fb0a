"""The size of the flattened features is that before the second pooling.

Source: written for this table.
"""

from typing import Literal, NewType

import numpy as np

import wengert as wg
from wengert.plugins import SGD

Batch = NewType("Batch", int)
Features = wg.ArrayLayer[tuple[Batch, Literal[16], Literal[14], Literal[14]]]

# bug: head = SGD(learning_rate=0.1).array_weight(np.ones((3136, 10), np.float32), 3136, 10)
head = SGD(learning_rate=0.1).array_weight(np.ones((784, 10), np.float32), 784, 10)


def logits(x: Features) -> wg.ArrayLayer[tuple[Batch, Literal[10]]]:
    pooled = wg.max_pool2d(wg.relu(x), 2)
    flat = wg.reshape(pooled, (pooled.shape[0], -1))
    return flat @ head  # shows


print(logits(wg.literal(np.ones((2, 16, 14, 14), np.float32), Batch, 16, 14, 14)).shape)
