"""From dual numbers to a tape, in six small steps (D108 to D118)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from tests.test_examples import example

numbers = st.floats(-1e6, 1e6)


@given(numbers, numbers, numbers, numbers, numbers)
def test_pushes_add_and_scale(s: float, t: float, x: float, a: float, scale: float) -> None:  # D112
    module = example("from_dual_numbers")
    f: Callable[[float], float] = lambda v: s * v  # noqa: E731 # two lines of `def` each would say less
    g: Callable[[float], float] = lambda v: t * v + a  # noqa: E731 # as above
    assert module.pushes_add(f, g)(x) == f(x) + g(x)
    assert module.push_scaled(scale, f)(x) == f(scale * x)


@given(numbers, numbers)
def test_closures_agree_with_dual_numbers(x: float, c: float) -> None:  # D108 to D111
    m = example("from_dual_numbers")
    dual = m.dual_add(m.dual_multiply(m.Dual(x, 1.0), m.Dual(c, 0.0)), m.Dual(x, 1.0))
    variable, constant = m.Closure(x, lambda v: v), m.Closure(c, lambda v: 0.0)
    closure = m.closure_add(m.closure_multiply(variable, constant), variable)
    assert closure.data == dual.data and closure.push(1.0) == pytest.approx(dual.delta)


def test_dual_numbers_of_the_paper() -> None:  # D109
    m = example("from_dual_numbers")
    assert m.dual_multiply(m.Dual(3.0, 1.0), m.Dual(4.0, 0.0)) == (12.0, 4.0)


def test_an_effect_does_nothing_until_it_is_run() -> None:  # D113, D114
    m = example("from_dual_numbers")
    w = m.Learning(3.0, rate=0.5)
    constant = m.Effect(4.0, lambda x: wg.UnitContinuation.now(None))
    described = m.effect_multiply(w.effect(), constant).change(1.0)
    assert w.data == 3.0
    described.run()
    assert w.data == 3.0 - 0.5 * 4.0


def test_a_literal_never_asks_for_its_delta() -> None:  # D115
    m = example("from_dual_numbers")
    asked: Any = m.Counter()  # Any: the example's module has no static type here
    m.backward(m.tape_multiply(m.Learning(3.0).tape(), m.literal(4.0), asked))
    assert asked == {"left": 1}


def test_a_tree_reaches_each_weight_once() -> None:  # D116
    m = example("from_dual_numbers")
    weights = m.tree(3.0)
    assert [w.reached for w in weights] == [1, 1, 1, 1]
    assert [w.total for w in weights] == [3.0, 3.0, 3.0, 3.0]


def test_closures_walk_every_path_wengert_sums_first() -> None:  # D118
    closures, wengert = example("from_dual_numbers").main()
    assert (closures.times, wengert.times) == (4, 1)
    assert closures.total == wengert.total == 108.0
    assert closures.data == pytest.approx(wengert.data)
