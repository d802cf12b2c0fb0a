"""A step is written as an assignment, which makes a layer out of the weight.

Source: written for this table.
"""

import numpy as np

import wengert as wg
from wengert.plugins import SGD


class Model:
    """One weight."""

    def __init__(self) -> None:
        self.w = SGD(learning_rate=0.1).array_weight(np.ones(3, np.float32), 3, name="w")


model = Model()
loss = wg.sum(wg.square(model.w))
for _ in range(3):
    (step,) = wg.gradients(loss, (model.w,)).run()
    # bug: model.w -= 0.1 * step
    loss.train().run()
print(model.w.data)
