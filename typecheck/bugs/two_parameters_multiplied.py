"""Two parameters that may be plain arrays are multiplied by *, which is numpy's then.

Source: written for this table.
"""

import numpy as np

import wengert as wg


def gated(x: wg.ArrayExpression, gate: wg.ArrayExpression) -> wg.ArrayLayer:
    # bug: return x * gate
    return wg.multiply(x, gate)


print(gated(np.ones(3, np.float32), np.ones(3, np.float32)).predict().run())
