"""Targets of 1 and -1 are integers, and are multiplied with a layer.

Source: torralba-lab/im2recipe-Pytorch#12, expected scalar type Float but found Long.
"""

from typing import NewType

import numpy as np

import wengert as wg

Batch = NewType("Batch", int)
cosine = wg.literal(np.ones((2, 1), np.float32), Batch, 1)

signs = np.array([[1], [-1]])
# bug: print(wg.mean(1.0 - signs * cosine).predict().run())
print(wg.mean(1.0 - signs.astype(np.float32) * cosine).predict().run())
