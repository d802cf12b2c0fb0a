"""Numerical Jacobians: the side of a check that knows no derivative rule, and the distance of a delta from it.

Knows: central differences with Richardson's extrapolation, and the complex step; that a region without binds can be
computed again for other values, complex ones too; that errors are relative to the largest element of a Jacobian.
Refuses to know: derivative rules, and whether a function is analytic; the caller compares both methods.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from wengert.arrays import HOST, Value, all_quiet, dtype_of, is_finite, shape_of
from wengert.graph.node import Expression
from wengert.graph.operation import CELL, EXTERNAL, UNRESOLVED
from wengert.graph.order import below

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


class Replay:
    """The value of `root` as a function of the values at the expressions `leaves`.

    Possible where all nodes between are plain: the continuation of a bind may build another graph for another value.
    """

    def __init__(self, root: Expression, leaves: tuple[Expression, ...]) -> None:
        self.root = root
        self.nodes, weights = below(root, frozenset(leaves))
        self.weights: dict[Expression, Value] = {weight: weight.ref.data for weight in weights}
        self.possible = all(node.signature.mode not in (CELL, EXTERNAL, UNRESOLVED) for node in self.nodes)

    def __call__(self, at: Mapping[Expression, Value]) -> Value:
        """The value with the leaves `at` these values."""
        values: dict[Expression, Value] = {**self.weights, **at}
        for node in self.nodes:
            signature = node.signature
            operands = (values[x] if i in signature.nodes else x for i, x in enumerate(node.operands))
            values[node] = signature.value(*operands)
        return values[self.root]


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
