"""Values as bytes and back, bit for bit: what a file holds of numbers and arrays.

Knows: element types that a file may have, C order and little-endian bytes; that a Python float, a scalar of
numpy and an array of shape () are three things.
Refuses to know: files, and whose value it is.
"""

from __future__ import annotations

import math
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import numpy as np

from wengert.arrays.dispatch import HOST, is_array, namespace_for, namespace_of
from wengert.arrays.namespace import Shape, Value
from wengert.arrays.ownership import new_array
from wengert.arrays.types import Cpu, Gpu
from wengert.errors import NonFiniteError

__all__ = [
    "TWO_BYTES",
    "Narrow",
    "Sort",
    "Stored",
    "StoredForm",
    "as_form",
    "exactly",
    "form_of",
    "restored",
    "stored",
]

Sort: TypeAlias = Literal["float", "scalar", "array"]
_ITEMS: Final = {
    np.dtype(name).name: np.dtype(name).newbyteorder("<")
    for name in ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")
}


class StoredForm(NamedTuple):
    """Structure of a stored value: all but its numbers."""

    sort: Sort
    dtype: str
    shape: Shape

    @property
    def size(self) -> int | None:
        """Number of bytes; None for an element type that a file may not have."""
        item = _ITEMS.get(self.dtype)
        return None if item is None else math.prod(self.shape) * item.itemsize

    def __str__(self) -> str:
        return f"{self.sort} of {self.dtype}" + (f" and shape {self.shape}" if self.sort == "array" else "")


class Stored(NamedTuple):
    """A value as bytes."""

    form: StoredForm
    data: bytes


def form_of(x: object) -> StoredForm | None:
    """The form of a number or array; None for anything else, also for elements that a file may not have.

    >>> form_of(1.0), form_of(np.float32(1)), form_of(np.zeros((2, 3))), form_of("x")
    (StoredForm(sort='float', dtype='float64', shape=()), StoredForm(sort='scalar', dtype='float32', shape=()), \
StoredForm(sort='array', dtype='float64', shape=(2, 3)), None)
    """
    if type(x) is float:
        return StoredForm("float", "float64", ())
    if not (is_array(x) or isinstance(x, np.generic)):
        return None
    value: Any = x  # Any: an array of either library, or a scalar
    form = StoredForm("array" if is_array(x) else "scalar", value.dtype.name, tuple(value.shape))
    return None if form.size is None or value.dtype.names else form


def stored(x: Value) -> Stored | None:
    """A number or array as bytes, whatever its strides and its device; None where it has no form."""
    form = form_of(x)
    if form is None:
        return None
    host = (namespace_of(x) if is_array(x) else HOST).to_host(x)
    data: bytes = host.astype(_ITEMS[form.dtype], copy=False).tobytes("C")
    return Stored(form, data)


def restored(x: Stored, device: Cpu | Gpu) -> Value:
    """The value: a number, or a new array on `device`.

    >>> restored(stored(np.float32(0.5)), "cpu"), restored(stored(np.arange(3)[::-1]), "cpu")
    (np.float32(0.5), array([2, 1, 0]))
    """
    item = _ITEMS[x.form.dtype]
    # A copy in the machine's own byte order: memory of `bytes` can never be written to.
    array = new_array(x.form.shape, item.newbyteorder("="))
    array[...] = np.frombuffer(x.data, item).reshape(x.form.shape)
    if x.form.sort == "array":
        return namespace_for(device, True).from_host(array, device)
    return float(array[()]) if x.form.sort == "float" else array[()]


def exactly(data: bytes, dtype: str, shape: Shape) -> Value | None:
    """An array of bytes that others have written; bfloat16 as float32, None for an element type that has no form.

    >>> exactly(b"\\x80\\x3f", "bfloat16", (1,))
    array([1.], dtype=float32)
    """
    if dtype == "bfloat16":
        data, dtype = _widened(np.frombuffer(data, "<u2")).astype("<f4", copy=False).tobytes(), "float32"
    form = StoredForm("array", dtype, shape)
    return None if form.size is None else restored(Stored(form, data), "cpu")


def as_form(x: Value, form: StoredForm) -> Stored | None:
    """A number or array in another form, as bytes; None where its shape differs, or its numbers might."""
    found = form_of(x)
    if found is None or found.shape != form.shape or not np.can_cast(found.dtype, form.dtype):
        return None
    array: Any = x  # Any: an array of either library, or a scalar
    return Stored(form, array.astype(_ITEMS[form.dtype]).tobytes("C"))


TWO_BYTES: Final = ("float16", "bfloat16")


class Narrow:
    """A float32 array kept in two bytes an element, as float16 or bfloat16; nobody changes it, and it computes nothing.

    Its deltas are float32 arrays, and so is what a file has: it is a `Parameter`.
    >>> x = np.array([1.0, 1.00390625, 1.01171875, -0.0], np.float32)  # two lie in the middle between neighbours
    >>> Narrow.of(x, "bfloat16").widened().tolist(), Narrow.of(x, "bfloat16").nbytes
    ([1.0, 1.0, 1.015625, -0.0], 8)
    >>> Narrow.of(np.array([1e5], np.float32), "float16")
    Traceback (most recent call last):
    wengert.errors.NonFiniteError: 100000.0 is too large for float16, which ends at 65504; bfloat16 has float32's range

    Source: IEEE 754-2019, 4.3.1, roundTiesToEven; bfloat16 has the 16 high bits of float32.
    """

    __slots__ = ("_bits", "dtype")

    def __init__(self, bits: Value, dtype: str) -> None:
        self._bits = bits
        self.dtype = dtype

    @classmethod
    def of(cls, x: Value, dtype: str) -> Narrow:
        """An array with each number rounded to the nearest of two bytes, ties to even.

        Raises NonFiniteError for a finite number that two bytes would make infinite.
        """
        with np.errstate(over="ignore", invalid="ignore"):  # it is told by number below
            bits = x.astype(np.float16) if dtype == "float16" else _high(x)
        lost = (np.isinf(bits) if dtype == "float16" else (bits & 0x7FFF) == 0x7F80) & np.isfinite(x)
        if lost.any():
            most = (
                "65504; bfloat16 has float32's range" if dtype == "float16" else "3.39e38; keep it in float32"
            )
            raise NonFiniteError(f"{float(x[lost][0])} is too large for {dtype}, which ends at {most}")
        return cls(bits, dtype)

    @property
    def shape(self) -> Shape:
        """The shape of the array."""
        shape: Shape = self._bits.shape
        return shape

    @property
    def nbytes(self) -> int:
        """The bytes that are kept."""
        return int(self._bits.nbytes)

    def widened(self) -> Value:
        """A new float32 array of the numbers, each exactly."""
        return _widened(self._bits) if self.dtype == "bfloat16" else self._bits.astype(np.float32)

    def zero_delta(self) -> Value:
        return np.zeros(self.shape, np.float32)

    def stepped(self, step: Value, /) -> Narrow:
        return Narrow.of(self.widened() - step, self.dtype)

    def to_array(self) -> Value:
        return self.widened()

    def from_array(self, array: Value, /) -> Narrow:
        return Narrow.of(array, self.dtype)

    def __repr__(self) -> str:
        return f"<{self.dtype} of shape {self.shape}>"


def _high(x: Value) -> Value:
    """The high 16 bits of each float32, rounded by the low ones; a NaN stays one."""
    words = np.ascontiguousarray(x).reshape(x.shape).view(np.uint32)
    rounded = (words >> 16) & 1
    rounded += 0x7FFF
    rounded += words
    rounded >>= 16
    bits = rounded.astype(np.uint16)
    nan = np.isnan(x)
    bits[nan] = (words[nan] >> 16) | 0x40
    return bits


def _widened(bits: Value) -> Value:
    """The float32 array of the high 16 bits of its elements."""
    wide = bits.astype(np.uint32)
    wide <<= 16
    return wide.view(np.float32)
