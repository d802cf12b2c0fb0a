"""Shape, element type and device of any value, and values made like it, whatever its array library.

Knows: how numbers, arrays and annotations tell their shape, element type and device.
Refuses to know: operations and graphs; which array library a value is of, which `dispatch` finds out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from sys import getrefcount
from typing import Final, cast, get_args

import numpy as np
from numpy import asarray
from numpy import ndarray as array

from wengert.arrays.abstract import OpenIndices, indexed_sizes, is_open
from wengert.arrays.dispatch import device_launches, is_array, is_host_array, namespace_for, namespace_of
from wengert.arrays.namespace import Shape, Value
from wengert.arrays.ownership import ALONE, unshared
from wengert.arrays.ownership import as_readonly as host_as_readonly
from wengert.arrays.ownership import freeze as host_freeze
from wengert.arrays.ownership import own_copy as host_own_copy
from wengert.arrays.scatter import within as host_within
from wengert.arrays.types import FLOAT32, FLOAT64, FLOATS, MASK, Cpu, Gpu
from wengert.errors import DeviceError, NonFiniteError

__all__ = [
    "are_finite",
    "as_readonly",
    "copied",
    "decayed",
    "device_name",
    "device_of",
    "dtype_from",
    "dtype_of",
    "entered",
    "freeze",
    "host_array",
    "indexed_shape",
    "integer_array",
    "is_finite",
    "is_other_float",
    "isolated",
    "moved",
    "one_like",
    "own_copy",
    "require_finite",
    "root",
    "shape_of",
    "within",
    "without_memory",
    "zeros_like",
    "zeros_of",
]

_ANYWHERE: Final = nullcontext()
_LARGEST: Final = 5  # arrays that an error names
_CONCRETE = frozenset(np.sctypeDict.values())  # not numpy.floating, which is many element types


def device_of(x: Value) -> Cpu | Gpu:
    """The device that holds `x`: "cpu", or the one of cupy.

    >>> device_of(1.0), device_of(np.zeros(2))
    ('cpu', 'cpu')
    """
    try:
        return cast("Cpu | Gpu", x.device)
    except AttributeError:
        return "cpu"


def device_name(device: Cpu | Gpu) -> str:
    """A text for `device` that can be compared, printed and hashed, which a device of cupy cannot be.

    >>> device_name("cpu")
    'cpu'
    """
    return device if isinstance(device, str) else f"cuda:{device.id}"


def dtype_of(x: Value) -> np.dtype[np.generic]:
    """The element type of `x`; a Python number has that of a C double, a truth value that of a mask."""
    try:
        return cast("np.dtype[np.generic]", x.dtype)
    except AttributeError:
        return MASK if type(x) is bool else FLOAT64


def is_other_float(x: Value) -> bool:
    """Tell whether `x` is a floating number of numpy's, of no element type of expressions.

    >>> is_other_float(np.float16(1)), is_other_float(np.float32(1)), is_other_float(1.0)
    (True, False, False)
    """
    return isinstance(x, np.floating) and x.dtype not in FLOATS


def shape_of(x: Value) -> Shape:
    """The shape of `x`; a number has ().

    >>> shape_of(1.0), shape_of(np.zeros((2, 3)))
    ((), (2, 3))
    """
    try:
        return cast(Shape, x.shape)
    except AttributeError:
        return ()


def dtype_from(annotation: object) -> np.dtype[np.generic] | None:
    """The element type that the parameter of an array type states, or None where it states no single one.

    >>> dtype_from(np.float32), dtype_from(np.dtype[np.float64]), dtype_from(np.floating)
    (dtype('float32'), dtype('float64'), None)
    """
    kind = next(iter(get_args(annotation)), annotation)
    if isinstance(kind, np.dtype):
        return kind
    return np.dtype(kind) if isinstance(kind, type) and kind in _CONCRETE else None


def entered(device: Cpu | Gpu) -> AbstractContextManager[object]:
    """The scope in which the functions of a device's library make arrays there; of the cpu, none is needed."""
    return _ANYWHERE if isinstance(device, str) else device


def moved(x: Value, device: Cpu | Gpu) -> Value:
    """An array on another device; on the same one it is itself.

    >>> x = np.ones(2)
    >>> moved(x, "cpu") is x
    True
    """
    if str(device_of(x)) == str(device):
        return x
    if device == "cpu":
        return namespace_of(x).to_host(x)
    return namespace_for(device, True).from_host(x, device)


def freeze(x: Value) -> Value:
    """A private copy of an array that nobody else can write to, or `x` itself where it is one already."""
    return host_freeze(x) if type(x) is np.ndarray else namespace_of(x).freeze(x)


def own_copy(x: Value) -> Value:
    """A copy of an array for its holder to write to, where that is fastest."""
    return host_own_copy(x) if is_host_array(x) else namespace_of(x).freeze(x)


def copied(x: Value) -> Value:
    """A copy of an array on its own device."""
    return x.copy() if is_host_array(x) else namespace_of(x).freeze(x)


def as_readonly(x: Value) -> Value:
    """A view of an array that cannot be written through; on a device, which has no such views, a copy.

    What is no array is given back.
    """
    if type(x) is np.ndarray:
        return host_as_readonly(x)
    return namespace_of(x).as_readonly(x) if is_array(x) else x


def isolated(function: Callable[..., Value]) -> Callable[..., Value]:
    """A function of a stranger that cannot write into what it is given, nor later into what it has returned.

    It gets arrays as `as_readonly` has them, and what somebody has a reference to besides is copied (`unshared`).
    A call takes about 0.4 us more for each array that is given, and 0.1 for the one that is returned.

    >>> def doubled(x):
    ...     x *= 2.0
    ...     return x
    >>> isolated(doubled)(np.ones(2))
    Traceback (most recent call last):
    ValueError: output array is read-only
    """

    def call(*arguments: Value) -> Value:
        try:  # what `as_readonly` does, most of the time
            given = [asarray(x.data.toreadonly()) if type(x) is array else as_readonly(x) for x in arguments]
        except ValueError:
            given = [*map(as_readonly, arguments)]
        made = [function(*given)]
        del given  # it may be what has been returned
        if type(made[0]) is array and made[0].base is None and getrefcount(made[0]) <= ALONE:
            return made[0]
        return unshared(made) if is_array(made[0]) else made[0]

    return call


def zeros_like(x: Value) -> Value:
    """0 of the shape and element type of `x`."""
    return namespace_of(x).zeros_like(x)


def one_like(x: Value) -> Value:
    """1 of the shape and element type of `x`: the delta that a loss starts with.

    >>> one_like(3.0), one_like(np.float32(3))
    (1.0, np.float32(1.0))
    """
    with entered(device_of(x)):
        return zeros_like(x) + 1.0


def host_array(x: Value) -> Value:
    """An array for a result: `x` itself, or numpy's array of shape () where `x` is a number."""
    return x if is_array(x) else np.asarray(x)


def within(indices: Value, count: int) -> bool:
    """Tell whether all integers are at least 0 and less than `count`."""
    if is_host_array(indices):
        return host_within(indices, count)
    return bool(indices.size == 0 or (indices.max() < count and indices.min() >= 0))


def root(x: Value) -> Value:
    """The square root of a number or array."""
    return namespace_of(x).sqrt(x)


def decayed(x: Value, factor: float, more: Value) -> Value:
    """`factor * x + more`, a running mean, small ones rounded to multiples of 2^-108 in float32, of 2^-952 in float64.

    A mean of zeros would go on for ever in the last, subnormal numbers of its element type, with which some processors
    take a hundred times as long; and a rate makes such numbers of others that are a little larger. From 1e-25 on, and
    1e-270, at most the last bit changes, and from 1e-18 on, and 1e-254, none.
    >>> decayed(np.array([1e-36, 1e-20, 2.0], np.float32), 0.5, 0.0).tolist()[::2], decayed(1e-290, 0.5, 0.0)
    ([0.0, 1.0], 0.0)
    """
    mean = factor * x + more
    small = 2.0**-85 if dtype_of(mean) == FLOAT32 else 2.0**-900
    return mean + small - small


def is_finite(x: Value) -> bool:
    """True where no element of a number or array is infinite or NaN."""
    return namespace_of(x).all_finite(x)


def are_finite(xs: Iterable[Value]) -> bool:
    """True where no element of some numbers and arrays is infinite or NaN; a device is asked once about all of its own.

    >>> are_finite([1.0, np.zeros(2)]), are_finite([np.inf])
    (True, False)
    """
    far: dict[str, list[Value]] = {}  # by device, which has no hash
    for x in xs:
        if is_array(x) and not is_host_array(x):
            far.setdefault(str(x.device), []).append(x)
        elif not is_finite(x):
            return False
    return not any(device_launches().unfinite(arrays) for arrays in far.values())


def require_finite(*xs: Value) -> bool:
    """True where `are_finite` says so, else NonFiniteError: an equation of a plan, whose run ends there.

    >>> require_finite(1.0, np.zeros(2))
    True
    """
    if not are_finite(xs):
        raise NonFiniteError("a loss or a delta is not finite")
    return True


def without_memory(device: Value, what: str, arrays: Iterable[tuple[Value, str]]) -> DeviceError:
    """The error for a device without memory: what its pool holds, and the largest arrays by their operations."""
    named = {id(x): (x, name) for x, name in arrays if is_array(x)}
    largest = sorted(named.values(), key=lambda pair: -pair[0].nbytes)[:_LARGEST]
    lines = [f"{x.nbytes:,} bytes: {x.dtype}{list(x.shape)} of {name}" for x, name in largest]
    return DeviceError(
        f"{device_name(device)} has no memory left for {what}; {device_launches().memory()}; no weight has changed. "
        "The largest arrays:\n  "
        + "\n  ".join(lines)
        + "\n  use smaller batches, or shards(loss, batch, count)"
    )


def zeros_of(shape: Shape) -> Value:
    """Indices of `shape`, all 0: they stand for an index array of which only the shape is known."""
    return OpenIndices(shape) if is_open(shape) else np.zeros(shape, np.intp)


def indexed_shape(shape: Shape, key: Value) -> Shape:
    """The shape of `x[key]` for an array `x` of `shape`; IndexError where numpy has one.

    >>> indexed_shape((4, 5, 6), (0, np.zeros((2, 3), int), ...))
    (2, 3, 6)
    """
    parts = key if isinstance(key, tuple) else (key,)
    if is_open(shape) or any(isinstance(part, OpenIndices) for part in parts):
        open_shape: Value = indexed_sizes(shape, parts)
        return cast(Shape, open_shape)
    taken = sum(part is not None and part is not Ellipsis for part in parts)
    if taken > len(shape):
        raise IndexError(f"too many indices: the array has {len(shape)} axes, {taken} were indexed")
    rest: Value = (slice(None),) * (len(shape) - taken)
    places = [i for i, part in enumerate(parts) if part is Ellipsis] or [len(parts)]
    if len(places) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if any(part is Ellipsis for part in parts):
        rest = rest or (Ellipsis,)  # also where it stands for no axis it parts the arrays around it
    # With an axis of size 0 behind, numpy picks no element, and the shape costs no memory.
    full = (*parts[: places[0]], *rest, *parts[places[0] + 1 :], slice(None))
    picked: Shape = np.empty((*shape, 0))[full].shape
    return picked[:-1]


def integer_array(x: object) -> Value:
    """Indices written as a list, as an array; an empty list has no element type of its own."""
    made = np.asarray(x)
    return made if made.size else made.astype(np.intp)
