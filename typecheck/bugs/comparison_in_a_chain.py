"""A range is written as a chain of comparisons, which would fail for numpy arrays as well.

Source: written for this table.
"""

import numpy as np

import wengert as wg

x = wg.literal(np.linspace(-2, 2, 5).astype(np.float32), 5)
# bug: inside = -1.0 < x < 1.0
inside = wg.logical_and(wg.greater(x, -1.0), wg.less(x, 1.0))
print(wg.sum(inside).predict().run())
