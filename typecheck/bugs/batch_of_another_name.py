"""Questions and answers are batched differently, and compared one to one.

Source: written for this table.
"""

from typing import NewType

import numpy as np

import wengert as wg

Questions = NewType("Questions", int)
Answers = NewType("Answers", int)

chance = np.random.default_rng(0)
questions = wg.literal(chance.random((4, 16), np.float32), Questions, 16)
answers = wg.literal(chance.random((4, 16), np.float32), Answers, 16)
# bug: likeness = wg.sum(questions * answers, axis=1)
likeness = questions @ wg.permute_dims(answers, (1, 0))
print(likeness.shape)
