"""A mask is multiplied with the scores, as if it were 0 and 1.

Source: written for this table.
"""

import numpy as np

import wengert as wg

chance = np.random.default_rng(0)
scores = wg.literal(chance.standard_normal((6, 6), np.float32), 6, 6)
mask = wg.greater(scores, 0.0)

# bug: kept = scores * mask
kept = wg.where(mask, scores, 0.0)
print(wg.sum(kept).predict().run())
