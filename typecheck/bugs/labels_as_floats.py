"""Labels come out of a table of floats and stay floats.

Source: written for this table.
"""

import numpy as np
import numpy.typing as npt

import wengert as wg


def loss(logits: wg.ArrayLayer, table: npt.NDArray[np.float32]) -> wg.ArrayLayer[tuple[()]]:
    # bug: labels = table[:, -1]
    labels = table[:, -1].astype(np.int64)
    return wg.cross_entropy(logits, labels)  # shows


table = np.array([[0.1, 0.2, 2.0], [0.3, 0.4, 0.0]], np.float32)
print(loss(wg.lift(np.zeros((2, 3), np.float32)), table).predict().run())
