"""Q-values of the actions taken are looked up with places of one axis.

Source: https://github.com/pytorch/tutorials/issues (Deep Q learning: gather of an index without unsqueeze).
"""

from typing import Literal, NewType

import numpy as np

import wengert as wg
from wengert import nn
from wengert.plugins import SGD

Batch = NewType("Batch", int)
settings = SGD(learning_rate=0.1)
network = nn.Linear.make(settings, 4, 2, seed=0)


def of_taken(
    states: wg.ArrayLayer[tuple[Batch, Literal[4]]], actions: list[int]
) -> wg.ArrayLayer[tuple[Batch, Literal[1]]]:
    q = network(states)
    places = np.array(actions)
    # bug: return wg.take_along_axis(q, places, axis=1)
    return wg.take_along_axis(q, places[:, None], axis=1)


print(of_taken(wg.literal(np.ones((2, 4), np.float32), Batch, 4), [0, 1]).shape)
