"""The last state is taken along the first axis, which is the batch.

Source: pytorch/pytorch#19675, LSTM batch_first flag does not produce outputs with the batch first.
"""

from typing import NewType

import numpy as np

import wengert as wg

Batch = NewType("Batch", int)
Time = NewType("Time", int)
outputs = wg.literal(np.ones((2, 5, 8), np.float32), Batch, Time, 8)
residual = wg.literal(np.ones((2, 8), np.float32), Batch, 8)
# bug: last = outputs[-1]
last = outputs[:, -1]
print((last + residual).shape)  # shows
