"""A layer is turned into a Python number to be logged.

Source: written for this table.
"""

import wengert as wg
from wengert.plugins import SGD

w = SGD(learning_rate=0.1).double_weight(3.0)
loss = wg.square(w)
history: list[float] = []
for _ in range(3):
    # bug: history.append(float(loss))
    history.append(loss.train().run())
print(history)
