"""The keys are not transposed before they meet the queries.

Source: written for this table.
"""

from typing import Literal

import numpy as np

import wengert as wg

chance = np.random.default_rng(0)


def attention(
    q: wg.ArrayLayer[tuple[Literal[5], Literal[16]]], k: wg.ArrayLayer[tuple[Literal[7], Literal[16]]]
) -> wg.ArrayLayer[tuple[Literal[5], Literal[7]]]:
    # bug: scores = wg.matmul(q, k)
    scores = wg.matmul(q, wg.permute_dims(k, (1, 0)))
    return wg.softmax(scores * 0.25)


queries = wg.literal(chance.standard_normal((5, 16), np.float32), 5, 16)
keys = wg.literal(chance.standard_normal((7, 16), np.float32), 7, 16)
print(attention(queries, keys).predict().run().sum())
