"""The letter of the batch is missing from the result, which is summed over it.

Source: written for this table.
"""

from typing import Literal, NewType

import numpy as np

import wengert as wg

Batch = NewType("Batch", int)
Row = wg.ArrayLayer[tuple[Batch, Literal[8]]]


def outer(a: Row, b: Row) -> wg.ArrayLayer[tuple[Batch, Literal[8], Literal[8]]]:
    # bug: return wg.einsum("bi,bj->ij", a, b)
    return wg.einsum("bi,bj->bij", a, b)


x = wg.literal(np.ones((4, 8), np.float32), Batch, 8)
print(outer(x, x).shape)
