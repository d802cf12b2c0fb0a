"""The weight is made from the class of settings, which has no learning rate.

Source: written for this table.
"""

import wengert as wg
from wengert.plugins import SGD

# bug: w = SGD.double_weight(2.0)
w = SGD(learning_rate=0.1).double_weight(2.0)
print(wg.square(w).train().run())
