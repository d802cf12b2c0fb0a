"""Embeddings are divided by their lengths, which have lost an axis.

Source: written for this table.
"""

import numpy as np

import wengert as wg

chance = np.random.default_rng(0)
embeddings = wg.literal(chance.standard_normal((100, 16), np.float32), 100, 16)

# bug: lengths = wg.sqrt(wg.sum(wg.square(embeddings), axis=1))
lengths = wg.sqrt(wg.sum(wg.square(embeddings), axis=1, keepdims=True))
unit = embeddings / lengths  # shows
similarity = unit @ wg.permute_dims(unit, (1, 0))
print(similarity.predict().run().max())
