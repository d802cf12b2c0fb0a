"""Mean and log-variance are of two sizes in the KL term.

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


mu = nn.Linear.make(settings, 32, 8, seed=0)
# bug: logvar = nn.Linear.make(settings, 32, 16, seed=1)
logvar = nn.Linear.make(settings, 32, 8, seed=1)


def kl(h: wg.ArrayLayer[tuple[Batch, Literal[32]]]) -> wg.ArrayLayer[tuple[()]]:
    m, v = mu(h), logvar(h)
    return -0.5 * wg.mean(wg.sum(1.0 + v - m * m - wg.exp(v), axis=-1))  # shows


print(kl(wg.literal(drawn(2, 32), Batch, 32)).shape)
