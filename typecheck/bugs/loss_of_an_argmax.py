"""The place of the greatest is integers, and no derivative goes through it.

Source: pytorch/pytorch#37680, We should not mark non-floating point Tensors as requiring gradients.
"""

from typing import NewType

import numpy as np

import wengert as wg

Batch = NewType("Batch", int)
logits = wg.literal(np.ones((2, 3), np.float32), Batch, 3)

chosen = np.argmax(np.ones((2, 3), np.float32), axis=1)
# bug: print(wg.mean(wg.square(wg.sum(logits, axis=1) - chosen)).predict().run())
print(wg.mean(wg.square(wg.sum(logits, axis=1) - chosen.astype(np.float32))).predict().run())
