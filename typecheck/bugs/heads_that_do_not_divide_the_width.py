"""300 numbers are divided among 8 heads.

Source: written for this table.
"""

import numpy as np

import wengert as wg
import wengert.nn as nn
from wengert.plugins import SGD

# bug: attention = nn.MultiHeadAttention.make(SGD(learning_rate=0.1), 300, 8, seed=0)
attention = nn.MultiHeadAttention.make(SGD(learning_rate=0.1), 300, 6, seed=0)
print(attention(wg.literal(np.ones((2, 5, 300), np.float32), 2, 5, 300)).shape)
