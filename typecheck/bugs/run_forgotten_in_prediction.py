"""The answer is taken from the description of a prediction.

Source: written for this table.
"""

import numpy as np

import wengert as wg

logits = wg.literal(np.eye(3, dtype=np.float32), 3, 3)
# bug: best = logits.predict().argmax(axis=1)
best = logits.predict().run().argmax(axis=1)
print(best)
