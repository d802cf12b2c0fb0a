"""Logits have their classes in the second axis, and labels one of each pixel.

Source: kyegomez/HeptapodLM#7, input and target batch or spatial sizes don't match.
"""

from typing import Literal, NewType

import numpy as np

import wengert as wg

Batch = NewType("Batch", int)
maps = wg.literal(np.ones((2, 3, 4, 4), np.float32), Batch, 3, 4, 4)

Pixels = np.ndarray[tuple[Batch, Literal[4], Literal[4]], np.dtype[np.int64]]
labels: Pixels = np.array([[[0] * 4] * 4] * 2, np.int64)
# bug: print(wg.cross_entropy(maps, labels).predict().run())
print(wg.cross_entropy(wg.permute_dims(maps, (0, 2, 3, 1)), labels).predict().run())
