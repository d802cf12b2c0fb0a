"""Logits are those of prompt and answer, labels those of the answer.

Source: hiyouga/LlamaFactory#3765, Expected input batch_size (103) to match target batch_size (95).
"""

from typing import Literal

import numpy as np

import wengert as wg

logits = wg.literal(np.zeros((103, 3), np.float32), 103, 3)
answer: np.ndarray[tuple[Literal[95]], np.dtype[np.int64]] = np.array([1] * 95, np.int64)
# bug: print(wg.cross_entropy(logits, answer).predict().run())
print(wg.cross_entropy(logits[8:], answer).predict().run())
