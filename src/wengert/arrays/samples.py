"""Examples as arrays: bytes of a file as lines, and orders drawn by chance.

Knows: numpy's way to look at bytes; that numpy may change its shuffling, but never what its generators draw.
Refuses to know: which file the bytes are of, and what an order is for.

Not among the names of `wengert.arrays`: numpy loads its generators when they are first asked for, which takes
20 ms, and who has no data should not wait for them.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from wengert.arrays.types import Float32, S

__all__ = ["Bytes", "Labels", "centred", "integers", "lines", "order"]

Labels: TypeAlias = np.ndarray[tuple[int], np.dtype[np.int64]]
Bytes: TypeAlias = np.ndarray[S, np.dtype[np.uint8]]


def order(seed: int, epoch: int, count: int) -> Labels:
    """The numbers from 0 to `count` - 1 in an order that seed and epoch decide, with every version of numpy.

    >>> order(0, 1, 5).tolist() == order(0, 1, 5).tolist(), sorted(order(0, 2, 5).tolist())
    (True, [0, 1, 2, 3, 4])
    """
    chance = np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(epoch,)))
    drawn = chance.random_raw(count)
    return np.argsort(drawn, kind="stable").astype(np.int64, copy=False)


def integers(x: Any) -> Labels:  # Any: whatever numpy makes an array of
    """Integers in one line, as labels are."""
    made: Labels = np.asarray(x, np.int64).reshape(-1)
    return made


def lines(content: Any, width: int) -> Bytes[tuple[int, int]]:  # Any: all that has a buffer
    """Bytes as lines of `width`, without a copy."""
    seen: Bytes[tuple[int, int]] = np.frombuffer(content, np.uint8).reshape(-1, width)
    return seen


def centred(x: Any, greatest: float) -> np.ndarray[Any, np.dtype[Float32]]:  # Any: the shape
    """Numbers from 0 to `greatest` as float32 from -0.5 to 0.5.

    >>> centred([0, 51, 255], 255).tolist()
    [-0.5, -0.30000001192092896, 0.5]
    """
    numbers = np.asarray(x).astype(np.float32)
    numbers /= np.float32(greatest)
    numbers -= np.float32(0.5)
    return numbers
