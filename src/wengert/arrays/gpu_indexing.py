"""Elements of cupy's arrays by index, and the delta of that: the part of `gpu` that takes indices.

Knows: that cupy wants indices on the device, has no `subtract.at`, and reports no index out of range.
Refuses to know: what an index is for. Imported by `gpu` alone.
"""

from __future__ import annotations

import cupy as cp
import numpy as np

from wengert.arrays.changes import Change
from wengert.arrays.namespace import Shape, Value

__all__ = [
    "add_at",
    "getitem",
    "labels",
    "mesh",
    "one_hot",
    "pick",
    "subtract_at",
    "take",
    "take_along_axis",
]


def take(x: Value, indices: Value, /, axis: int) -> Value:
    return cp.take(x, cp.asarray(indices), axis)


def take_along_axis(x: Value, indices: Value, /, axis: int) -> Value:
    return cp.take_along_axis(x, cp.asarray(indices), axis)


def mesh(shape: Shape, /) -> tuple[Value, ...]:
    return cp.ix_(*map(cp.arange, shape))


def _on_device(key: Value) -> Value:
    """`key` with numpy's index arrays moved to the device, where cupy wants them."""
    if isinstance(key, tuple):
        return tuple(map(_on_device, key))
    return cp.asarray(key) if isinstance(key, np.ndarray | list) else key


def getitem(x: Value, key: Value, /) -> Value:
    return x[_on_device(key)]


def add_at(shape: Shape, dtype: Value, key: Value, g: Value, /) -> Value:
    out = cp.zeros(shape, dtype)
    cp.add.at(out, _on_device(key), g)
    return out


def subtract_at(w: Value, key: Value, g: Value, /) -> list[Change]:
    return [(cp.add.at, w, _on_device(key), -g)]  # cupy has no subtract.at


def pick(x: Value, labels: Value, /) -> Value:
    return take_along_axis(x, labels[..., None], -1)[..., 0]


def labels(labels: Value, classes: int, /) -> Value:
    if not bool(((labels >= 0) & (labels < classes)).all()):
        raise IndexError(f"labels are 0 to {classes - 1}")
    return labels


def one_hot(at: Value, classes: int, dtype: Value, /) -> Value:
    # A device does not report an index out of range, so a wrong label would leave a line of zeros.
    at = labels(cp.asarray(at), classes)
    return cp.equal(at[..., None], cp.arange(classes)).astype(dtype)
