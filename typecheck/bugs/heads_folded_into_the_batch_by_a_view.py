"""Heads are folded into the batch without moving their axis first: words and heads mix silently.

Source: 649453932/Chinese-Text-Classification-Pytorch#53, transformer.
"""

from typing import NewType

import numpy as np

import wengert as wg

Batch = NewType("Batch", int)
Time = NewType("Time", int)
q = wg.literal(np.ones((2, 5, 32), np.float32), Batch, Time, 32)
heads = wg.reshape(q, (q.shape[0], q.shape[1], 4, 8))
# bug: folded = wg.reshape(q, (q.shape[0] * 4, q.shape[1], 8))
folded = wg.reshape(wg.permute_dims(heads, (0, 2, 1, 3)), (q.shape[0] * 4, q.shape[1], 8))
print(folded.shape)
