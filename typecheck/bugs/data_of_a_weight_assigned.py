"""A weight is set by assigning its data.

Source: written for this table.
"""

import wengert as wg
from wengert.plugins import SGD

settings = SGD(learning_rate=0.1)
w = settings.double_weight(3.0)
# bug: w.data = 0.0
w = settings.double_weight(0.0)
print(wg.square(w).predict().run())
