"""The five greatest of three are wanted.

Source: NWUzhouwei/GTNet#3, selected index k out of range.
"""

from typing import NewType

import numpy as np

import wengert as wg

Batch = NewType("Batch", int)
logits = wg.literal(np.arange(6, dtype=np.float32).reshape(2, 3), Batch, 3)

# bug: elements, _ = wg.top_k(logits, 5)
elements, _ = wg.top_k(logits, 3)
print(elements.shape)
