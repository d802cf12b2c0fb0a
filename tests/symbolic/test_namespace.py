"""Every function that a rule may call, over expressions: the value is that of numpy's, or it says what it needs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import wengert as wg
from tests.arrays.test_gpu import CALLS
from wengert.arrays import HOST, Namespace
from wengert.graph.kinds import Column, kind
from wengert.graph.operand import lift_any
from wengert.plugins import SGD
from wengert.symbolic import Symbol, Symbolic, bare, fitted

XP = Symbolic("cpu")
NAMES = {name for cls in Namespace.__mro__ for name in vars(cls) if not name.startswith("_")}
# What asks for values, what is not for rules of derivatives, and what rules call for rows alone.
REFUSED = {"all_finite", "to_host", "from_host", "freeze", "as_readonly", "dropout_mask", "dropout_masks"}
REFUSED |= {"fused_update", "scaled_update", "subtract_at", "labels", "two_norm"}
REFUSED |= {
    "all",
    "any",
    "argsort",
    "searchsorted",
    "cholesky",
    "det",
    "det_sign",
    "eigh",
    "logabsdet",
    "nonzero",
    "pinv",
    "qr",
    "svd",
}
SETTINGS = SGD(learning_rate=0.1)


def symbol(x: Any) -> Any:  # Any: arguments of every type
    """Floating arrays as symbols, indices and masks as they are."""
    if isinstance(x, (tuple, list)):
        return type(x)(map(symbol, x))
    return Symbol(lift_any(x)) if isinstance(x, np.ndarray) and x.dtype.kind == "f" else x


def mask(x: Any) -> Symbol:  # Any: booleans
    numbers: Any = np.asarray(x, np.float32)
    return Symbol(wg.not_equal(numbers, 0.0))


def value(x: Any) -> Any:  # Any: as above
    return wg.predict(bare(x)).run() if isinstance(x, Symbol) else x


def test_all_functions_are_here_or_are_refused() -> None:
    for name in NAMES - REFUSED:
        assert callable(getattr(XP, name)), name
    for name in REFUSED & NAMES:
        with pytest.raises(AttributeError, match=f"case.xp.{name}` needs values"):
            getattr(XP, name)


@pytest.mark.parametrize("name", sorted(set(CALLS) - REFUSED - {"item"}))
def test_as_over_numpy(name: str) -> None:
    given = CALLS[name]
    if name.startswith("logical"):
        given = tuple(map(mask, given))
    got, wanted = value(getattr(XP, name)(*map(symbol, given))), getattr(HOST, name)(*CALLS[name])
    assert (np.shape(got), np.asarray(got).dtype) == (np.shape(wanted), np.asarray(wanted).dtype)
    assert_allclose(got, wanted, rtol=1e-6)


@pytest.mark.parametrize("a", [True, False])
@pytest.mark.parametrize("b", [True, False])
def test_what_numbers_decide_is_decided_at_once(a: bool, b: bool) -> None:
    assert XP.logical_and(a, b) is (a and b)
    assert XP.logical_or(a, b) is (a or b)
    assert XP.logical_not(a) is not a
    some = mask([1, 0])
    for one, other in ((a, some), (some, a)):
        both, either = XP.logical_and(one, other), XP.logical_or(one, other)
        assert both is (some if a else False)
        assert either is (True if a else some)
    assert value(XP.logical_not(some)).tolist() == [False, True]
    assert XP.where(a, 1.0, 2.0) == (1.0 if a else 2.0)
    assert XP.exp(1.0) == math.e
    assert XP.equal(1.0, 1.0)
    assert XP.nonzero_safe(symbol(np.ones(2)), 0.0) == 0.0


def test_operators_broadcast_as_numpy_does() -> None:
    """Also to a shape of neither operand, which the operations of people refuse."""
    a, b = np.arange(6.0).reshape(2, 3, 1), np.arange(4.0) + 1.0
    operators: list[Callable[[Any, Any], Any]] = [  # Any: symbols and arrays
        lambda x, y: x + y,
        lambda x, y: x - y,
        lambda x, y: x * y,
        lambda x, y: x / y,
        lambda x, y: (x + 1.0) ** y,
        lambda x, y: 2.0 ** -abs(x - 3.0) - y,
    ]
    for operator in operators:
        for x, y in ((symbol(a), symbol(b)), (symbol(a), b), (a, symbol(b))):
            assert_allclose(value(operator(x, y)), operator(a, b))
    rows = np.array([True, False, True, False])
    for condition in (Symbol(lift_any(rows)), rows):
        chosen = XP.where(condition, symbol(a), 0.0)
        assert_allclose(value(chosen), np.where(rows, a, 0.0))
    assert_allclose(value(symbol(a)[0].T @ symbol(a)[1]), a[0].T @ a[1])
    assert_allclose(value(a[0].T @ symbol(a)[1]), a[0].T @ a[1])
    x = symbol(a)
    assert (x.shape, x.ndim, x.dtype) == (a.shape, 3, a.dtype)


@pytest.mark.parametrize(
    "ask", [bool, float, int, len, iter, np.exp, math.exp, lambda x: x > 0, lambda x: x == 0]
)
def test_a_symbol_has_no_value(ask: Callable[[Any], Any]) -> None:
    """Any: whatever is asked."""
    with pytest.raises(TypeError):
        ask(symbol(np.ones(())))


def test_a_delta_fits_its_operand() -> None:
    array = kind(Column.ARRAY, (2,), np.dtype(np.float64))
    double = kind(Column.DOUBLE, (), np.dtype(np.float64))
    assert value(fitted(0.5, array)).tolist() == [0.5, 0.5]
    assert value(fitted(np.array([1.0, 2.0]), array)).tolist() == [1.0, 2.0]
    assert value(fitted(Symbol(wg.lift(3.0)), array)).tolist() == [3.0, 3.0]
    number = value(fitted(symbol(np.array(3.0)), double))
    assert (type(number), number) == (float, 3.0)
    with pytest.raises(wg.errors.ShapeError, match=r"\(3,\) float64 for an operand of \(2,\) float64"):
        fitted(symbol(np.ones(3)), array)
    with pytest.raises(wg.errors.ShapeError, match=r"float32 for an operand of \(2,\) float64"):
        fitted(symbol(np.ones(2, np.float32)), array)
