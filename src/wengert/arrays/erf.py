"""The error function over numpy, which has none.

Knows: two polynomials for each element type, and where one takes over from the other; the same for float32 in C, with
the same bits, as it is made of sums and products alone.
Refuses to know: who asks; the result is within two and a half units in the last place everywhere.

For |x| ≤ 1, erf(x) = x p(x²). Beyond, in float32, erf(x) = 1 - q(t) with t = (x - 5/2) · 2/3, a polynomial through
erfc at Chebyshev's points of [1, 4]; in float64 it is 1 - exp(-x²) q(t) with t = (x - 3) / (x + 3), the mapping of
J. Schonfelder, "Chebyshev expansions for the error and related functions", 1978. The other polynomials interpolate
erf(√s)/√s on 0 ≤ s ≤ 1, and exp(x²) erfc(x) from 1 to where erf rounds to 1, at Chebyshev nodes, computed
with 60 digits; highest power first.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from wengert.arrays.namespace import Value

__all__ = ["erf", "erf_in_c"]

_MIDDLE, _SCALE = 2.5, 2 / 3  # of 1 to 4, as -1 to 1
_BLOCK: Final = (
    32768  # elements at a time, whose intermediate results stay in the cache: half the time of 2 million
)


class _Fit:
    """Coefficients for one element type, and from where on erf is 1."""

    __slots__ = ("far", "near", "one")

    def __init__(self, near: tuple[float, ...], far: tuple[float, ...], one: float) -> None:
        self.near = near
        self.far = far
        self.one = one


_SINGLE: Final = _Fit(
    near=(
        -0.0005648059865503044,
        0.004921762027877231,
        -0.02671505423226643,
        0.11280316652505075,
        -0.37612343775327806,
        1.1283791261787373,
    ),
    far=(
        -9.703090099822373e-05,
        0.0010650537790609384,
        -0.0015266026880730076,
        -0.0032313226257990593,
        0.010376904051556052,
        -0.007702576115191525,
        -0.009547548818689945,
        0.0322777301002813,
        -0.04640283616072613,
        0.043575659988123086,
        -0.028185096556888584,
        0.012258176830967464,
        -0.0032673847426938074,
        0.0004068892763295258,
    ),
    one=4.0,
)
_DOUBLE: Final = _Fit(
    near=(
        -7.795898827002142e-10,
        1.3720064546777686e-08,
        -1.6208483801871705e-07,
        1.6447424703317362e-06,
        -1.492473690741966e-05,
        0.00012055294904839707,
        -0.0008548325975389692,
        0.0052239776071164225,
        -0.02686617064323777,
        0.11283791670945006,
        -0.37612638903183543,
        1.1283791670955126,
    ),
    far=(
        1.2801900862962662e-06,
        2.023603179641757e-06,
        -8.008021319412685e-06,
        -1.284889451252353e-05,
        6.406182073530546e-05,
        4.525472635483354e-05,
        -0.0005970623517093284,
        0.0007077464443901538,
        0.004269136347508256,
        -0.024392499318273194,
        0.07166583719774874,
        -0.15011593650078744,
        0.24560380171233195,
        -0.32623356004303716,
        0.17900115118138996,
    ),
    one=6.0,
)


def erf(x: Value, /) -> Value:
    """2/√π times the integral of exp(-t²) from 0 to x; complex numbers are a TypeError.

    >>> erf(np.array([0.0, 0.5, np.inf])).round(9).tolist()
    [0.0, 0.520499878, 1.0]
    """
    fit = _SINGLE if x.dtype == np.float32 else _DOUBLE
    y = np.minimum(np.abs(x), fit.one).reshape(-1)
    for start in range(0, y.size, _BLOCK):
        block = y[start : start + _BLOCK]
        block[...] = _of_positive(block, fit)
    return np.copysign(y.reshape(x.shape), x)


def _of_positive(x: Value, fit: _Fit) -> Value:
    y = _polynomial(fit.near, x * x)
    y *= x
    places = np.flatnonzero(x > 1.0)
    if places.size:
        far = x.take(places)
        if fit is _SINGLE:
            rest = _polynomial(fit.far, (far - _MIDDLE) * _SCALE)
        else:
            rest = _polynomial(fit.far, (far - 3.0) / (far + 3.0))
            rest *= np.exp(-far * far)
        y[places] = 1.0 - rest
    return y


def _polynomial(coefficients: tuple[float, ...], x: Value) -> Value:
    y = x * coefficients[0]
    for coefficient in coefficients[1:-1]:
        y += coefficient
        y *= x
    y += coefficients[-1]
    return y


def erf_in_c(name: str) -> str:
    """The text of a function of C for float32, which takes the same steps.

    >>> print(erf_in_c("erf32").splitlines()[0])
    static inline float erf32(float x) {
    """
    return "\n".join(
        [
            f"static inline float {name}(float x) {{",
            f"  const float b = fabsf(x), a = (b < {_c(_SINGLE.one)}) | (b != b) ? b : {_c(_SINGLE.one)};",
            f"  const float s = a * a, t = (a - {_c(_MIDDLE)}) * {_c(_SCALE)};",
            f"  const float near = ({_polynomial_in_c(_SINGLE.near, 's')}) * a;",
            f"  const float far = {_c(1.0)} - ({_polynomial_in_c(_SINGLE.far, 't')});",
            f"  return copysignf(a > {_c(1.0)} ? far : near, x);",
            "}",
            "",
        ]
    )


def _polynomial_in_c(coefficients: tuple[float, ...], x: str) -> str:
    text = f"{x} * {_c(coefficients[0])}"
    for coefficient in coefficients[1:-1]:
        text = f"({text} + {_c(coefficient)}) * {x}"
    return f"{text} + {_c(coefficients[-1])}"


def _c(number: float) -> str:
    return f"{float(np.float32(number)).hex()}f"
