"""The output of a leaf, without its memory, is the child of a node.

Source: written for this table.
"""

import numpy as np

import wengert as wg
from wengert.nn import TreeLSTM
from wengert.plugins import SGD

settings = SGD(learning_rate=0.1)

tree = TreeLSTM.make(settings, 3, 4, seed=0)
leaf = tree.leaf(wg.literal(np.ones(3, np.float32), 3))
# bug: h, c = tree.node(leaf[0], leaf[0])
h, c = tree.node(leaf, leaf)
print(h.shape)
