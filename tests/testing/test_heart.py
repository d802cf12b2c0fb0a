"""The heart by itself: whose rule a value has, what its annotation states, and which deltas add as they must."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

import wengert as wg
from wengert import Do, Tape, UnitContinuation
from wengert.delta import check_additive
from wengert.differentiable import declared_data, forward, implementation, registered
from wengert.errors import NotDifferentiableError


def nowhere(delta: object) -> UnitContinuation[None]:
    return UnitContinuation.now(None)


class Celsius:
    """Nobody's: neither registered nor a `Differentiable`."""

    def __repr__(self) -> str:
        return "Celsius()"


class Kelvin:
    """A `Differentiable` by structure."""

    @property
    def forward(self) -> Do[Tape[float, float]]:
        return Do.now(Tape(273.0, nowhere))


def test_a_differentiable_by_structure_gives_its_own_tape() -> None:
    assert implementation(Kelvin()) is None and not registered(Kelvin())
    assert forward(Kelvin()).run().data == 273.0


def test_a_value_of_no_rule_is_told_what_to_write() -> None:
    with pytest.raises(NotDifferentiableError, match=r"(?s)got Celsius\(\); write\n.*register\(Celsius\)"):
        forward(Celsius())


def test_a_product_with_a_rule_of_its_own_is_not_taken_apart() -> None:
    class Span(NamedTuple):
        low: float
        high: float

    @dataclass(frozen=True)
    class Length:
        low: float
        high: float

    for cls in (Span, Length):
        length: Any = cls(1.0, 4.0)  # Any: checkers know no rule for either
        assert not registered(length)

        @wg.register(cls)
        def middle(x: Any) -> Do[Tape[float, float]]:  # Any: either
            return Do.now(Tape((x.low + x.high) / 2, nowhere))

        assert registered(length)
        assert (middle(length) * 2.0).predict().run() == 5.0
        assert wg.lift(length).predict().run() == 2.5
        pair: Any = (length, 1.0)  # Any: as above
        assert wg.lift(pair).predict().run() == (2.5, 1.0)


def test_the_data_is_what_the_annotation_states_and_any_where_it_states_none() -> None:
    def stated(x: Celsius) -> Do[Tape[float, int]]: ...  # type: ignore[empty-body] # only its annotation is read
    def bare(x): ...  # type: ignore[no-untyped-def] # as an untyped project writes it
    def nothing(x: Celsius) -> None: ...
    def unknown(x: Celsius) -> Undefined: ...  # type: ignore[name-defined] # noqa: F821 # only a checker has it

    class Called:
        def __call__(self, x: Celsius) -> Do[Tape[float, float]]:
            raise NotImplementedError

    assert declared_data(stated) is float
    for silent in (bare, nothing, unknown, Called(), Called, 3):
        assert declared_data(silent) is Any, silent  # type: ignore[arg-type] # the last is no function


def test_a_rule_without_annotation_serves_as_well() -> None:
    class Dozen: ...

    assert implementation(Dozen()) is None

    @wg.register(Dozen)
    def dozen(x):  # type: ignore[no-untyped-def] # as an untyped project writes it
        return Do.now(Tape(12.0, nowhere))

    made = implementation(Dozen())
    assert made is not None and made.data is Any
    assert dozen(Dozen()).predict().run() == 12.0
    with pytest.raises(NotDifferentiableError, match=r"of a registered type.* has no rule for it"):
        wg.exp(dozen(Dozen()))


def test_an_addition_that_does_not_commute_is_no_delta() -> None:
    with pytest.raises(AssertionError, match="does not commute for 'a' and 'b'"):
        check_additive("", ["a", "b"], lambda left, right: left == right)


def test_additions_that_keep_the_laws_are_deltas() -> None:
    check_additive((), [()], lambda left, right: left == right)
    check_additive(0, [1, -2, 3], lambda left, right: left == right)
