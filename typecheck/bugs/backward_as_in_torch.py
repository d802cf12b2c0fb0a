"""loss.backward() and a step, as in PyTorch.

Source: written for this table.
"""

import wengert as wg
from wengert.plugins import SGD

w = SGD(learning_rate=0.1).double_weight(3.0)
loss = wg.square(w)
# bug: loss.backward()
loss.train().run()
print(w.data)
