"""The skip of an hourglass is seven wide, and the way back gives six.

Source: AliaksandrSiarohin/first-order-model#50, kp_detector dimension mismatch in concatenation.
"""

from typing import Literal, NewType

import numpy as np

import wengert as wg

Batch = NewType("Batch", int)

Wide = wg.ArrayLayer[tuple[Batch, Literal[3], Literal[7], Literal[7]]]
Narrow = wg.ArrayLayer[tuple[Batch, Literal[5], Literal[6], Literal[6]]]


def joined(skip: Wide, out: Narrow) -> wg.ArrayLayer[tuple[Batch, Literal[8], Literal[6], Literal[6]]]:
    # bug: return wg.concat([out, skip], axis=1)
    return wg.concat([out, skip[:, :, :6, :6]], axis=1)


wide, narrow = np.ones((2, 3, 7, 7), np.float32), np.ones((2, 5, 6, 6), np.float32)
print(joined(wg.literal(wide, Batch, 3, 7, 7), wg.literal(narrow, Batch, 5, 6, 6)).shape)
