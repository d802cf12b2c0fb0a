"""Python floats give what numpy's float64 gives, where `math` would raise too."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wengert.arrays import HOST, SCALAR, ScalarNamespace, all_quiet, namespace_of

from .samples import IEEE

VALUES = (*IEEE, 2.0, -3.0, 1e-5, 2.5, -2.5, 0.3, 710.0, 5e-324, 1e16 + 1, -1e16 - 2)
UNARY = [
    "abs",
    "sign",
    "sqrt",
    "square",
    "exp",
    "log",
    "log1p",
    "expm1",
    "sin",
    "cos",
    "tanh",
    "erf",
    "sigmoid",
    "relu",
]
UNARY += ["logical_not", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh"]
UNARY += ["log2", "log10", "exp2", "floor", "ceil", "round", "trunc"]
BINARY = ["pow", "divide", "maximum", "minimum", "greater", "greater_equal", "less", "less_equal", "equal"]
BINARY += ["not_equal", "logical_and", "logical_or", "atan2", "hypot", "copysign"]
BINARY += ["logaddexp", "remainder", "floor_divide"]


def same(got: Any, wanted: Any, where: object) -> None:
    if isinstance(wanted, np.bool):
        assert bool(got) is bool(wanted), where
        return
    assert type(got) is float, where
    if math.isnan(wanted):
        assert math.isnan(got), where
    elif math.isinf(wanted) or wanted == 0:
        assert got == wanted, where
        assert math.copysign(1, got) == math.copysign(1, wanted) or wanted == 0, where
    else:
        assert math.isclose(got, wanted, rel_tol=1e-14), where


def over_numpy(name: str, a: float, b: float) -> Any:
    """In arrays of two: with a single exponent of 0.5 numpy takes the root, which differs at -inf."""
    return getattr(HOST, name)(np.array([a, a]), np.array([b, b]))[0]


@pytest.mark.parametrize("name", UNARY)
def test_unary(name: str) -> None:
    with all_quiet():
        for x in VALUES:
            same(getattr(SCALAR, name)(x), getattr(HOST, name)(np.float64(x)), (name, x))


@pytest.mark.parametrize("name", BINARY)
def test_binary(name: str) -> None:
    with all_quiet():
        for a, b in product(VALUES, VALUES):
            same(getattr(SCALAR, name)(a, b), over_numpy(name, a, b), (name, a, b))


@given(st.floats(), st.floats())
def test_pow_and_divide_of_any_floats(a: float, b: float) -> None:
    with all_quiet():
        same(SCALAR.pow(a, b), over_numpy("pow", a, b), ("pow", a, b))
        same(SCALAR.divide(a, b), over_numpy("divide", a, b), ("divide", a, b))


def test_signs_of_infinite_results() -> None:
    assert SCALAR.pow(0.0, -1.0) == math.inf
    assert SCALAR.pow(-0.0, -1.0) == -math.inf
    assert SCALAR.pow(-0.0, -2.0) == math.inf
    assert SCALAR.pow(-10.0, 309.0) == -math.inf
    assert SCALAR.pow(-10.0, 310.0) == math.inf
    assert math.isnan(SCALAR.pow(-8.0, 1 / 3))
    assert SCALAR.divide(-1.0, 0.0) == -math.inf
    assert SCALAR.divide(-1.0, -0.0) == math.inf
    assert math.isnan(SCALAR.divide(0.0, 0.0))
    assert math.isnan(SCALAR.divide(math.nan, 0.0))


def test_the_rest() -> None:
    assert SCALAR.where(True, 1.0, 2.0) == 1.0
    assert SCALAR.where(False, 1.0, 2.0) == 2.0
    assert SCALAR.zeros_like(3.0) == 0.0
    assert SCALAR.sum_to(3.0, ()) == 3.0
    assert SCALAR.nonzero_safe(0.0, math.nan) == 0.0
    assert SCALAR.nonzero_safe(-0.0, math.inf) == 0.0
    assert SCALAR.nonzero_safe(2.0, math.inf) == math.inf
    assert math.isnan(SCALAR.nonzero_safe(math.nan, math.nan))
    assert SCALAR.all_finite(1.0)
    assert not SCALAR.all_finite(math.inf)
    assert not SCALAR.all_finite(math.nan)


def test_integers_of_python_are_numbers_too() -> None:
    assert namespace_of(2).exp(0) == 1.0
    assert namespace_of(2).divide(1, 2) == 0.5


def test_what_needs_axes_is_absent() -> None:
    wanted = {name for name in vars(ScalarNamespace) if not name.startswith("_")}
    present = {name for name in vars(SCALAR) if not name.startswith("_")}
    assert wanted <= present
    assert not hasattr(SCALAR, "matmul")
    assert not hasattr(SCALAR, "reshape")
