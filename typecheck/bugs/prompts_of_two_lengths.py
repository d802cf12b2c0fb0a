"""The empty prompt has half as many tokens as the one that it is batched with.

Source: hlky/nataili#145, Expected size 77 but got size 154 for tensor number 1 in the list.
"""

import numpy as np

import wengert as wg

empty = wg.literal(np.zeros((1, 77, 8), np.float32), 1, 77, 8)
# bug: prompt = wg.literal(np.ones((1, 154, 8), np.float32), 1, 154, 8)
prompt = wg.literal(np.ones((1, 77, 8), np.float32), 1, 77, 8)
print(wg.concat([empty, prompt]).shape)  # shows
