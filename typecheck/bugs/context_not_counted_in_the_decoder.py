"""A decoder's cell does not count the context of attention in its input.

Source: written for this table.
"""

from typing import Literal, NewType

import numpy as np

import wengert as wg
from wengert import nn
from wengert.plugins import SGD

Batch = NewType("Batch", int)
settings = SGD(learning_rate=0.1)
# bug: cell = nn.GRUCell.make(settings, 32, 64, seed=0)
cell = nn.GRUCell.make(settings, 96, 64, seed=0)


def step(
    word: wg.ArrayLayer[tuple[Batch, Literal[32]]],
    context: wg.ArrayLayer[tuple[Batch, Literal[64]]],
    state: wg.ArrayLayer[tuple[Batch, Literal[64]]],
) -> wg.ArrayLayer[tuple[Batch, Literal[64]]]:
    return cell(wg.concat([word, context], axis=-1), state)  # shows


word, context = np.ones((2, 32), np.float32), np.ones((2, 64), np.float32)
print(step(wg.literal(word, Batch, 32), wg.literal(context, Batch, 64), wg.literal(context, Batch, 64)).shape)
