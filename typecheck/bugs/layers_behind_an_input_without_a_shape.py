"""Two layers that do not fit, in a function whose parameter has no shape.

Source: written for this table.
"""

import numpy as np

import wengert as wg
from wengert.plugins import SGD

settings = SGD(learning_rate=0.1)
chance = np.random.default_rng(0)
w1 = settings.array_weight(chance.standard_normal((784, 128), np.float32), 784, 128, name="w1")
# bug: w2 = settings.array_weight(chance.standard_normal((64, 10), np.float32), 64, 10, name="w2")
w2 = settings.array_weight(chance.standard_normal((128, 10), np.float32), 128, 10, name="w2")


def logits(x: wg.ArrayExpression) -> wg.ArrayLayer:
    return wg.relu(wg.matmul(x, w1)) @ w2  # shows


print(logits(chance.random((32, 784), np.float32)).shape)
