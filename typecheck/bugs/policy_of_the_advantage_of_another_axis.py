"""Advantages of single steps weigh the log-probabilities of all actions.

Source: written for this table.
"""

from typing import Literal, NewType

import numpy as np

import wengert as wg
from wengert import nn
from wengert.plugins import SGD

Batch = NewType("Batch", int)
settings = SGD(learning_rate=0.1)
policy = nn.Linear.make(settings, 4, 3, seed=0)


def objective(
    states: wg.ArrayLayer[tuple[Batch, Literal[4]]],
    taken: wg.ArrayLayer[tuple[Batch, Literal[3]]],
    advantage: wg.ArrayLayer[tuple[Batch]],
) -> wg.ArrayLayer[tuple[()]]:
    chances = wg.log_softmax(policy(states), axis=-1)
    # bug: return -wg.mean(chances * taken * advantage)
    return -wg.mean(wg.sum(chances * taken, axis=-1) * advantage)


states, ones = np.ones((2, 4), np.float32), np.ones((2, 3), np.float32)
one = wg.literal(np.ones((2,), np.float32), Batch)
print(objective(wg.literal(states, Batch, 4), wg.literal(ones, Batch, 3), one).predict().run())
