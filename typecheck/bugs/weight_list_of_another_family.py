"""A list of double weights goes to a function of float weights.

Source: written for this table.
"""

from collections.abc import Sequence

import wengert as wg
from wengert.plugins import SGD


def penalty(weights: Sequence[wg.FloatWeight]) -> wg.FloatLayer:
    total = wg.square(weights[0])
    for w in weights[1:]:
        total = total + wg.square(w)
    return total


settings = SGD(learning_rate=0.1)
# bug: weights = [settings.double_weight(x) for x in (1.0, 2.0)]
weights = [settings.float_weight(x) for x in (1.0, 2.0)]
print(penalty(weights).train().run())  # shows
