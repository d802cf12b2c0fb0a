"""The adjacency is that of a graph with other nodes.

Source: huankoh/CST-GL#10, einsum(): subscript w has size 38 for operand 1 ... previously seen size 65.
"""

from typing import NewType

import numpy as np

import wengert as wg

Batch = NewType("Batch", int)
x = wg.literal(np.ones((2, 4, 38), np.float32), Batch, 4, 38)

# bug: graph = wg.literal(np.ones((65, 65), np.float32), 65, 65)
graph = wg.literal(np.ones((38, 38), np.float32), 38, 38)
print(wg.einsum("ncw,vw->ncv", x, graph).shape)  # shows
