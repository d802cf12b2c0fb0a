"""math.log is called on a probability that is a weight.

Source: written for this table.
"""

import math

import wengert as wg
from wengert.plugins import SGD

p = SGD(learning_rate=0.1).double_weight(0.3)
# bug: loss = math.sqrt(2.0) * -math.log(p)
loss = math.sqrt(2.0) * -wg.log(p)
print(wg.predict(loss).run())
