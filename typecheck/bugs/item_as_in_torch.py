"""loss.item() as in PyTorch.

Source: written for this table.
"""

import numpy as np

import wengert as wg
from wengert.plugins import SGD

w = SGD(learning_rate=0.1).array_weight(np.ones(3, np.float32), 3, name="w")
loss = wg.sum(wg.square(w))
# bug: print(loss.item())
print(loss.predict().run().item())
