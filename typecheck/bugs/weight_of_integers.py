"""A weight is made of an array of integers.

Source: pytorch/pytorch#53466, Only Tensors of floating point and complex dtype can require gradients.
"""

import numpy as np

import wengert as wg
from wengert.plugins import SGD

settings = SGD(learning_rate=0.1)

# bug: w = settings.array_weight(np.array([1, 2, 3]), 3)
w = settings.array_weight(np.array([1, 2, 3], np.float32), 3)
print(wg.sum(w).predict().run())
