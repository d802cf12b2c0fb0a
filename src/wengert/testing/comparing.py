"""How far a derivative is from a numerical one, and which element is furthest.

Knows: that errors are relative to the largest element of a Jacobian, and what is said of one that is too great.
Refuses to know: where either side comes from.
"""

from __future__ import annotations

from typing import Final

from wengert.arrays import HOST, Value, dtype_of, is_finite, shape_of

_SMALL: Final = 1e-3  # a Jacobian below it is compared as if it reached it


def error_of(a: Value, b: Value, scale: Value, least: float = 0.0) -> float:
    """The greatest difference, relative to the largest element of `scale`."""
    if not a.size:
        return 0.0
    apart = float(HOST.max(HOST.abs(a - b)))
    return apart / max(float(HOST.max(HOST.abs(scale))), _SMALL, least)


def check_form(delta: Value, x: Value, where: str) -> None:
    """AssertionError for a delta that has not the shape and element type of its data."""
    if shape_of(delta) != shape_of(x) or dtype_of(delta) != dtype_of(x):
        raise AssertionError(
            f"{where}: the delta is {shape_of(delta)} {dtype_of(delta)}, its data {shape_of(x)} {dtype_of(x)}"
        )


def compared(delta: Value, g: Value, jacobian: Value, rtol: float, least: float, where: str) -> float:
    """The greatest relative error; AssertionError names the element that has it, if it is too great."""
    got = HOST.reshape(HOST.to_host(delta), (-1,))
    wanted = HOST.matmul(HOST.reshape(HOST.to_host(g), (1, -1)), jacobian)[0]
    if not got.size:
        return 0.0
    error = error_of(got, wanted, jacobian, least) if jacobian.size else float(HOST.max(HOST.abs(got)))
    if error <= rtol and is_finite(got):
        return error
    apart = HOST.abs(got - wanted)
    index = int(HOST.where(HOST.equal(apart, apart), apart, float("inf")).argmax())
    place = tuple(_unravelled(index, shape_of(delta)))
    raise AssertionError(
        f"{where}: at index {place} the delta is {float(got[index])!r}, "
        f"the numerical one {float(wanted[index])!r}; relative error {error:.1e}, allowed {rtol:.0e}"
    )


def _unravelled(index: int, shape: tuple[int, ...]) -> list[int]:
    place = []
    for size in reversed(shape):
        index, at = divmod(index, size)
        place.append(at)
    return place[::-1]
