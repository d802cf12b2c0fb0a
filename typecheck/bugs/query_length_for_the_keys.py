"""Keys are cut into heads by the length of the queries.

Source: lucidrains/reformer-pytorch#51, split_heads().
"""

from typing import NewType

import numpy as np

import wengert as wg

Batch = NewType("Batch", int)
Queries = NewType("Queries", int)
Keys = NewType("Keys", int)
q = wg.literal(np.ones((2, 4, 32), np.float32), Batch, Queries, 32)
v = wg.literal(np.ones((2, 6, 32), np.float32), Batch, Keys, 32)
# bug: heads = wg.reshape(v, (v.shape[0], q.shape[1], 4, 8))
heads = wg.reshape(v, (v.shape[0], v.shape[1], 4, 8))
print(heads.shape, q.shape)
