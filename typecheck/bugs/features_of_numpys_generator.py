"""Random features are doubles, the weight of the regression is not.

Source: OUCMachineLearning/OUCML#24, expected scalar type Double but found Float.
"""

import numpy as np

import wengert as wg
from wengert.plugins import SGD

settings = SGD(learning_rate=0.1)

w = settings.array_weight(np.zeros((2, 1), np.float32), 2, 1, name="w")
chance = np.random.default_rng(0)
# bug: features = chance.normal(size=(10, 2))
features = chance.normal(size=(10, 2)).astype(np.float32)
print(wg.matmul(features, w).shape)  # shows
