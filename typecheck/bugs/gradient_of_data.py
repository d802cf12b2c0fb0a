"""The gradient with respect to an array is asked for; the loss knows it only as an expression of it.

Source: written for this table.
"""

import numpy as np

import wengert as wg
from wengert.plugins import SGD

image = np.ones((3, 3), np.float32)
w = SGD(learning_rate=0.1).array_weight(np.ones((3, 3), np.float32), 3, 3, name="w")
x = wg.literal(image, 3, 3)
# bug: dx = wg.gradients(wg.sum(x * w), image).run()
dx = wg.gradients(wg.sum(x * w), x).run()
print(dx.shape)
