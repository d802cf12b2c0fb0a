"""A model that may be missing is called without a look.

Source: written for this table.
"""

from typing import Literal, NewType

import numpy as np

import wengert as wg
from wengert import nn
from wengert.plugins import SGD

Batch = NewType("Batch", int)
settings = SGD(learning_rate=0.1)
Head = nn.Linear[Literal[8], Literal[3]]


def answers(x: wg.ArrayLayer[tuple[Batch, Literal[8]]], head: Head | None) -> wg.ArrayLayer:
    # bug: return head(x)
    return x if head is None else head(x)


print(answers(wg.literal(np.ones((2, 8), np.float32), Batch, 8), None).shape)
