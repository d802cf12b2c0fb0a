"""The labels are the first argument of the loss, as some libraries have it.

Source: written for this table.
"""

import numpy as np

import wengert as wg

logits = wg.literal(np.zeros((4, 3), np.float32), 4, 3)
labels = np.array([0, 1, 2, 0], np.int64)
# bug: print(wg.cross_entropy(labels, logits).predict().run())
print(wg.cross_entropy(logits, labels).predict().run())
