"""The derivative of a model has the names of the model, and this one is misspelt.

Source: written for this table.
"""

from typing import NewType

import numpy as np

import wengert as wg
from wengert.nn import Linear
from wengert.plugins import SGD

Batch = NewType("Batch", int)
settings = SGD(learning_rate=0.1)

model = Linear.make(settings, 3, 2, seed=0)
x = wg.literal(np.ones((4, 3), np.float32), Batch, 3)
g = wg.gradients(wg.sum(model(x)), model).run()
# bug: print(g.wieght.shape)
print(g.weight.shape)
