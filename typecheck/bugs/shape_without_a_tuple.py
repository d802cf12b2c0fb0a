"""The shape of a vector is written as a number alone.

Source: written for this table.
"""

from typing import Literal

import numpy as np

import wengert as wg


# bug: def halved(x: wg.ArrayLayer[Literal[3]]) -> wg.ArrayLayer[tuple[Literal[3]]]:
def halved(x: wg.ArrayLayer[tuple[Literal[3]]]) -> wg.ArrayLayer[tuple[Literal[3]]]:
    return x * 0.5


print(halved(wg.literal(np.ones(3, np.float32), 3)).shape)
