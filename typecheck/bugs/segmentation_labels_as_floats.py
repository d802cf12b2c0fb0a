"""The mask of an image is read as floats and taken for classes.

Source: qubvel-org/segmentation_models.pytorch#466, Expected object of scalar type Long but got scalar type Float.
"""

import numpy as np

import wengert as wg

logits = wg.literal(np.zeros((2, 4, 4, 3), np.float32), 2, 4, 4, 3)
# bug: mask = np.zeros((2, 4, 4), np.float32)
mask = np.zeros((2, 4, 4), np.int64)
print(wg.cross_entropy(logits, mask).predict().run())  # shows
