"""The mask was made for the questions' length, and the keys have another one.

Source: written for this table.
"""

from typing import NewType

import numpy as np

import wengert as wg

Queries = NewType("Queries", int)
Keys = NewType("Keys", int)

chance = np.random.default_rng(0)
scores = wg.literal(chance.random((2, 5, 7), np.float32), 2, Queries, Keys)
# bug: allowed = wg.literal(np.tri(5, dtype=np.float32), Queries, Queries)
allowed = wg.literal(np.tri(5, 7, dtype=np.float32), Queries, Keys)
print(wg.where(wg.greater(allowed, 0.0), scores, -1e9).shape)  # shows
