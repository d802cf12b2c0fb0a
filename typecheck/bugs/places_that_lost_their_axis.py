"""Places without the axis that was reduced select along it.

Source: written for this table.
"""

from typing import NewType

import numpy as np

import wengert as wg

Batch = NewType("Batch", int)
logits = wg.literal(np.arange(6, dtype=np.float32).reshape(2, 3), Batch, 3)

# bug: best = wg.argmax(logits, axis=1)
best = wg.argmax(logits, axis=1, keepdims=True)
print(wg.take_along_axis(logits, best, axis=1).shape)  # shows
