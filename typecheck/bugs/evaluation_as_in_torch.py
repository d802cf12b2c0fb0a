"""A normalization is put into evaluation by eval(), as in PyTorch.

Source: written for this table.
"""

from typing import NewType

import numpy as np

import wengert as wg
from wengert.nn import BatchNorm
from wengert.plugins import SGD

Batch = NewType("Batch", int)
settings = SGD(learning_rate=0.1)

x = wg.literal(np.ones((2, 8), np.float32), Batch, 8)
norm = BatchNorm.make(settings, 8)
# bug: norm.eval()
# bug:
print(norm(x).shape)
