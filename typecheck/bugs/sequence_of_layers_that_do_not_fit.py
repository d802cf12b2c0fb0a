"""A list of layers was shortened, and its ends do not meet.

Source: written for this table.
"""

import numpy as np

import wengert as wg
import wengert.nn as nn
from wengert.plugins import SGD

settings = SGD(learning_rate=0.1)
model = nn.Sequential(
    nn.Linear.make(settings, 64, 32, seed=0),
    wg.relu,
    # bug: nn.Linear.make(settings, 16, 10, seed=1),
    nn.Linear.make(settings, 32, 10, seed=1),
)
print(model(wg.literal(np.ones((4, 64), np.float32), 4, 64)).shape)  # shows
