"""The image to edit is joined to the latents twice, and the network has half the channels.

Source: cvachha/instruct-gs2gs#25, expected input[3, 8, 92, 124] to have 4 channels, but got 8 channels.
"""

from typing import NewType

import numpy as np

import wengert as wg
from wengert.nn import Conv2d
from wengert.plugins import SGD

Batch = NewType("Batch", int)
settings = SGD(learning_rate=0.1)
latents = wg.literal(np.ones((2, 4, 6, 6), np.float32), Batch, 4, 6, 6)

conv = Conv2d.make(settings, 8, 16, 3, seed=0)
# bug: x = wg.concat([latents, latents, latents, latents], axis=1)
x = wg.concat([latents, latents], axis=1)
print(conv(x).shape)  # shows
