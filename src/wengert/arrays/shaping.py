"""The functions of `Namespace` that an array answers by its own methods, the same in numpy and in cupy.

Knows: the methods that the two have in common.
Refuses to know: whose array it is.
"""

from __future__ import annotations

from wengert.arrays.axes import expanded
from wengert.arrays.namespace import Shape, Value

__all__ = ["expand_dims", "permute_dims", "reshape", "squeeze"]


def reshape(x: Value, shape: Shape, /) -> Value:
    return x.reshape(shape)


def permute_dims(x: Value, axes: tuple[int, ...], /) -> Value:
    return x.transpose(axes)


def expand_dims(x: Value, /, axis: int | tuple[int, ...]) -> Value:
    return x.reshape(expanded(x.shape, axis))


def squeeze(x: Value, /, axis: int | tuple[int, ...]) -> Value:
    return x.squeeze(axis)
