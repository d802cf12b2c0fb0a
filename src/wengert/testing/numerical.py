"""Numerical Jacobians of functions of numbers: the side of a check that knows no derivative rule.

Knows: central differences with Richardson's extrapolation, and the complex step.
Refuses to know: expressions, operations and whether a function is analytic; the caller compares both methods.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from wengert.arrays import HOST, Value, all_quiet

Function = Callable[[Value], Value]  # from an array of any shape to an array of any shape

_WIDEST: Final = 2.0**-5
_LEVELS: Final = 8  # down to 2^-12, where rounding costs 1e-16 · 2^12 = 4e-13
_COMPLEX_STEP: Final = (
    1e-30  # its square vanishes beside 1, its products with ordinary numbers do not underflow
)


def differences(function: Function, x: Value) -> Value:
    """The Jacobian of `function` at `x`, a column an element of `x`: shape (outputs, inputs).

    Each element is the entry of Richardson's table whose neighbours agree best (Ridders' choice), so that a
    step across a kink or out of the domain is left out by itself.

    >>> differences(lambda x: x * x, HOST.ones((1,), "float64")).tolist()
    [[2.0]]

    Source: C. Ridders, "Accurate computation of F'(x) and F'(x) F''(x)", 1982.
    """
    flat = HOST.reshape(HOST.astype(x, "float64"), (-1,))

    def along(index: int, step: float) -> Value:
        sides = []
        for signed in (step, -step):
            moved = HOST.astype(flat, "float64")
            moved[index] += signed
            sides.append((HOST.reshape(function(HOST.reshape(moved, x.shape)), (-1,)), moved[index]))
        (above, right), (below, left) = sides
        return (above - below) / (right - left)

    with all_quiet():
        return _columns([_extrapolated(index, along) for index in range(flat.size)], function, x)


def _extrapolated(index: int, along: Callable[[int, float], Value]) -> Value:
    best = nearest = None
    previous: list[Value] = []
    for level in range(_LEVELS):
        row = [along(index, _WIDEST * 0.5**level)]
        for order, coarse in enumerate(previous):
            finer, power = row[-1], 4.0 ** (order + 1)
            row.append((power * finer - coarse) / (power - 1.0))
            error = HOST.maximum(HOST.abs(row[-1] - finer), HOST.abs(row[-1] - coarse))
            if best is None or nearest is None:
                best, nearest = row[-1], error
            else:
                closer = HOST.logical_or(HOST.less(error, nearest), HOST.not_equal(nearest, nearest))
                best, nearest = HOST.where(closer, row[-1], best), HOST.where(closer, error, nearest)
        previous = row
    return best


def complex_step(function: Function, x: Value) -> Value:
    """The Jacobian of an analytic `function` at `x` from its values beside the real line: exact to rounding.

    >>> complex_step(lambda x: x * x * x, HOST.ones((1,), "float64")).tolist()
    [[3.0]]

    Source: W. Squire, G. Trapp, "Using Complex Variables to Estimate Derivatives of Real Functions", 1998.
    """
    flat = HOST.reshape(HOST.astype(x, "complex128"), (-1,))
    columns = []
    with all_quiet():
        for index in range(flat.size):
            moved = HOST.astype(flat, "complex128")
            moved[index] += _COMPLEX_STEP * 1j
            made = HOST.to_host(function(HOST.reshape(moved, x.shape)))
            columns.append(HOST.reshape(made.imag, (-1,)) / _COMPLEX_STEP)
        return _columns(columns, function, x)


def _columns(columns: list[Value], function: Function, x: Value) -> Value:
    if columns:
        return HOST.stack(columns, axis=1)
    return HOST.zeros((HOST.to_host(function(x)).size, 0), "float64")
