"""Discrete Fourier transforms: complex numbers as pairs of real and imaginary parts.

Knows: that each is one transform of pairs along one axis, whose delta is the same transform backwards; what of a
spectrum a real signal leaves out.
Refuses to know: how a transform is computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final, Generic, Literal, NamedTuple, TypeAlias, overload

from wengert.arrays import Dv, T, Value, is_integer
from wengert.errors import ArgumentError, ShapeError
from wengert.graph.apply import apply
from wengert.graph.batch import rowwise
from wengert.graph.expressions import ArrayExpression, ArrayLayer
from wengert.graph.kinds import Column, Kind, kind
from wengert.graph.operand import shown
from wengert.graph.operation import Operation, Rules
from wengert.ops.arithmetic import multiply, negative
from wengert.ops.creation import zeros_like
from wengert.ops.families import composed
from wengert.ops.indexing import getitem
from wengert.ops.joining import concat, stack
from wengert.ops.kinds import array_of, axes_in, axis_in, shape_of_operand
from wengert.ops.manipulation import flip, moveaxis, pad, roll

Norm = Literal["backward", "ortho", "forward"]


class Spectrum(NamedTuple, Generic[T, Dv]):
    """Complex numbers, as the array of their real parts and that of their imaginary parts."""

    real: ArrayLayer[Any, T, Dv]
    imag: ArrayLayer[Any, T, Dv]


# a complex signal is a pair, from whatever made it
Signal: TypeAlias = (
    ArrayExpression[Any, T, Dv] | tuple[ArrayExpression[Any, T, Dv], ArrayExpression[Any, T, Dv]]
)


def _infer_fourier(kinds: Sequence[Kind], *, inverse: bool) -> Kind:
    shape, dtype, device = array_of(kinds)
    if shape is not None and (len(shape) < 2 or shape[-2] != 2 or shape[-1] == 0):
        raise ShapeError(f"input of shape {shape} is not (..., 2, n) with elements to transform")
    return kind(Column.ARRAY, shape, dtype, device)


# Σⱼ xⱼ exp(∓2πijk / n) of lines of pairs, real parts above imaginary ones; unscaled, each is the other's adjoint
FOURIER: Final = Operation(
    "fourier",
    Rules(
        _infer_fourier,
        lambda c, x, *, inverse: c.xp.fourier(x, inverse),
        (lambda c, g, y, x, *, inverse: c.xp.fourier(g, not inverse),),
        batch=rowwise,
        pure=True,
    ),
)


def fourier(x: Value, inverse: bool) -> Value:
    """The transform of lines of pairs, an array (..., 2, n)."""
    return apply(FOURIER, (x,), (("inverse", inverse),))


def _pair(x: Value) -> tuple[Value, Value]:
    """Real and imaginary parts, the latter None for a real signal."""
    if not isinstance(x, tuple):
        return x, None
    if len(x) != 2:
        raise ArgumentError(f"a complex signal is a pair of real and imaginary parts; got {shown(x)}")
    return x


def _resized(x: Value, n: int, axis: int) -> Value:
    """The first n elements along an axis, and zeros where there are fewer."""
    shape = shape_of_operand(x)
    if shape[axis] < n:
        return pad(x, tuple((0, n - m if i == axis else 0) for i, m in enumerate(shape)))
    return x if shape[axis] == n else getitem(x, (*(slice(None),) * axis, slice(0, n)))


def _along(x: Value, n: object, axis: int, inverse: bool, norm: object) -> tuple[Value, Value]:
    """The transform along one axis, scaled."""
    real, imag = _pair(x)
    shape = shape_of_operand(real)
    if imag is not None and shape_of_operand(imag) != shape:
        raise ShapeError(f"real parts of shape {shape} and imaginary ones of {shape_of_operand(imag)} differ")
    at = axis_in(axis, len(shape), shape)
    length = _length(shape[at] if n is None else n)
    real = _resized(real, length, at)
    imag = zeros_like(real) if imag is None else _resized(imag, length, at)
    y = fourier(stack([moveaxis(part, at, -1) for part in (real, imag)], axis=-2), inverse)
    scale = _scale(length, inverse, norm)
    y = y if scale == 1.0 else multiply(y, scale)
    made, beside = (moveaxis(getitem(y, (..., i, slice(None))), -1, at) for i in (0, 1))
    return made, beside


def _length(n: object) -> int:
    if not is_integer(n) or int(n) < 1:
        raise ArgumentError(f"a transform has at least one element; got {shown(n)}")
    return int(n)


def _scale(n: int, inverse: bool, norm: object) -> float:
    if not isinstance(norm, str) or norm not in ("backward", "ortho", "forward"):
        raise ArgumentError(f"norm is 'backward', 'ortho' or 'forward'; got {shown(norm)}")
    return 1.0 / math.sqrt(n) if norm == "ortho" else 1.0 / n if inverse == (norm == "backward") else 1.0


def _every(x: Value, s: object, axes: object) -> list[tuple[Any, int]]:
    """Lengths and axes of a transform along several, in the order in which they are transformed: the last first."""
    shape = shape_of_operand(_pair(x)[0])
    sizes = None if s is None else tuple(s) if isinstance(s, (tuple, list)) else (s,)
    if axes is None:
        found = tuple(range(len(shape) - (len(shape) if sizes is None else len(sizes)), len(shape)))
    else:
        given: Any = tuple(axes) if isinstance(axes, list) else axes
        found = axes_in(given, shape)
    if (sizes is not None and len(sizes) != len(found)) or not found or min(found) < 0:
        raise ArgumentError(f"sizes {shown(s)} do not go with axes {shown(axes)} of shape {shape}")
    return [*zip(sizes or (None,) * len(found), found, strict=True)][::-1]


@composed
def fft(
    x: Signal[T, Dv], /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward"
) -> Spectrum[T, Dv]:
    """yₖ = Σⱼ xⱼ exp(-2πi j k / n) along an axis: the spectrum of a signal, real or a pair of real and imaginary parts.

    n elements are transformed, zeros where x has fewer. "backward" scales the inverse by 1 / n, "forward" this one,
    "ortho" both by 1 / √n.
    Derivative: Σₖ gₖ exp(2πi j k / n), of the real and the imaginary parts of g as of one complex number.
    Shapes: that of x with n along the axis, both parts. Raises ShapeError; ArgumentError for an n below 1 and another
    norm.
    >>> import numpy as np
    >>> fft(np.array([1.0, 0.0, -1.0, 0.0])).real.predict().run().tolist()
    [0.0, 2.0, 0.0, 2.0]

    Source: Python array API standard, `fft.fft`, whose complex array is a pair here.
    """
    return Spectrum(*_along(x, n, axis, False, norm))


@composed
def ifft(
    x: Signal[T, Dv], /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward"
) -> Spectrum[T, Dv]:
    """xⱼ = 1 / n Σₖ yₖ exp(2πi j k / n) along an axis: the inverse of `fft`.

    Derivative: 1 / n Σⱼ gⱼ exp(-2πi j k / n), as that of `fft`.
    Shapes: as `fft`. Raises what `fft` raises.
    >>> import numpy as np
    >>> ifft((np.array([0.0, 2.0, 0.0, 2.0]), np.zeros(4))).real.predict().run().tolist()
    [1.0, 0.0, -1.0, 0.0]

    Source: Python array API standard, `fft.ifft`, whose complex array is a pair here.
    """
    return Spectrum(*_along(x, n, axis, True, norm))


def _over(x: Value, every: list[tuple[Any, int]], inverse: bool, norm: object) -> Value:
    for n, axis in every:
        x = _along(x, n, axis, inverse, norm)
    return x


@composed
def fftn(
    x: Signal[T, Dv],
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> Spectrum[T, Dv]:
    """`fft` along several axes, all of them, those that `axes` names, or the last ones, as many as the lengths `s`.

    Derivative: that of `fft`, along each.
    Shapes: that of x with the lengths along the axes. Raises what `fft` raises, and ArgumentError for other lengths
    than axes.
    >>> import numpy as np
    >>> fftn(np.ones((2, 2))).real.predict().run().tolist()
    [[4.0, 0.0], [0.0, 0.0]]

    Source: Python array API standard, `fft.fftn`, whose complex array is a pair here.
    """
    return Spectrum(*_over(x, _every(x, s, axes), False, norm))


@composed
def ifftn(
    x: Signal[T, Dv],
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> Spectrum[T, Dv]:
    """`ifft` along several axes: the inverse of `fftn`.

    Derivative: that of `ifft`, along each.
    Shapes: as `fftn`. Raises what `fftn` raises.
    >>> import numpy as np
    >>> ifftn(fftn(np.eye(2))).real.predict().run().tolist()
    [[1.0, 0.0], [0.0, 1.0]]

    Source: Python array API standard, `fft.ifftn`, whose complex array is a pair here.
    """
    return Spectrum(*_over(x, _every(x, s, axes), True, norm))


def _half(x: Value, axis: int) -> tuple[Value, Value]:
    """The frequencies from 0 up: the spectrum of a real signal says the others."""
    shape = shape_of_operand(x[0])
    key = (*(slice(None),) * (axis % len(shape)), slice(0, shape[axis] // 2 + 1))
    return getitem(x[0], key), getitem(x[1], key)


@composed
def rfft(
    x: ArrayExpression[Any, T, Dv], /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward"
) -> Spectrum[T, Dv]:
    """`fft` of a real signal, the ⌊n / 2⌋ + 1 frequencies from 0 up; the others are their conjugates.

    Derivative: the real part of Σₖ gₖ exp(2πi j k / n) over these frequencies.
    Shapes: that of x with ⌊n / 2⌋ + 1 along the axis, both parts. Raises what `fft` raises.
    >>> import numpy as np
    >>> power = rfft(np.array([1.0, 0.0, -1.0, 0.0]))
    >>> (power.real ** 2 + power.imag ** 2).predict().run().tolist()
    [0.0, 4.0, 0.0]

    Source: Python array API standard, `fft.rfft`, whose complex array is a pair here.
    """
    return Spectrum(*_half(_along(_real(x), n, axis, False, norm), axis))


def _real(x: Value) -> Value:
    if isinstance(x, tuple):
        raise ArgumentError(
            "a real signal is one array; write fft or fftn for a pair of real and imaginary parts"
        )
    return x


def _whole(x: Value, n: object, axis: int) -> tuple[Value, Value, int]:
    """All n frequencies of a real signal's spectrum, from those from 0 up; n is even unless it is given."""
    real, imag = _pair(x)
    imag = zeros_like(real) if imag is None else imag
    shape = shape_of_operand(real)
    at = axis_in(axis, len(shape), shape)
    length = _length(2 * (shape[at] - 1) if n is None else n)
    parts = []
    for part, sign in ((real, 1.0), (imag, -1.0)):
        kept = _resized(part, length // 2 + 1, at)
        key = (*(slice(None),) * at, slice(1, length - length // 2))
        mirrored = flip(getitem(kept, key), axis=at)
        parts.append(concat([kept, mirrored if sign > 0.0 else negative(mirrored)], axis=at))
    return parts[0], parts[1], length


@composed
def irfft(
    x: Signal[T, Dv], /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward"
) -> ArrayLayer[Any, T, Dv]:
    """The real signal of n elements that has this spectrum: the inverse of `rfft`. Without n it is even.

    The imaginary parts at 0, and for an even n at the highest frequency, count as 0.
    Derivative: wₖ / n Σⱼ gⱼ exp(-2πi j k / n) with w = 1 for these two frequencies, 2 for the others.
    Shapes: that of x with n, or 2 (m - 1) of m frequencies, along the axis. Raises what `fft` raises.
    >>> import numpy as np
    >>> irfft(rfft(np.array([1.0, 2.0, 3.0])), n=3).predict().run().round(9).tolist()
    [1.0, 2.0, 3.0]

    Source: Python array API standard, `fft.irfft`, whose complex array is a pair here.
    """
    real, imag, length = _whole(x, n, axis)
    made: ArrayLayer[Any, T, Dv] = _along((real, imag), length, axis, True, norm)[0]
    return made


@composed
def rfftn(
    x: ArrayExpression[Any, T, Dv],
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> Spectrum[T, Dv]:
    """`rfft` along the last of several axes, `fft` along the others, which are chosen as by `fftn`.

    Derivative: those of the two.
    Shapes: those of `fftn`, with ⌊n / 2⌋ + 1 along the last axis. Raises what `fftn` raises.
    >>> import numpy as np
    >>> rfftn(np.ones((2, 4))).real.predict().run().tolist()
    [[8.0, 0.0, 0.0], [0.0, 0.0, 0.0]]

    Source: Python array API standard, `fft.rfftn`, whose complex array is a pair here.
    """
    (n, last), *others = _every(_real(x), s, axes)
    return Spectrum(*_over(_half(_along(x, n, last, False, norm), last), others, False, norm))


@composed
def irfftn(
    x: Signal[T, Dv],
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> ArrayLayer[Any, T, Dv]:
    """The real signal that has this spectrum: the inverse of `rfftn`.

    Derivative: those of `ifft` and `irfft`.
    Shapes: those of `fftn`, with 2 (m - 1) along the last axis where `s` does not say. Raises what `fftn` raises.
    >>> import numpy as np
    >>> irfftn(rfftn(np.ones((2, 4)))).predict().run().tolist()
    [[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]]

    Source: Python array API standard, `fft.irfftn`, whose complex array is a pair here.
    """
    (n, last), *others = _every(x, s, axes)
    real, imag, length = _whole(_over(x, others[::-1], True, norm), n, last)
    made: ArrayLayer[Any, T, Dv] = _along((real, imag), length, last, True, norm)[0]
    return made


_BACK: Final = {"backward": "forward", "forward": "backward"}


@composed
def hfft(
    x: Signal[T, Dv], /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward"
) -> ArrayLayer[Any, T, Dv]:
    """`fft` of a signal whose second half is the conjugate of the first, which is given: a real spectrum.

    Derivative: that of `irfft` of the conjugate, times n.
    Shapes: that of x with n, or 2 (m - 1) of m elements, along the axis. Raises what `fft` raises.
    >>> import numpy as np
    >>> hfft(np.array([1.0, 2.0, 3.0])).predict().run().tolist()
    [8.0, -2.0, 0.0, -2.0]

    Source: Python array API standard, `fft.hfft`, whose complex array is a pair here.
    """
    real, imag, length = _whole(x, n, axis)
    made: ArrayLayer[Any, T, Dv] = _along((real, imag), length, axis, False, norm)[0]
    return made


@composed
def ihfft(
    x: ArrayExpression[Any, T, Dv], /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward"
) -> Spectrum[T, Dv]:
    """The first half of the signal that has a real spectrum: the inverse of `hfft`.

    Derivative: that of `ifft`.
    Shapes: that of x with ⌊n / 2⌋ + 1 along the axis, both parts. Raises what `fft` raises.
    >>> import numpy as np
    >>> ihfft(np.array([8.0, -2.0, 0.0, -2.0])).real.predict().run().tolist()
    [1.0, 2.0, 3.0]

    Source: Python array API standard, `fft.ihfft`, whose complex array is a pair here.
    """
    return Spectrum(*_half(_along(_real(x), n, axis, True, norm), axis))


def _rolled(x: Value, axes: object, way: Callable[[int], int]) -> Value:
    if isinstance(x, tuple):
        return Spectrum(*(_rolled(part, axes, way) for part in _pair(x)))
    shape = shape_of_operand(x)
    given: Any = tuple(axes) if isinstance(axes, list) else axes
    found = axes_in(given, shape)
    return roll(x, tuple(way(shape[axis]) for axis in found), axis=found)


@overload
def fftshift(
    x: tuple[ArrayExpression[Any, T, Dv], ArrayExpression[Any, T, Dv]],
    /,
    *,
    axes: int | Sequence[int] | None = None,
) -> Spectrum[T, Dv]: ...
@overload
def fftshift(
    x: ArrayExpression[Any, T, Dv], /, *, axes: int | Sequence[int] | None = None
) -> ArrayLayer[Any, T, Dv]: ...
@composed
def fftshift(x: Any, /, *, axes: Any = None) -> Any:  # Any: typed by the overloads
    """x rolled by half of some axes, all of them if None: the frequency 0 comes to the middle.

    Derivative: g, rolled back.
    Shapes: that of x. Raises ShapeError for an axis out of range.
    >>> import numpy as np
    >>> fftshift(np.array([0.0, 1.0, -2.0, -1.0])).predict().run().tolist()
    [-2.0, -1.0, 0.0, 1.0]

    Source: Python array API standard, `fft.fftshift`.
    """
    return _rolled(x, axes, lambda n: n // 2)


@overload
def ifftshift(
    x: tuple[ArrayExpression[Any, T, Dv], ArrayExpression[Any, T, Dv]],
    /,
    *,
    axes: int | Sequence[int] | None = None,
) -> Spectrum[T, Dv]: ...
@overload
def ifftshift(
    x: ArrayExpression[Any, T, Dv], /, *, axes: int | Sequence[int] | None = None
) -> ArrayLayer[Any, T, Dv]: ...
@composed
def ifftshift(x: Any, /, *, axes: Any = None) -> Any:  # Any: typed by the overloads
    """The inverse of `fftshift`: the frequency 0 comes from the middle to the front.

    Derivative: g, rolled back.
    Shapes: that of x. Raises ShapeError for an axis out of range.
    >>> import numpy as np
    >>> ifftshift(np.array([-2.0, -1.0, 0.0, 1.0])).predict().run().tolist()
    [0.0, 1.0, -2.0, -1.0]

    Source: Python array API standard, `fft.ifftshift`.
    """
    return _rolled(x, axes, lambda n: -(n // 2))
