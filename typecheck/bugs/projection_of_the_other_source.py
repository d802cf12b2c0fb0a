"""Features of the video go through the layer that is made for the question's.

Source: WissingChen/CRA-GQA#14, a tensor of (512x2048) and a weight of (768x768).
"""

from typing import NewType

import numpy as np

import wengert as wg
from wengert.nn import Linear
from wengert.plugins import SGD

Batch = NewType("Batch", int)
settings = SGD(learning_rate=0.1)
video = wg.literal(np.ones((2, 48), np.float32), Batch, 48)
question = wg.literal(np.ones((2, 24), np.float32), Batch, 24)

of_video = Linear.make(settings, 48, 24, seed=0)
of_question = Linear.make(settings, 24, 24, seed=1)
# bug: print((of_question(video) + of_question(question)).shape)
print((of_video(video) + of_question(question)).shape)
