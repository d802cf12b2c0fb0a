"""A few images as CIFAR-100 has them, in both formats, and how they have to be read or refused."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wengert.data import Cifar100, cifar100
from wengert.errors import DataError

COUNT = 7
chance = np.random.default_rng(0)
PIXELS = chance.integers(0, 256, (COUNT, 3072), np.uint8)
COARSE = chance.integers(0, 20, COUNT)
FINE = chance.integers(0, 100, COUNT)


def binary() -> bytes:
    labels = np.stack([COARSE, FINE], axis=1).astype(np.uint8)
    return np.concatenate([labels, PIXELS], axis=1).tobytes()


def held(**changes: Any) -> dict[Any, Any]:  # Any: what a pickle may hold
    whole: dict[Any, Any] = {
        b"filenames": [b"a.png"] * COUNT,
        b"batch_label": b"training batch 1 of 1",
        b"fine_labels": FINE.tolist(),
        b"coarse_labels": COARSE.tolist(),
        b"data": PIXELS,
    }
    return {**whole, **{name.encode(): x for name, x in changes.items()}}


def pickled(**changes: Any) -> bytes:
    return pickle.dumps(held(**changes), protocol=2)


def of_python_2() -> bytes:
    """A pickle as Python 2 wrote it, opcode by opcode: texts are bytes, and the array has its module's old name."""

    def text(x: bytes) -> bytes:
        return b"T" + len(x).to_bytes(4, "little") + x

    def numbers(xs: Any) -> bytes:
        return b"](" + b"".join(b"K" + bytes([x]) for x in xs) + b"e"

    dtype = b"cnumpy\ndtype\n" + text(b"u1") + b"K\x00K\x01\x87R" + b"(K\x03" + text(b"|")
    dtype += b"NNN" + 2 * b"J\xff\xff\xff\xff" + b"K\x00tb"
    array = (
        b"cnumpy.core.multiarray\n_reconstruct\n"
        + b"cnumpy\nndarray\n"
        + b"K\x00\x85"
        + text(b"b")
        + b"\x87R"
    )
    array += (
        b"(K\x01"
        + b"K"
        + bytes([COUNT])
        + b"M\x00\x0c\x86"
        + dtype
        + b"\x89"
        + text(PIXELS.tobytes())
        + b"tb"
    )
    entries = (
        text(b"data")
        + array
        + text(b"coarse_labels")
        + numbers(COARSE)
        + text(b"fine_labels")
        + numbers(FINE)
    )
    return b"\x80\x02}(" + entries + b"u."


def check(found: Cifar100) -> None:
    assert type(found) is Cifar100 and len(found) == COUNT
    assert (found.images == PIXELS).all() and found.images.dtype == np.uint8
    assert (found.coarse == COARSE).all() and (found.fine == FINE).all() and found.fine.dtype == np.int64
    pixels = found.pixels()
    assert pixels.dtype == np.float32 and np.abs(pixels - (PIXELS / 255 - 0.5)).max() < 1e-6
    some = found.take(np.array([5, 2]))
    assert (some.images == PIXELS[[5, 2]]).all() and some.images.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        found.images[0, 0] = 0


CONTENTS = {"binary": binary, "python": pickled, "python 2": of_python_2}


def refused(path: Path, *words: str) -> None:
    with pytest.raises(DataError) as caught:
        cifar100(path)
    assert isinstance(caught.value, ValueError)
    for word in (str(path), *words):
        assert word in str(caught.value), caught.value
