"""There is one label for a text, and logits for each of its words.

Source: singhsourabh/Resume-NER#6, Expected input batch_size (500) to match target batch_size (1).
"""

from typing import Literal

import numpy as np

import wengert as wg

logits = wg.literal(np.zeros((500, 3), np.float32), 500, 3)
labels: np.ndarray[tuple[Literal[500]], np.dtype[np.int64]] = np.array([1] * 500, np.int64)
one: np.ndarray[tuple[Literal[1]], np.dtype[np.int64]] = np.array([1] * 1, np.int64)
# bug: print(wg.cross_entropy(logits, one).predict().run())
print(wg.cross_entropy(logits, labels).predict().run())
