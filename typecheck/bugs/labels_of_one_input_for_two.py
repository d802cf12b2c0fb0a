"""Logits of two inputs lie along the batch, and there is one line of labels.

Source: pytorch/pytorch#139031, Expected input batch_size (60) to match target batch_size (10).
"""

from typing import Literal

import numpy as np

import wengert as wg

left = wg.literal(np.ones((10, 3), np.float32), 10, 3)
right = wg.literal(np.ones((10, 3), np.float32), 10, 3)
labels: np.ndarray[tuple[Literal[10]], np.dtype[np.int64]] = np.array([1] * 10, np.int64)
# bug: logits = wg.concat([left, right])
logits = left + right
print(wg.cross_entropy(logits, labels).predict().run())  # shows
