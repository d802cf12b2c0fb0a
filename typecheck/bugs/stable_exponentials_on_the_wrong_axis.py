"""The maximum that keeps exponentials small is kept on the axis of the classes, not of the examples.

Source: written for this table.
"""

from typing import Literal, NewType

import numpy as np

import wengert as wg

Batch = NewType("Batch", int)
Logits = wg.ArrayLayer[tuple[Batch, Literal[10]]]


def log_partition(logits: Logits) -> wg.ArrayLayer[tuple[Batch, Literal[1]]]:
    # bug: top = wg.max(logits, axis=0, keepdims=True)
    top = wg.max(logits, axis=1, keepdims=True)
    return wg.log(wg.sum(wg.exp(logits - top), axis=1, keepdims=True)) + top  # shows


logits = wg.literal(np.random.default_rng(0).standard_normal((32, 10), np.float32), Batch, 10)
print(log_partition(logits).shape)
