"""Nine scores for ten digits: 9 was thought of as the greatest label.

Source: written for this table.
"""

from typing import Literal, NewType

import numpy as np

import wengert as wg
from wengert.plugins import SGD

Batch = NewType("Batch", int)

chance = np.random.default_rng(0)
settings = SGD(learning_rate=0.1)
# bug: head = settings.array_weight(chance.standard_normal((64, 9), np.float32), 64, 9, name="head")
head = settings.array_weight(chance.standard_normal((64, 10), np.float32), 64, 10, name="head")


def logits(x: wg.ArrayLayer[tuple[Batch, Literal[64]]]) -> wg.ArrayLayer[tuple[Batch, Literal[10]]]:
    return wg.relu(x) @ head  # shows


labels = np.arange(10, dtype=np.int64)
digits = wg.literal(chance.random((10, 64), np.float32), Batch, 64)
print(wg.cross_entropy(logits(digits), labels).train().run())
