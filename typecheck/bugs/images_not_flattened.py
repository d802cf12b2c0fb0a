"""Images go into a dense layer as they are, 28 by 28.

Source: written for this table.
"""

from typing import NewType

import numpy as np

import wengert as wg
from wengert.plugins import SGD

Batch = NewType("Batch", int)

chance = np.random.default_rng(0)
w = SGD(learning_rate=0.1).array_weight(chance.standard_normal((784, 10), np.float32), 784, 10, name="w")
images = wg.literal(chance.random((32, 28, 28), np.float32), Batch, 28, 28)

# bug: features = images
features = wg.reshape(images, (-1, 784))
logits = features @ w  # shows
print(logits.shape)
