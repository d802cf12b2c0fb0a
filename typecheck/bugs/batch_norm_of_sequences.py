"""The features of a sequence are its last axis, and a batch is normalized along its second.

Source: xieyulai/LSTM-for-Human-Activity-Recognition-using-2D-Pose_Pytorch#2, transpose of input shape.
"""

from typing import NewType

import numpy as np

import wengert as wg
from wengert.nn import BatchNorm
from wengert.plugins import SGD

Batch = NewType("Batch", int)
Time = NewType("Time", int)
settings = SGD(learning_rate=0.1)

x = wg.literal(np.ones((2, 5, 8), np.float32), Batch, Time, 8)
norm = BatchNorm.make(settings, 8)
# bug: print(norm(x, seed=0).shape)
print(norm(wg.permute_dims(x, (0, 2, 1)), seed=0).shape)
