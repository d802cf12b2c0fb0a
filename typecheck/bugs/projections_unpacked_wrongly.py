"""Queries, keys and values are three parts, and two names are there for them.

Source: written for this table.
"""

import numpy as np

import wengert as wg

projected = wg.literal(np.ones((2, 5, 192), np.float32), 2, 5, 192)
# bug: q, kv = wg.split(projected, 3, axis=-1)
q, k, v = wg.split(projected, 3, axis=-1)
print(q.shape)
