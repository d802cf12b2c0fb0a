"""exp of float32 in C, with the bits of numpy's vector loop for x86-64.

Knows: the range reduction and the rational function that numpy uses where a processor has fused products and sums,
which makes no step that depends on the width of vectors; on other processors numpy calls the C library's function.
Refuses to know: which of the two this machine's numpy uses. Whoever compiles the text compares it.

With k = round(x / ln 2) and r = x - k ln 2, in two products with parts of ln 2, exp(x) = 2^k p(r)/q(r), where p and q
are minimax polynomials of degree 5 and 2 on |r| ≤ ln 2 / 2: W. Cody and W. Waite, "Software Manual for the Elementary
Functions", 1980; coefficients as in numpy, `simd_exp_FLOAT` of `loops_exponent_log.dispatch.c.src` (BSD-3-Clause).
"""

from __future__ import annotations

from typing import Final

__all__ = ["exp_in_c"]

_P: Final = (
    *("5.082762527590693718096e-04f", "6.757896990527504603057e-03f", "5.114512081637298353406e-02f"),
    *("2.473615434895520810817e-01f", "7.257664613233124478488e-01f", "1.0f"),
)
_Q: Final = ("2.159509375685829852307e-02f", "-2.742335390411667452936e-01f", "1.0f")
_LN2: Final = ("-6.93145752e-1f", "-1.42860677e-6f")  # minus ln 2, as a sum of two
_MOST, _LEAST = "88.72283935546875f", "-103.97208404541015625f"  # beyond, the result is infinity or 0


def exp_in_c(name: str) -> str:
    """The text of a function of C for float32.

    >>> print(exp_in_c("exp32").splitlines()[0])
    static inline float exp32(float x) {
    """
    return "\n".join(
        [
            f"static inline float {name}(float x) {{",
            "  const float k = (x * 0x1.715476p+0f + 0x1.8p+23f) - 0x1.8p+23f;",  # rounds to an integer
            f"  const float r = fmaf(k, {_LN2[1]}, fmaf(k, {_LN2[0]}, x));",
            f"  const float y = ({_polynomial(_P)}) / ({_polynomial(_Q)});",
            "  const int a = (int)k / 2, b = (int)k - a;",  # 2^k alone may be too great, or too small
            "  const union { unsigned bits; float of; } p = {(unsigned)(a + 127) << 23},",
            "    q = {(unsigned)(b + 127) << 23};",
            f"  const float z = x > {_MOST} ? INFINITY : x < {_LEAST} ? 0.0f : y * p.of * q.of;",
            "  return x != x ? x : z;",
            "}",
            "",
        ]
    )


def _polynomial(coefficients: tuple[str, ...]) -> str:
    text = coefficients[0]
    for coefficient in coefficients[1:]:
        text = f"fmaf(r, {text}, {coefficient})"
    return text
