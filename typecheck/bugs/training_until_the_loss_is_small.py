"""The loop compares the loss itself, not the number that training gave.

Source: written for this table.
"""

import wengert as wg
from wengert.plugins import SGD

w = SGD(learning_rate=0.1).double_weight(3.0)
loss = wg.square(w - 1.0)
last = 1.0
# bug: while loss > 1e-3:
while last > 1e-3:
    last = loss.train().run()
print(w.data)
