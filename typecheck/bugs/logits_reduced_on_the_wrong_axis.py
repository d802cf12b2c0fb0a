"""The greatest score is taken over the examples, and not over the classes.

Source: written for this table.
"""

from typing import Literal, NewType

import numpy as np

import wengert as wg

Batch = NewType("Batch", int)


def margin(logits: wg.ArrayLayer[tuple[Batch, Literal[10]]]) -> wg.ArrayLayer[tuple[Batch]]:
    # bug: best = wg.max(logits, axis=0)
    best = wg.max(logits, axis=1)
    return best - wg.mean(logits, axis=1)  # shows


logits = wg.literal(np.random.default_rng(0).standard_normal((32, 10), np.float32), Batch, 10)
print(margin(logits).predict().run())
