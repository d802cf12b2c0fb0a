"""A rectifier is written with Python's max.

Source: written for this table.
"""

import wengert as wg


def rectified(x: wg.DoubleLayer) -> wg.DoubleLayer:
    # bug: return max(x, 0.0)
    return wg.maximum(x, 0.0)


print(rectified(wg.lift(-1.0)).predict().run())
