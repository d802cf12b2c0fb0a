"""The training step is described and never run.

Source: written for this table.
"""

import wengert as wg
from wengert.plugins import SGD

w = SGD(learning_rate=0.1).double_weight(3.0)
loss = wg.square(w)
for _ in range(10):
    # bug: loss.train()
    loss.train().run()
print(w.data)
