"""Two masks are joined by Python's and, which asks the first for its truth.

Source: written for this table.
"""

import numpy as np

import wengert as wg

x = wg.literal(np.linspace(-2, 2, 5).astype(np.float32), 5)
low, high = wg.greater(x, -1.0), wg.less(x, 1.0)
# bug: inside = low and high
inside = wg.logical_and(low, high)
print(wg.where(inside, x, 0.0).predict().run())
