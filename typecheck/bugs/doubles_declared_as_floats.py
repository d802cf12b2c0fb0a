"""A function is declared for float32, the default, and gets doubles.

Source: written for this table.
"""

from typing import Any

import numpy as np

import wengert as wg


# bug: def norm(x: wg.ArrayExpression) -> wg.ArrayLayer:
def norm(x: wg.ArrayExpression[Any, np.float64]) -> wg.ArrayLayer[Any, np.float64]:
    return wg.sqrt(wg.sum(wg.square(x)))


print(norm(np.ones(3)).predict().run())  # shows
