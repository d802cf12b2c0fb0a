"""The targets of a language model are one word shorter than its predictions.

Source: written for this table.
"""

from typing import NewType

import numpy as np

import wengert as wg

Batch = NewType("Batch", int)

logits = wg.literal(np.zeros((2, 10, 50), np.float32), Batch, 10, 50)
ids = wg.literal(np.ones((2, 10), np.float32), Batch, 10)
# bug: errors = wg.max(logits, axis=-1) - ids[:, 1:]
errors = wg.max(logits[:, :-1], axis=-1) - ids[:, 1:]
print(errors.shape)
