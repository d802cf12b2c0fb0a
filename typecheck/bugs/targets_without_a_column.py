"""Logits of one column meet targets of one line: every one with every other.

Source: iiask.com 34l57998, Using a target size that is different to the input size.
"""

from typing import NewType

import numpy as np

import wengert as wg

Batch = NewType("Batch", int)
logits = wg.literal(np.ones((2, 1), np.float32), Batch, 1)

Line = np.ndarray[tuple[Batch], np.dtype[np.float32]]
targets: Line = np.array([1] * 2, np.float32)
# bug: losses = wg.softplus(logits) - logits * targets
losses = wg.softplus(logits) - logits * targets[:, None]
print(wg.mean(losses).predict().run())
