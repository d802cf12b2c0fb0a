"""Derivatives as expressions of others' operations and types; what only a run tells is refused."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, assert_type

import numpy as np
import pytest

import wengert as wg
from wengert import Do, Tape, UnitContinuation, extend
from wengert.errors import NotDifferentiableError
from wengert.graph.operators import ADD, MULTIPLY
from wengert.testing import check_gradients

from .slopes import SETTINGS, weight


@extend.operation(extend.kinds.elementwise, lambda c, x: c.xp.exp(x), lambda c, g, y, x: g * y)
def power(x: wg.DoubleExpression, /) -> wg.DoubleLayer:
    raise NotImplementedError


@extend.operation(extend.kinds.elementwise, lambda c, x: math.exp(x), lambda c, g, y, x: g * math.exp(x))
def closed(x: wg.DoubleExpression, /) -> wg.DoubleLayer:
    raise NotImplementedError


@extend.operation(extend.kinds.elementwise, lambda c, x: c.xp.abs(x), lambda c, g, y, x: g if x > 0 else -g)
def decided(x: wg.DoubleExpression, /) -> wg.DoubleLayer:
    raise NotImplementedError


@extend.operation(
    extend.kinds.elementwise, lambda c, x: x * x, lambda c, g, y, x: 2.0 * g * x if c.xp.all_finite(x) else g
)
def asked(x: wg.DoubleExpression, /) -> wg.DoubleLayer:
    raise NotImplementedError


def test_operations_of_users_are_differentiated_again() -> None:
    check_gradients(power, 1.5, order=2)
    check_gradients(lambda x: power(power(x)), 0.5, order=2)


@pytest.mark.parametrize("operation", [closed, decided, asked])
def test_a_rule_that_needs_values_is_named(operation: Any) -> None:
    """Any: an operation of a user."""
    w = SETTINGS.double_weight(2.0)
    y = operation(w)
    assert len(wg.gradients(y, (w,)).run()) == 1, "at the first order it is what it always was"
    with pytest.raises(NotDifferentiableError) as caught:
        _ = wg.gradients(y * y, (w,)).layers
    text = str(caught.value)
    assert operation.operation.name in text
    assert "case.xp" in text
    assert y.site in text
    assert text.count(__file__) == 2, "where it was built, and where layers were asked for"
    assert wg.gradients(wg.stop_gradient(y) * w, (w,)).layers[0].predict().run() == y.predict().run()


def test_a_rule_of_another_shape_is_named() -> None:
    @extend.operation(
        lambda kinds: extend.kind(extend.Column.ARRAY, (3,), kinds[0].dtype),
        lambda c, x: x[:3],
        lambda c, g, y, x: g,
    )
    def shorter(x: wg.ArrayExpression[Any, np.float64], /) -> wg.ArrayLayer[Any, np.float64]:
        raise NotImplementedError

    w = weight(5)
    with pytest.raises(NotDifferentiableError, match=r"shorter.*\(3,\) float64 for an operand of \(5,\)"):
        _ = wg.gradients(wg.sum(shorter(w)), (w,)).layers


@dataclass(frozen=True)
class Pair:
    """Data of a user's own type, with the operators that its rules use."""

    a: float
    b: float

    def __add__(self, other: Pair) -> Pair:
        return Pair(self.a + other.a, self.b + other.b)

    def __mul__(self, other: Pair) -> Pair:
        return Pair(self.a * other.a, self.b * other.b)

    def __rmul__(self, other: float) -> Pair:
        return Pair(other * self.a, other * self.b)


class Point:
    def __init__(self, a: float, b: float) -> None:
        self.pair = Pair(a, b)


@wg.register(Point)
def point(x: Point) -> Do[Tape[Pair, Pair]]:
    return Do.now(Tape(x.pair, lambda delta: UnitContinuation.now(None)))


@wg.register(Pair)
def pair_itself(x: Pair) -> Do[Tape[Pair, Pair]]:
    return Do.now(Tape(x, lambda delta: UnitContinuation.now(None)))


@wg.register(Fraction)
def fraction(x: Fraction) -> Do[Tape[float, float]]:
    return Do.now(Tape(float(x), lambda delta: UnitContinuation.now(None)))


DOUBLE = extend.kind(extend.Column.DOUBLE, (), np.dtype(np.float64))


@extend.operation(lambda kinds: DOUBLE, lambda c, x: x.a, lambda c, g, y, x: Pair(g, 0.0))
def first_of(x: wg.Differentiable[Pair, Pair], /) -> wg.DoubleLayer:
    raise NotImplementedError


def test_data_of_a_users_type_have_derivatives_of_one_order() -> None:
    p = point(Point(2.0, 3.0))
    loss = first_of(p)
    assert wg.gradients(loss * loss, (p,)).run() == (Pair(4.0, 0.0),)
    with pytest.raises(NotDifferentiableError, match="first_of"):
        _ = wg.gradients(loss * loss, (p,)).layers


@extend.operation(lambda kinds: DOUBLE, lambda c, x: x.a + x.b, lambda c, g, y, x: g * Pair(1.0, 1.0))
def total_of(x: wg.Differentiable[Pair, Pair], /) -> wg.DoubleLayer:
    raise NotImplementedError


@extend.operation(lambda kinds: kinds[0], lambda c, x: x * x, lambda c, g, y, x: g * x + g * x)
def squared(x: wg.Differentiable[Pair, Pair], /) -> wg.Layer[Pair, Pair]:
    raise NotImplementedError


@pytest.fixture
def operators_of_pairs() -> Iterator[None]:
    """What a person adds to the operations behind the operators that the rules use."""
    before = {operation: dict(operation.added) for operation in (MULTIPLY, ADD)}
    product = (lambda c, g, y, a, b: g * b, lambda c, g, y, a, b: g * a)
    MULTIPLY.add((Pair, Pair), extend.Rules(lambda kinds: kinds[0], lambda c, a, b: a * b, product))
    MULTIPLY.add((float, Pair), extend.Rules(lambda kinds: kinds[1], lambda c, a, b: a * b, (None, None)))
    both = (lambda c, g, y, a, b: g,) * 2
    ADD.add((Pair, Pair), extend.Rules(lambda kinds: kinds[0], lambda c, a, b: a + b, both))
    yield
    for operation, added in before.items():
        operation.added.clear()
        operation.added.update(added)
        operation.signatures.clear()


@pytest.mark.usefixtures("operators_of_pairs")
def test_a_users_type_with_rules_for_operators_has_derivatives_as_layers() -> None:
    p = point(Point(2.0, 3.0))
    answer = wg.gradients(total_of(squared(p)), (p,))
    (dp,) = answer.layers
    assert_type(dp, wg.Layer[Pair, Pair])
    assert (dp.predict().run(),) == answer.run() == (Pair(4.0, 6.0),)


def test_a_value_of_a_registered_type_is_known_in_the_run_only() -> None:
    w, half = SETTINGS.double_weight(3.0), fraction(Fraction(1, 2))
    with pytest.raises(NotDifferentiableError, match=r"stop_gradient\(\.\.\.\)") as caught:
        _ = wg.gradients(half * w * w, (w,)).layers
    assert half.site in str(caught.value)
    assert wg.gradients(wg.stop_gradient(half) * w * w, (w,)).layers[0].predict().run() == 3.0
    (dh,) = wg.gradients(half * half * half * w, (half,)).layers  # nothing behind it is asked for
    assert wg.gradients(dh, (half,)).run() == (9.0,)


@wg.differentiable
async def gated(x: wg.DoubleExpression) -> wg.DoubleLayer:
    return wg.lift(x) * 2.0 if await wg.lift(x) > 0 else wg.lift(x)


def test_a_bind_is_known_in_the_run_only() -> None:
    w = SETTINGS.double_weight(3.0)
    y = gated(w)
    with pytest.raises(NotDifferentiableError, match=r"gradients\(\.\.\.\)\.run\(\)") as caught:
        _ = wg.gradients(y * y, (w,)).layers
    assert y.site in str(caught.value)
    assert wg.gradients(y * y, (w,)).run() == (24.0,)


@wg.differentiable
async def unshaped(x: wg.ArrayExpression[Any, np.float64]) -> wg.ArrayLayer[Any, np.float64]:
    await wg.lift(x)
    return wg.lift(x)


def test_an_open_shape_is_refused_with_what_to_write() -> None:
    w = weight(3)
    y = unshaped(w)
    for loss, wrt in ((wg.sum(y * w), [w]), (wg.sum(y * w), [y]), (wg.sum(w * w), [y])):
        with pytest.raises(NotDifferentiableError, match="annotation"):
            _ = wg.gradients(loss, wrt).layers
