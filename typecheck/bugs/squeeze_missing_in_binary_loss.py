"""Logits of one column meet labels of a vector, as in BCEWithLogitsLoss.

Source: written for this table.
"""

from typing import Literal, NewType

import numpy as np

import wengert as wg
from wengert import nn
from wengert.plugins import SGD

Batch = NewType("Batch", int)
chance = np.random.default_rng(0)
settings = SGD(learning_rate=0.1)


def drawn(*shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return chance.standard_normal(shape, np.float32)


head = nn.Linear.make(settings, 8, 1, seed=0)
labels = wg.literal(drawn(4), Batch)


def loss(x: wg.ArrayLayer[tuple[Batch, Literal[8]]]) -> wg.ArrayLayer[tuple[()]]:
    logits = head(x)
    # bug: return wg.mean(wg.softplus(logits) - labels * logits)
    return wg.mean(wg.softplus(logits[:, 0]) - labels * logits[:, 0])


print(loss(wg.literal(drawn(4, 8), Batch, 8)).shape)
