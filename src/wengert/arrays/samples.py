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

__all__ = [
    "Bytes",
    "Labels",
    "centred",
    "column",
    "cropped",
    "drawn_by_weight",
    "flipped",
    "idx",
    "integers",
    "lengths_in_order",
    "lines",
    "order",
    "padded",
    "pictures",
    "read_arrays",
    "standard",
]

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


def drawn_by_weight(seed: int, epoch: int, weights: Any, count: int) -> Labels | None:  # Any: numbers
    """`count` places, each with a probability as its weight; None for weights that are none."""
    found = np.asarray(weights, np.float64)
    if found.ndim != 1 or not np.isfinite(found).all() or (found < 0).any() or not found.sum() > 0:
        return None
    drawn = np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(epoch,))).random_raw(count)
    ends = np.cumsum(found)
    places = np.searchsorted(ends, (drawn >> np.uint64(11)) * 2.0**-53 * ends[-1], side="right")
    return integers(np.minimum(places, np.flatnonzero(found)[-1]))


def lengths_in_order(places: Labels, lengths: Any) -> Labels:  # Any: integers
    """The places by the lengths of their examples; equal ones stay in order."""
    return places[np.argsort(np.asarray(lengths, np.int64)[places], kind="stable")]


def padded(sequences: Any, length: int, value: float) -> Any:  # Any: arrays of every type
    """Sequences below each other, with `value` behind the end of each."""
    arrays = [np.asarray(sequence) for sequence in sequences]
    made = np.full((len(arrays), length, *arrays[0].shape[1:]), value, arrays[0].dtype)
    for row, array in zip(made, arrays, strict=True):
        row[: len(array)] = array
    return made


def column(parts: Any, several: bool, dtype: Any) -> Any:  # Any: what numpy makes arrays of
    """A column, or several side by side; of a dtype, if one is said."""
    arrays = [np.asarray(part) for part in parts]
    made = np.stack(arrays, axis=-1) if several else arrays[0]
    if dtype is not None:
        return made.astype(dtype, copy=False)
    if made.dtype.kind not in "biuf":
        raise ValueError(f"its elements are {made.dtype}")
    return made


def read_arrays(file: Any) -> dict[str, Any]:  # Any: a file; arrays of every type
    """The arrays of an npz file, of which no pickle is read."""
    with np.load(file, allow_pickle=False) as found:
        return {name: found[name] for name in found.files}


def idx(content: Any, rank: int) -> Any:  # Any: all that has a buffer; bytes of that rank, or None
    """The array of an idx file of bytes; None for what is none."""
    head = bytes(content[: 4 + 4 * rank])
    if len(head) < 4 + 4 * rank or head[:4] != bytes([0, 0, 8, rank]):
        return None
    shape = [int.from_bytes(head[i : i + 4], "big") for i in range(4, len(head), 4)]
    size = int(np.prod(shape, dtype=object))
    if len(content) != len(head) + size:
        return None
    return np.frombuffer(content, np.uint8, size, len(head)).reshape(shape)


def pictures(found: Any) -> Any:  # Any: pictures of one size; float32
    """Pictures as numbers from 0 to 1."""
    return np.stack([np.asarray(one, np.float32) for one in found]) / np.float32(255.0)


def cropped(images: Any, padding: int, seeds: list[int]) -> Any:  # Any: arrays
    """Each image moved by up to `padding` pixels, zeros beside it."""
    n, height, width, _ = images.shape
    wide = np.pad(images, ((0, 0), (padding, padding), (padding, padding), (0, 0)))
    made = np.empty_like(images)
    for i in range(n):
        top, left = np.random.PCG64([*seeds, i]).random_raw(2) % np.uint64(2 * padding + 1)
        made[i] = wide[i, int(top) : int(top) + height, int(left) : int(left) + width]
    return made


def flipped(images: Any, seeds: list[int]) -> Any:  # Any: arrays
    """Half of the images, left and right exchanged."""
    drawn = np.array([np.random.PCG64([*seeds, i]).random_raw() >> 63 for i in range(len(images))], bool)
    return np.where(drawn[:, None, None, None], images[:, :, ::-1], images)


def standard(images: Any, mean: Any, std: Any) -> Any:  # Any: arrays; float32
    """(images - mean) / std by the last axis."""
    return (np.asarray(images, np.float32) - np.asarray(mean, np.float32)) / np.asarray(std, np.float32)
