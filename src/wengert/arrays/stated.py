"""A person's data as an array of a stated element type.

Knows: which data are numbers, and that neither a text nor a fraction becomes an integer silently.
Refuses to know: what the array is for, and whose data they are.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from wengert.arrays.namespace import Value
from wengert.arrays.ownership import freeze

__all__ = ["dtype_name", "integer_of", "stated_array", "stating"]

_NUMBERS = "fiub"
_FITS = {"f": "fiub", "i": "iub", "u": "iub", "b": "b"}  # of each kind of element, what may become it


def dtype_name(x: object) -> str | None:
    """The name of an element type of numbers or truth values, None for anything else.

    >>> dtype_name("float32"), dtype_name(np.int64), dtype_name("string"), dtype_name(None)
    ('float32', 'int64', None, None)
    """
    if x is None:
        return None
    try:
        found = np.dtype(x)  # type: ignore[call-overload] # whatever numpy takes for an element type
    except TypeError:
        return None
    name: str = found.name
    return name if found.kind in _NUMBERS else None


def stated_array(x: Value, dtype: str) -> Value:
    """`x` as an array that nobody can write to, None where it is not of such numbers.

    >>> stated_array([1, 2], "float32").dtype.name, stated_array("1", "float32"), stated_array(1.5, "int32")
    ('float32', None, None)
    """
    return stating(dtype)(x)


@functools.lru_cache(maxsize=64)
def stating(dtype: str) -> Callable[[Value], Value]:
    """`stated_array` for one element type, which is looked up once.

    >>> stating("int32")(3), stating("int32")("three")
    (array(3, dtype=int32), None)
    """
    wanted = np.dtype(dtype)
    fits, integer = _FITS[wanted.kind], None if wanted.kind == "f" else integer_of(dtype)

    def stated(x: Value) -> Value:
        if integer is not None and type(x) is int:
            return integer(x)
        try:
            array = np.asarray(x)
        except (TypeError, ValueError):
            return None
        if array.dtype.kind not in fits and array.size:
            return None
        return freeze(array.astype(wanted, copy=False))

    return stated


@functools.lru_cache(maxsize=64)
def integer_of(dtype: str) -> Callable[[int], Value]:
    """`stated_array` of Python's integers: equal ones are one array, so that they are one operand."""
    wanted = np.dtype(dtype)
    least, most = (1, 0) if wanted.kind == "b" else (np.iinfo(wanted).min, np.iinfo(wanted).max)

    @functools.lru_cache(maxsize=4096)
    def integer(x: int) -> Value:
        return freeze(np.array(x, wanted)) if least <= x <= most else None

    return integer
