"""One letter stands for an axis of five and for one of two.

Source: numpy/numpy#11541, einsum: inconsistent behaviour on wrong dimensions.
"""

import numpy as np

import wengert as wg

a = wg.literal(np.ones((5, 3), np.float32), 5, 3)
b = wg.literal(np.ones(2, np.float32), 2)
# bug: print(wg.einsum("ij,i->", a, b).predict().run())
print(wg.einsum("ij,k->", a, b).predict().run())
