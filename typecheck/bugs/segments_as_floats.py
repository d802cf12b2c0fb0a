"""The numbers of the segments come from a file of floats.

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

ids = np.array([0.0, 0.0, 1.0, 1.0], np.float32)
# bug: print(wg.segment_sum(answers, ids, num_segments=2).shape)
print(wg.segment_sum(answers, ids.astype(np.int64), num_segments=2).shape)
