"""Arrays without memory of their own: all that a program has to know of a value, once the value has gone.

Knows: that the layout of a program asks for shapes, element types and order in memory, and that stacked calls are
compared with single ones on small arrays, which therefore stay as they are.
Refuses to know: programs.
"""

from __future__ import annotations

from mmap import mmap
from typing import Final

import numpy as np

from wengert.arrays.dispatch import is_array
from wengert.arrays.namespace import Value

__all__ = ["SMALL", "blank", "has_elements", "outline_of"]

SMALL: Final = 8192  # elements
_space: list[mmap] = []  # pages that nobody touches, and so takes none of the memory: all blanks lie here


def outline_of(value: Value, room: float) -> Value:
    """The value itself where it is small or lies on a device, a blank of a large array, None for what is neither.

    An array of more bytes than there is room is a large one.
    """
    if isinstance(value, np.ndarray):
        return _small(value) if value.size <= SMALL and value.nbytes <= room else blank(value)
    return value if is_array(value) or isinstance(value, (int, float, np.generic)) else None


def blank(like: np.ndarray) -> np.ndarray:
    """An array of zeros with the shape, the element type and the strides of another one, which nobody may write to.

    >>> made = blank(np.ones((300, 400)).T)
    >>> made.shape, made.flags.f_contiguous, made.flags.writeable, float(made.max())
    ((400, 300), True, False, 0.0)
    """
    if like.dtype.hasobject or not like.size:
        return like
    ends = [(n - 1) * step for n, step in zip(like.shape, like.strides, strict=True)]
    begin = -sum(end for end in ends if end < 0)
    size = begin + sum(end for end in ends if end > 0) + like.itemsize
    space = _space[-1] if _space else None
    if space is None or len(space) < size:
        _space[:] = [space := mmap(-1, 2 * size)]
    made = np.ndarray(like.shape, like.dtype, space, begin, like.strides)
    made.flags.writeable = False
    return made


def has_elements(value: Value) -> bool:
    """Tell whether a value is an array, and no blank."""
    return isinstance(value, np.ndarray) and not isinstance(value.base, mmap)


def _small(value: np.ndarray) -> np.ndarray:
    """Copy of a view that would keep a larger array alive; any other array itself."""
    if value.base is None or getattr(value.base, "size", 0) <= SMALL:
        return value
    if value.flags.c_contiguous or value.flags.f_contiguous:
        return value.copy(order="A")
    apart = np.empty((*value.shape, 2), value.dtype)[..., 0]  # nor does this one lie without gaps
    np.copyto(apart, value)
    return apart
