"""The text comes from an encoder of another width than the model was made for.

Source: thu-ml/TurboDiffusion#62, mat1 and mat2 shapes cannot be multiplied (512x1024 and 4096x5120).
"""

from typing import NewType

import numpy as np

import wengert as wg
from wengert.nn import Linear
from wengert.plugins import SGD

Batch = NewType("Batch", int)
settings = SGD(learning_rate=0.1)

project = Linear.make(settings, 64, 80, seed=0)
# bug: tokens = wg.literal(np.ones((2, 7, 16), np.float32), Batch, 7, 16)
tokens = wg.literal(np.ones((2, 7, 64), np.float32), Batch, 7, 64)
print(project(tokens).shape)  # shows
