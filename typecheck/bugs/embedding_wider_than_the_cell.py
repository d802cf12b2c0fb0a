"""Words of 100 numbers go into an LSTM cell for 64.

Source: written for this table.
"""

from typing import Literal, NewType

import numpy as np

import wengert as wg
import wengert.nn as nn
from wengert.plugins import SGD

Batch = NewType("Batch", int)
Words = np.ndarray[tuple[Batch], np.dtype[np.int64]]

settings = SGD(learning_rate=0.1)
# bug: embedding = nn.Embedding.make(settings, 500, 100, seed=0)
embedding = nn.Embedding.make(settings, 500, 64, seed=0)
cell = nn.LSTMCell.make(settings, 64, 32, seed=1)


def first(words: Words) -> wg.ArrayLayer[tuple[Batch, Literal[32]]]:
    h, _ = cell(embedding(words))  # shows
    return h


words: Words = np.array([3, 14, 15], np.int64)
print(first(words).shape)
