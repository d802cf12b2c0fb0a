"""The running mean of a normalization is set by an assignment.

Source: written for this table.
"""

import numpy as np

import wengert as wg
from wengert.nn import BatchNorm
from wengert.plugins import SGD

settings = SGD(learning_rate=0.1)

norm = BatchNorm.make(settings, 8)
# bug: norm.mean = np.ones(8, np.float32)
wg.assign({norm.mean: np.ones(8, np.float32)}).run()
print(norm.mean.data)
