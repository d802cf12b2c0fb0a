"""The weight stands on the left of the features, as in a formula for column vectors.

Source: written for this table.
"""

from typing import NewType

import numpy as np

import wengert as wg
from wengert.plugins import SGD

Batch = NewType("Batch", int)

chance = np.random.default_rng(0)
settings = SGD(learning_rate=0.1)
w = settings.array_weight(chance.standard_normal((784, 10), np.float32), 784, 10, name="w")
x = wg.literal(chance.standard_normal((32, 784), np.float32), Batch, 784)

# bug: logits = wg.matmul(w, x)
logits = wg.matmul(x, w)
print(logits.shape)
