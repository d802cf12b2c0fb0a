"""The one weight is given alone, and its derivative is unpacked as from a tuple.

Source: written for this table.
"""

import wengert as wg
from wengert.plugins import SGD

w = SGD(learning_rate=0.1).double_weight(3.0)
# bug: (dw,) = wg.gradients(wg.square(w), w).run()
(dw,) = wg.gradients(wg.square(w), (w,)).run()
print(dw)
