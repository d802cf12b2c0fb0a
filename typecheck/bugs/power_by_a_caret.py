"""A square is written with a caret, as on paper.

Source: written for this table.
"""

import wengert as wg
from wengert.plugins import SGD

w = SGD(learning_rate=0.1).double_weight(3.0)
# bug: loss = wg.exp(w ^ 2)
loss = wg.exp(w**2)
print(loss.train().run())
