"""The mask is the last argument, and not the first one.

Source: written for this table.
"""

import numpy as np

import wengert as wg

x = wg.literal(np.array([-1.0, 1.0], np.float32), 2)
# bug: print(wg.where(x, 0.0, wg.greater(x, 0.0)).predict().run())
print(wg.where(wg.greater(x, 0.0), x, 0.0).predict().run())
