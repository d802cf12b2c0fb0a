"""Random labels are floats, and go into an embedding.

Source: pytorch/pytorch#118280, expected scalar type Long but found Float.
"""

import numpy as np

from wengert.nn import Embedding
from wengert.plugins import SGD

settings = SGD(learning_rate=0.1)

labels = np.random.default_rng(0).random(4)
block = Embedding.make(settings, 10, 8, seed=0)
# bug: print(block(labels).shape)
print(block((labels * 10).astype(np.int64)).shape)
