"""The score of a class is one number for one image, and a vector for a batch.

Source: 1Konny/gradcam_plus_plus-pytorch#7, grad can be implicitly created only for scalar outputs.
"""

from typing import NewType

import numpy as np

import wengert as wg
from wengert.plugins import SGD

Batch = NewType("Batch", int)
settings = SGD(learning_rate=0.1)

w = settings.array_weight(np.ones((4, 3), np.float32), 4, 3, name="w")
logits = wg.literal(np.ones((2, 4), np.float32), Batch, 4) @ w
# bug: (map_,) = wg.gradients(logits[:, 1], (w,)).run()
(map_,) = wg.gradients(logits[0, 1], (w,)).run()
print(map_.shape)
