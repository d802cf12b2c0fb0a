"""The letters of the keys stand in the order of another notation.

Source: written for this table.
"""

from typing import NewType

import numpy as np

import wengert as wg

Batch = NewType("Batch", int)
Queries = NewType("Queries", int)
Keys = NewType("Keys", int)

chance = np.random.default_rng(0)
q = wg.literal(chance.random((2, 5, 8, 64), np.float32), Batch, Queries, 8, 64)
k = wg.literal(chance.random((2, 7, 8, 64), np.float32), Batch, Keys, 8, 64)
# bug: scores = wg.einsum("bqhd,bhkd->bhqk", q, k)
scores = wg.einsum("bqhd,bkhd->bhqk", q, k)
print(scores.shape)
