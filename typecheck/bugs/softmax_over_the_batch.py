"""The probabilities of one class over all examples, and not of all classes for one example.

Source: written for this table.
"""

from typing import Literal, NewType

import numpy as np

import wengert as wg

Batch = NewType("Batch", int)


def probabilities(
    logits: wg.ArrayLayer[tuple[Batch, Literal[10]]],
) -> wg.ArrayLayer[tuple[Batch, Literal[10]]]:
    # bug: return wg.softmax(logits, axis=0)
    return wg.softmax(logits, axis=1)


logits = wg.literal(np.random.default_rng(0).standard_normal((32, 10), np.float32), Batch, 10)
print(probabilities(logits).predict().run().sum(axis=1))
