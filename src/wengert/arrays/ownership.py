"""Ownership of numpy's arrays: private copies, arrays that nobody can write to, and read-only views.

Knows: numpy's flags, and that memory of `bytes` can never be made writeable; that counts of references tell whether
anybody else has an array; the order of axes in memory.
Refuses to know: whose array it is, and when a copy is needed.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Iterator
from pickle import PickleBuffer
from sys import getrefcount
from typing import Any, Final

import numpy as np

from wengert.arrays.namespace import Shape, Value
from wengert.errors import NotDifferentiableError

__all__ = [
    "ALONE",
    "as_readonly",
    "freeze",
    "is_turned",
    "new_array",
    "own_copy",
    "owners",
    "unshared",
    "unused_array",
]

# What `sys.getrefcount` says of an object that one attribute holds: the argument of the call counts, too. Ask with
# the attribute itself as the argument: a local variable counts as well, but not in every Python.
ALONE: Final = 2

_LINE = 64  # bytes of a cache line, and of the widest registers
_LEAST = 1024  # bytes of an array that is worth it
_buffer: Final[Callable[[Any], Any]] = PickleBuffer  # Any: numpy's stubs say of neither that it is a buffer
_first, addressof = ctypes.c_char.from_buffer, ctypes.addressof  # 0.4 us, where `x.ctypes.data` takes 1.6


def new_array(shape: Shape, dtype: Value) -> Value:
    """An array in C order whose elements have any value; a larger one begins on a cache line.

    From there a product of 16 rows with 3072 x 64 takes 56 us, and 67 where each register is filled from two lines.
    The memory is of a buffer: with an array for its base numpy would take that for the base of its views, too. A
    `bytearray` would be one, but is filled with zeros: 25 us for 256 x 1024 in place of 2.
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if size < _LEAST:
        return np.empty(shape, dtype)
    memory = _buffer(np.empty(size + _LINE, np.uint8))
    return np.ndarray(shape, dtype, memory, -addressof(_first(memory)) % _LINE)


def unused_array(given: list[Value], shape: Shape, dtype: Value) -> Value:
    """An array for a result that goes to others: one of the two that were `given` last, if nobody has that any more.

    Else it is made by `new_array`. Memory that is asked for in each run may come from the system page by page, which
    for 784 x 512 takes as long as to write it four times.
    >>> given = []
    >>> first, second = unused_array(given, (2,), float), unused_array(given, (2,), float)
    >>> place, view = id(first), first[1:]
    >>> del first, second
    >>> id(unused_array(given, (2,), float)) == place, len(given)
    (False, 2)
    >>> del view
    >>> id(unused_array(given, (2,), float)) == place
    True
    """
    for i in range(len(given)):
        if getrefcount(given[i]) == ALONE and _is_usable(given[i], shape, dtype):
            return given[i]
    made = new_array(shape, dtype)
    given.append(made)
    del given[:-2]
    return made


def _is_usable(x: Value, shape: Shape, dtype: Value) -> bool:
    """False if somebody who had the array has made it another one."""
    flags = x.flags
    return bool(flags.writeable and flags.c_contiguous and x.shape == shape and x.dtype == dtype)


def is_turned(x: Value) -> bool:
    """True if the axes of an array lie in another order than C's, or are gone through backwards.

    >>> x = np.zeros((3, 4))
    >>> is_turned(x[:, ::2]), is_turned(x.T), is_turned(x[::-1])
    (False, True, True)
    """
    steps = [step for step, n in zip(x.strides, x.shape, strict=True) if n > 1]
    return any(step <= 0 for step in steps) or sorted(steps, reverse=True) != steps


def own_copy(x: Value) -> Value:
    """A copy of an array, in C order, for its holder to write to."""
    copy = new_array(x.shape, x.dtype)
    copy[...] = x
    return copy


def freeze(x: Value, /) -> Value:
    """A copy of the array `x` that can never be written to, or `x` itself where it is such a copy.

    The copy has the memory order of `x` where that is C or Fortran order, else C order. Its memory is a
    `bytes` object: unlike a flag on an array, that cannot be undone.

    >>> frozen = freeze(np.zeros((2, 3)))
    >>> freeze(frozen) is frozen, freeze(frozen[0]).base is frozen
    (True, True)
    """
    plain = type(x) is np.ndarray
    if not plain and not isinstance(x, np.ndarray):
        return x  # a numpy scalar cannot be written to
    base: object = x.base
    if base is not None:
        # A view of such a copy is as good. numpy keeps no longer chain: a view's base is the copy itself.
        if type(base) is np.ndarray:
            base = base.base
        if type(base) is bytes:
            return x
    if not plain and not isinstance(x, np.memmap):
        raise NotDifferentiableError(
            f"{type(x).__module__}.{type(x).__name__} is not used as an array, because its operations mean "
            f"something else; write numpy.asarray(x), or x.filled(value) for a masked array"
        )
    if x.dtype.hasobject:
        raise NotDifferentiableError(
            f"an array of Python objects (dtype {x.dtype}) has no derivative; write x.astype(numpy.float64)"
        )
    if x.ndim > 1 and x.flags.fnc:  # in Fortran order, and not in C order too
        return np.ndarray(x.shape, x.dtype, x.tobytes("F"), order="F")
    return np.ndarray(x.shape, x.dtype, x.tobytes())


def as_readonly(x: Value, /) -> Value:
    """A view of the array `x` through which nothing can be written, whatever flags are set on it.

    >>> view = as_readonly(np.zeros(2))
    >>> view.flags.writeable = True
    Traceback (most recent call last):
    ValueError: cannot set WRITEABLE flag to True of this array
    """
    if type(x) is np.ndarray:
        try:
            return np.asarray(x.data.toreadonly())
        except ValueError:  # a memoryview has no such elements: dates, for example
            pass
    if not isinstance(x, np.ndarray):
        return x  # a numpy scalar cannot be written to
    view = x.view()  # of a user's own class of arrays, too, which it stays
    view.flags.writeable = False
    return view


def owners(x: object) -> Iterator[object]:
    """The array `x`, what that is a view of, and so on, through memoryviews too, to what has the memory.

    >>> whole = np.zeros(3)
    >>> any(y is whole for y in owners(as_readonly(whole)[1:]))
    True
    """
    while x is not None:
        yield x
        x = _below(x)


def _below(x: object) -> object:
    """The object whose memory `x` shows; None where it has its own."""
    if isinstance(x, PickleBuffer):
        x = memoryview(x)
    return x.obj if isinstance(x, memoryview) else getattr(x, "base", None)


def unshared(made: list[Value]) -> Value:
    """The array in a list, or a copy of it where somebody else has that, or what it is a view of.

    For what the function of a stranger has just returned: the list has the only reference to it here. What it
    shows of read-only memory, such as its own argument, stays as it is.

    >>> kept = np.zeros(2)
    >>> unshared([kept]) is kept, unshared([kept[1:]]).base is kept, unshared([np.zeros(4)[1:]]).base is None
    (False, False, False)
    """
    count = getrefcount(made[0])
    while count <= ALONE:
        base = _below(made[-1])
        if base is None:
            return made[0]
        made.append(base)
        del base  # or it would count
        if isinstance(made[-1], (bytes, memoryview)):
            if memoryview(made[-1]).readonly:
                return made[0]
            break
        if not isinstance(made[-1], (np.ndarray, bytearray, PickleBuffer)):
            break
        count = getrefcount(made[-1]) - 1  # the view has one, too
        if isinstance(made[-1], bytearray) and count <= ALONE:
            return made[0]
    return made[0].copy(order="K")
