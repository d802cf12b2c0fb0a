"""A bias that may be missing is added without asking.

Source: written for this table.
"""

import numpy as np

import wengert as wg
from wengert.plugins import SGD


class Dense:
    """A layer with a bias, or without."""

    def __init__(self, inputs: int, outputs: int, bias: bool) -> None:
        settings = SGD(learning_rate=0.1)
        self.w = settings.array_weight(np.ones((inputs, outputs), np.float32), name="w")
        self.b = settings.array_weight(np.zeros(outputs, np.float32), name="b") if bias else None

    def __call__(self, x: wg.ArrayExpression) -> wg.ArrayLayer:
        y = wg.matmul(x, self.w)
        # bug: return y + self.b
        return y if self.b is None else y + self.b


print(Dense(3, 2, bias=False)(np.ones((4, 3), np.float32)).shape)
