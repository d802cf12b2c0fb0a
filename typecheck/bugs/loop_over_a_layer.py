"""A loop goes over the lines of a layer.

Source: written for this table.
"""

import numpy as np

import wengert as wg

x = wg.literal(np.ones((3, 2), np.float32), 3, 2)
total = wg.sum(x[0])
# bug: for line in x[1:]:
for line in (x[i] for i in range(1, 3)):
    total = total + wg.sum(line)
print(total.predict().run())
