"""Weights of classes are numpy's doubles, the losses floats.

Source: sebsk/CS224N-Project#2, scalar type Float but found Double.
"""

from typing import NewType

import numpy as np

import wengert as wg

Batch = NewType("Batch", int)
logits = wg.literal(np.ones((2, 3), np.float32), Batch, 3)

# bug: importance = np.array([0.2, 0.3, 0.5], np.float64)
importance = np.array([0.2, 0.3, 0.5], np.float32)
print(wg.sum(wg.log_softmax(logits) * importance).predict().run())  # shows
