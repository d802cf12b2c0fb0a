"""The places to pick are floats, as labels of a table often are.

Source: samleoqh/MSCG-Net#7, Expected object of scalar type Long but got scalar type Float for argument #3 'index'.
"""

import numpy as np

import wengert as wg

scores = wg.literal(np.ones((2, 3), np.float32), 2, 3)
targets = np.zeros((2, 1), np.float32)
# bug: print(wg.take_along_axis(scores, targets, axis=1).shape)
print(wg.take_along_axis(scores, targets.astype(np.int64), axis=1).shape)
