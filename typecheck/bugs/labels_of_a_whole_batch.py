"""The network saw a part of a batch, and is compared with the labels of all of it.

Source: rentruewang/aioway#13, getting-started.py failed!.
"""

from typing import Literal

import numpy as np

import wengert as wg

logits = wg.literal(np.zeros((16, 3), np.float32), 16, 3)
labels: np.ndarray[tuple[Literal[20]], np.dtype[np.int64]] = np.array([1] * 20, np.int64)
part: np.ndarray[tuple[Literal[16]], np.dtype[np.int64]] = np.array([1] * 16, np.int64)
# bug: print(wg.cross_entropy(logits, labels).predict().run())
print(wg.cross_entropy(logits, part).predict().run())
