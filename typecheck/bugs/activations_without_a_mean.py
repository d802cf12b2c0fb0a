"""The gradient of a whole map of activations is asked for.

Source: Animadversio/GAN-Geometry#4, GANForwardHVPOperator: errors reported.
"""

import numpy as np

import wengert as wg
from wengert.plugins import SGD

settings = SGD(learning_rate=0.1)

w = settings.array_weight(np.ones((4, 3), np.float32), 4, 3, name="w")
activations = wg.relu(wg.literal(np.ones((2, 4), np.float32), 2, 4) @ w)
# bug: (slope,) = wg.gradients(activations, (w,)).run()
(slope,) = wg.gradients(wg.mean(activations), (w,)).run()
print(slope.shape)
