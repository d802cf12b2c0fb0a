"""Each part of a batch has its loss, and the vector of them is trained.

Source: hy-struggle/PRGC#16, grad can be implicitly created only for scalar outputs.
"""

import numpy as np

import wengert as wg
from wengert.plugins import SGD

settings = SGD(learning_rate=0.1)

w = settings.array_weight(np.ones((4, 1), np.float32), 4, 1, name="w")
parts = [wg.literal(np.ones((2, 4), np.float32), 2, 4) for _ in range(2)]
losses = wg.stack([wg.mean(wg.square(part @ w)) for part in parts])
# bug: print(wg.train(losses).run())
print(wg.train(wg.mean(losses)).run())
