"""The axis of a mean is called `dim`.

Source: probml/probml-notebooks#65, Edit typo in jax.linen.softmax().
"""

from typing import NewType

import numpy as np

import wengert as wg

Batch = NewType("Batch", int)
x = wg.literal(np.ones((2, 3), np.float32), Batch, 3)

# bug: print(wg.mean(x, dim=1).shape)
print(wg.mean(x, axis=1).shape)
