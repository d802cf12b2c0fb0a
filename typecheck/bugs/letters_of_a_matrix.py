"""The letters of a vector are written for a matrix.

Source: dgasmith/opt_einsum#130, Confusing error messages when input shape doesn't match subscripts.
"""

import numpy as np

import wengert as wg

a = wg.literal(np.ones(2, np.float32), 2)
m = wg.literal(np.ones((2, 2), np.float32), 2, 2)
# bug: print(wg.einsum("a,a->a", a, m).shape)
print(wg.einsum("a,ab->a", a, m).shape)
