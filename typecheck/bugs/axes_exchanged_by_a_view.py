"""Two axes are exchanged by a new shape instead of a permutation: the numbers are mixed.

Source: rish-16/tokenlearner-pytorch#1, y = y.view(8, 512, 3) is wrong.
"""

from typing import NewType

import numpy as np

import wengert as wg

Batch = NewType("Batch", int)
Token = NewType("Token", int)
y = wg.literal(np.ones((5, 2, 3), np.float32), Token, Batch, 3)
others = wg.literal(np.ones((2, 5, 3), np.float32), Batch, Token, 3)
# bug: turned = wg.reshape(y, (y.shape[0], y.shape[1], 3))
turned = wg.permute_dims(y, (1, 0, 2))
print((turned + others).shape)  # shows
