"""The element type stands in the place of the shape.

Source: written for this table.
"""

from typing import Literal

import numpy as np

import wengert as wg

Row = tuple[Literal[3]]


# bug: def doubled(x: wg.ArrayLayer[np.float64, Row]) -> wg.ArrayLayer[Row, np.float64]:
def doubled(x: wg.ArrayLayer[Row, np.float64]) -> wg.ArrayLayer[Row, np.float64]:
    return x * 2.0


print(doubled(wg.literal(np.ones(3), 3)).shape)
