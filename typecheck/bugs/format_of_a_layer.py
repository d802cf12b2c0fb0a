"""A layer is printed with three digits, before anything has been computed.

Source: written for this table.
"""

import wengert as wg
from wengert.plugins import SGD

w = SGD(learning_rate=0.1).double_weight(3.0)
loss = wg.square(w)
# bug: print(f"loss {loss:.3f}")
print(f"loss {loss.train().run():.3f}")
