"""The discriminator is given the noise and not what the generator made of it.

Source: written for this table.
"""

from typing import Literal, NewType

import numpy as np

import wengert as wg
from wengert import nn
from wengert.plugins import SGD

Batch = NewType("Batch", int)
settings = SGD(learning_rate=0.1)
generator = nn.Linear.make(settings, 64, 784, seed=0)
discriminator = nn.Linear.make(settings, 784, 1, seed=1)


def fooled(noise: wg.ArrayLayer[tuple[Batch, Literal[64]]]) -> wg.ArrayLayer[tuple[()]]:
    fake = wg.tanh(generator(noise))
    print(fake.shape)
    # bug: return wg.mean(wg.softplus(-discriminator(noise)))
    return wg.mean(wg.softplus(-discriminator(fake)))


print(fooled(wg.literal(np.ones((2, 64), np.float32), Batch, 64)).train().run())
