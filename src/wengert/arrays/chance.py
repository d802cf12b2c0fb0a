"""Random numbers of a run: which elements a dropout keeps, and noise.

Knows: numpy's generators, and that a mask is a pure function of shape, rate and seed, so that a run can be
repeated and float32 and float64 lose the same elements.
Refuses to know: what is masked or noisy, and where seeds come from.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from wengert.arrays.namespace import Shape, Value

__all__ = ["dropout_mask", "dropout_masks", "noise"]


def dropout_mask(shape: Shape, dtype: Value, rate: float, seed: Value, /) -> Value:
    """0 with probability `rate`, else 1 / (1 - rate); `seed` is one or more integers ≥ 0.

    >>> dropout_mask((6,), "float64", 0.5, [1, 2]).tolist()
    [2.0, 0.0, 2.0, 0.0, 0.0, 0.0]
    """
    if not rate:
        return np.ones(shape, dtype)
    # The bits themselves, not a distribution made of them: their stream is the same in every version of numpy.
    size = math.prod(shape)
    bits = np.random.PCG64(seed).random_raw((size + 1) // 2).view(np.uint32)[:size].reshape(shape)
    scale = np.dtype(dtype).type(1.0 / (1.0 - rate))
    return np.multiply(bits >= np.uint32(rate * 2.0**32), scale, dtype=dtype)


def dropout_masks(shape: Shape, dtype: Value, rate: Value, seeds: Value, /) -> Value:
    """A mask for each row of `seeds`, the one that `dropout_mask` gives for it; of one rate, or one a row.

    >>> dropout_masks((6,), "float64", 0.5, np.array([[1, 2], [3, 4]]))[0].tolist()
    [2.0, 0.0, 2.0, 0.0, 0.0, 0.0]
    """
    masks = np.empty((len(seeds), *shape), dtype)
    rates = np.broadcast_to(rate, len(seeds)).tolist()
    for row, (each, seed) in enumerate(zip(rates, seeds, strict=True)):
        masks[row] = dropout_mask(shape, dtype, each, seed)
    return masks


def noise(seeds: Sequence[int], shape: Shape, deviation: float, dtype: Value) -> Value:
    """Normal numbers of mean 0 that some integers decide; a number of that dtype for the shape ().

    >>> noise([0, 1], (2,), 1.0, "float32").tolist() == noise([0, 1], (2,), 1.0, "float32").tolist()
    True
    """
    return np.multiply(np.random.default_rng(seeds).standard_normal(shape), deviation).astype(dtype)
