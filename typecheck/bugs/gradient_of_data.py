"""The gradient with respect to an input is asked for; only weights have one."""

import numpy as np

import wengert as wg
from wengert.plugins import SGD

image = np.ones((3, 3), np.float32)
w = SGD(learning_rate=0.1).array_weight(np.ones((3, 3), np.float32), 3, 3, name="w")
# bug: x = wg.literal(image, 3, 3)
x = SGD(learning_rate=0.0).array_weight(image, 3, 3)
(dx,) = wg.gradients(wg.sum(x * w), (x,)).run()
print(dx.shape)
