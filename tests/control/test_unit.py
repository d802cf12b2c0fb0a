"""`UnitContinuation`."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wengert.control import UnitContinuation

from .tracking import Boom, raising

Unit = UnitContinuation[int]
now = UnitContinuation.now


def test_each_constructor() -> None:
    assert now(1).run() == 1
    assert UnitContinuation.delay(lambda: 2).run() == 2
    assert UnitContinuation.defer(lambda: now(3)).run() == 3
    assert now(3).map(str).run() == "3"
    assert now(3).flat_map(lambda n: now(n + 1)).run() == 4
    assert now(None).run() is None


def test_s1_building_performs_nothing_and_each_run_performs_it_again() -> None:
    calls: list[int] = []

    def call() -> int:
        calls.append(1)
        return len(calls)

    unit = UnitContinuation.delay(call)
    assert calls == []
    assert (unit.run(), unit.run()) == (1, 2)


def test_d17_each_function_is_called_exactly_once() -> None:
    calls: list[str] = []
    unit = (
        now(1)
        .map(lambda n: calls.append("map"))
        .flat_map(lambda _: UnitContinuation.delay(lambda: calls.append("flat_map")))
    )
    unit.run()
    assert calls == ["map", "flat_map"]


def test_d17_an_exception_leaves_run() -> None:
    for kind in (Boom, KeyboardInterrupt):
        with pytest.raises(kind):
            now(1).map(lambda _: raising(kind())).run()


def test_a_function_that_returns_something_else_is_refused() -> None:
    with pytest.raises(TypeError, match="returned 3, not a UnitContinuation; use map"):
        now(1).flat_map(lambda _: 3).run()  # type: ignore[arg-type, return-value]  # the misuse that is tested


@given(st.integers(), st.integers())
def test_monad_laws(a: int, b: int) -> None:
    def f(n: int) -> Unit:
        return UnitContinuation.delay(lambda: n + b)

    def g(n: int) -> Unit:
        return now(n * 2)

    m = UnitContinuation.defer(lambda: now(a))
    assert now(a).flat_map(f).run() == f(a).run()
    assert m.flat_map(now).run() == m.run()
    assert m.flat_map(f).flat_map(g).run() == m.flat_map(lambda n: f(n).flat_map(g)).run()
    assert m.map(str).run() == m.flat_map(lambda n: now(str(n))).run()


def test_effects_are_a_monoid_that_waits_together() -> None:
    done: list[str] = []
    resumes: list[Callable[[None], None]] = []

    def effect(name: str) -> UnitContinuation[None]:
        return UnitContinuation.delay(lambda: done.append(name))

    def until(count: int) -> UnitContinuation[None]:  # the last to begin resumes all
        def register(resume: Callable[[None], None]) -> None:
            resumes.append(resume)
            if len(resumes) == count:
                for each in resumes:
                    each(None)

        return UnitContinuation.callback(register)

    a, b, c, zero = effect("a"), effect("b"), effect("c"), now(None)
    for both in ((a + b) + c, a + (b + c), zero + a + b + c + zero, sum((a, b, c), zero)):
        done.clear()
        assert both.run() is None
        assert sorted(done) == ["a", "b", "c"], "each once"
    (until(3) + (until(3) + until(3))).run()  # in turn, none would go on
    deep = zero
    for _ in range(10_000):
        deep = deep + a
    done.clear()
    deep.run()
    assert len(done) == 10_000
    with pytest.raises(TypeError, match="unsupported operand"):
        a + 1  # type: ignore[operator] # the misuse that is tested


@pytest.mark.slow
def test_s8_a_million_binds() -> None:
    unit = now(0)
    for _ in range(500_000):
        unit = unit.map(lambda n: n + 1).flat_map(lambda n: now(n))
    assert unit.run() == 500_000

    def count(n: int) -> Unit:
        return now(n) if n == 1_000_000 else UnitContinuation.defer(lambda: count(n + 1))

    assert count(0).run() == 1_000_000


def test_defer_may_make_any_kind() -> None:
    one = UnitContinuation.now(1)
    makes: list[Callable[[], UnitContinuation[int]]] = [
        lambda: one,
        lambda: UnitContinuation.delay(lambda: 1),
        lambda: UnitContinuation.defer(lambda: one),
        lambda: one.map(lambda n: n),
        lambda: one.flat_map(lambda n: one),
    ]
    assert [UnitContinuation.defer(make).map(lambda n: n + 1).run() for make in makes] == [2] * 5
