"""The greatest elements and their places come in the other order.

Source: written for this table.
"""

from typing import NewType

import numpy as np

import wengert as wg

Batch = NewType("Batch", int)
logits = wg.literal(np.arange(6, dtype=np.float32).reshape(2, 3), Batch, 3)

# bug: places, elements = wg.top_k(logits, 2)
elements, places = wg.top_k(logits, 2)
print(wg.mean(elements).predict().run())  # shows
