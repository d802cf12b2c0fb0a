"""The number of the greatest is given beside an axis called dim, as in PyTorch.

Source: written for this table.
"""

from typing import NewType

import numpy as np

import wengert as wg

Batch = NewType("Batch", int)
logits = wg.literal(np.arange(6, dtype=np.float32).reshape(2, 3), Batch, 3)

# bug: elements, places = wg.top_k(logits, 2, dim=1)
elements, places = wg.top_k(logits, 2, axis=1)
print(places.shape)
