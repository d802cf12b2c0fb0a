"""A mask of atoms is given two new axes at the wrong end.

Source: jwohlwend/boltz#226, Fix the expected mask shape for AtomAttentionPairBias.
"""

from typing import NewType

import numpy as np

import wengert as wg

Batch = NewType("Batch", int)
Atoms = NewType("Atoms", int)
scores = wg.literal(np.ones((2, 4, 5, 5), np.float32), Batch, 4, Atoms, Atoms)
mask = wg.literal(np.ones((2, 5), np.float32), Batch, Atoms)
# bug: print((scores * mask[:, :, None, None]).shape)
print((scores * mask[:, None, None, :]).shape)
