"""What a step gives beside the loss are numbers, and there is nothing in them to train.

Source: written for this table.
"""

from typing import NewType

import numpy as np

import wengert as wg
from wengert.plugins import SGD

Batch = NewType("Batch", int)
settings = SGD(learning_rate=0.1)
w = settings.array_weight(np.ones((3, 2), np.float32), 3, 2)
x = wg.literal(np.ones((4, 3), np.float32), Batch, 3)
answers = x @ w
loss = wg.mean(wg.square(answers))

# bug: _, given = loss.train(also=wg.sum(answers)).run()
given = wg.sum(answers)
print(given.predict().run())  # shows
