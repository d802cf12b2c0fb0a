"""A layer is asked whether it is positive, as a tensor of an eager library would be.

Source: written for this table.
"""

import wengert as wg


def leaky(x: wg.DoubleLayer) -> wg.DoubleLayer:
    # bug: return x if x > 0 else x * 0.1
    return wg.where(wg.greater(x, 0.0), x, x * 0.1)


print(leaky(wg.lift(-2.0)).predict().run())
