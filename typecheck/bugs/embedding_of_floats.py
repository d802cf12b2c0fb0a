"""Token ids come out of a float column of a table.

Source: written for this table.
"""

import numpy as np

from wengert import nn
from wengert.plugins import SGD

settings = SGD(learning_rate=0.1)


embed = nn.Embedding.make(settings, 100, 16, seed=0)
# bug: ids = np.zeros((2, 7), np.float32)
ids = np.zeros((2, 7), np.int64)
print(embed(ids).shape)  # shows
