"""The labels are those of the image, the logits those of what the network leaves of it.

Source: meetps/pytorch-semseg#127, Expected input batch_size to match target batch_size when running fcn8.
"""

from typing import Literal

import numpy as np

import wengert as wg

logits = wg.literal(np.zeros((30, 40, 3), np.float32), 30, 40, 3)
Pixels = np.ndarray[tuple[int, Literal[41]], np.dtype[np.int64]]
labels: Pixels = np.array([[0] * 41] * 30, np.int64)
# bug: print(wg.cross_entropy(logits, labels).predict().run())
print(wg.cross_entropy(logits, labels[:, :40]).predict().run())
