"""Numbers of steps are cast to integers inside the network, where no derivative would pass.

Source: written for this table.
"""

import numpy as np

import wengert as wg

x = wg.literal(np.array([0.2, 1.7], np.float32), 2)
# bug: steps = wg.astype(x, np.int64)
steps = x.predict().run().astype(np.int64)
print(steps.dtype)
