"""The learning rate is lowered by assigning it.

Source: written for this table.
"""

import wengert as wg
from wengert.plugins import SGD

settings = SGD(learning_rate=0.1)
w = settings.double_weight(2.0)
# bug: settings.learning_rate = 0.01
settings = SGD(learning_rate=0.01)
print(wg.square(w).train().run())
