"""The mean of each line is taken without keepdims, and subtracted from the lines.

Source: written for this table.
"""

from typing import NewType

import numpy as np

import wengert as wg

Batch = NewType("Batch", int)


def centred(x: wg.ArrayLayer[tuple[Batch, "Features"]]) -> wg.ArrayLayer[tuple[Batch, "Features"]]:
    # bug: mean = wg.mean(x, axis=1)
    mean = wg.mean(x, axis=1, keepdims=True)
    return x - mean  # shows


Features = NewType("Features", int)
x = wg.literal(np.random.default_rng(0).standard_normal((32, 64), np.float32), Batch, Features)
print(centred(x).predict().run().std())
