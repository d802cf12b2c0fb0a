"""The checks of laws pass what keeps them, and find each law that is broken."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import Do, Tape, UnitContinuation
from wengert.control.laws import Events, Tracked
from wengert.delta import zero
from wengert.plugins import SGD
from wengert.testing import check_laws, check_type_laws


def nowhere(delta: Any) -> UnitContinuation[None]:
    """Any: a delta of every type."""
    return UnitContinuation.now(None)


@dataclass(frozen=True)
class Witness:
    """Evidence made by hand, so that nothing is registered."""

    data: Any  # Any: what every test says

    def forward(self, x: Any, /) -> Do[Tape[Any, Any]]:  # Any: as above
        return Do.delay(lambda: Tape(self.data(x), nowhere))


# -- effects ---------------------------------------------------------------------------------------


def test_effects_that_keep_the_laws() -> None:
    def writing(events: Events) -> Do[int]:
        def write() -> int:
            events.append("made")
            return 3

        return Do.delay(write)

    def then(events: Events, value: int) -> Do[int]:
        events.append(f"then {value}")
        return Do.now(value + 1)

    check_laws(writing, then, then)
    check_laws(lambda events: Do.fail(ValueError("no")), then, then, lambda events, failure: Do.now(1))
    check_laws(lambda events: Do.resource(lambda: Tracked(events, "file")))


def test_effects_that_differ_from_run_to_run() -> None:
    runs = iter(range(100))
    with pytest.raises(AssertionError, match="does not hold"):
        check_laws(lambda events: Do.delay(lambda: next(runs)))


def test_a_resource_that_is_never_closed() -> None:
    def leaking(events: Events) -> Do[str]:
        return Do.delay(Tracked(events, "file").__enter__)

    with pytest.raises(AssertionError, match="never closed"):
        check_laws(leaking)


def test_a_continuation_with_a_memory() -> None:
    calls: list[int] = []

    def then(events: Events, value: int) -> Do[int]:
        calls.append(value)
        return Do.now(len(calls))

    with pytest.raises(AssertionError, match="does not hold"):
        check_laws(lambda events: Do.now(0), then)


# -- types -----------------------------------------------------------------------------------------


class Half:
    """A Delta that adds wrongly."""

    def __init__(self, value: float) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Half) and other.value == self.value

    def __add__(self, other: Half) -> Half:
        return Half(self.value + other.value / 2)

    __hash__ = None  # type: ignore[assignment] # compared by value


zero.register(Half, lambda data: Half(0.0))


def test_types_that_keep_the_laws() -> None:
    check_type_laws(Witness(float), [Fraction(1, 2), Fraction(-3)])
    check_type_laws(
        Witness(np.asarray), [[1.0, 2.0], [0.5, -4.0]], deltas=[np.ones(2), np.array([2.0, 0.25])]
    )
    check_type_laws(Witness(lambda x: (float(x), np.full(2, float(x)))), [1, 2])

    @wg.register(Fraction)
    def fraction(x: Fraction) -> Do[Tape[float, float]]:
        return Do.now(Tape(float(x), nowhere))

    check_type_laws(fraction, [Fraction(1, 4)], deltas=[1.0, 0.5, -2.0])


class Learns:
    """Evidence that a number is the sigmoid of one that learns."""

    def forward(self, x: wg.DoubleWeight, /) -> Do[Tape[float, float]]:
        return wg.sigmoid(x).forward


def test_a_sample_that_learns_may_have_other_data_afterwards() -> None:
    weight = SGD(learning_rate=1.0).double_weight(0.0)
    check_type_laws(Learns(), [weight])
    assert weight.data != 0.0


def test_a_delta_without_a_neutral_zero() -> None:
    with pytest.raises(AssertionError, match="zero is not neutral"):
        check_type_laws(Witness(lambda x: Half(x)), [1.0])


def test_a_delta_that_does_not_associate() -> None:
    with pytest.raises(AssertionError, match="not associative"):
        check_type_laws(Witness(float), [1.0], deltas=[1e16, 1.0, -1e16])


def test_one_field_of_a_product_that_does_not_associate() -> None:
    with pytest.raises(AssertionError, match="not associative"):
        check_type_laws(Witness(lambda x: (1.0, 2.0)), [1.0], deltas=[(0.0, 1e16), (0.0, 1.0), (0.0, -1e16)])


def test_a_forward_that_differs_from_run_to_run() -> None:
    runs = iter(range(100))
    with pytest.raises(AssertionError, match="when run again"):
        check_type_laws(Witness(lambda x: float(next(runs))), [1.0])


def test_a_forward_that_gives_no_tape() -> None:
    class Wrong:
        def forward(self, x: Any, /) -> Any:  # Any: wrong on purpose
            return Do.now(x)

    with pytest.raises((AssertionError, AttributeError)):
        check_type_laws(Wrong(), [1.0])


def test_a_tape_that_refuses_its_delta() -> None:
    class Refusing:
        def forward(self, x: float, /) -> Do[Tape[float, float]]:
            def backward(delta: Do[float]) -> UnitContinuation[None]:
                raise ArithmeticError("no deltas today")

            return Do.now(Tape(x, backward))

    with pytest.raises(ArithmeticError, match="no deltas today"):
        check_type_laws(Refusing(), [1.0])


class Unfaithful:
    """Data that are others after pickling."""

    def __init__(self, value: float) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unfaithful) and other.value == self.value

    def __add__(self, other: Unfaithful) -> Unfaithful:
        return Unfaithful(self.value + other.value)

    def __reduce__(self) -> tuple[object, ...]:
        return Unfaithful, (self.value + 1.0,)

    __hash__ = None  # type: ignore[assignment] # compared by value


zero.register(Unfaithful, lambda data: Unfaithful(0.0))


def test_data_that_do_not_survive_pickling() -> None:
    with pytest.raises(AssertionError, match="after pickling"):
        check_type_laws(Witness(Unfaithful), [1.0])


def test_arrays_of_another_dtype_are_not_the_same() -> None:
    turns = iter([np.float64, np.float32] * 10)
    with pytest.raises(AssertionError, match="when run again"):
        check_type_laws(Witness(lambda x: np.asarray(x, next(turns))), [[1.0, 2.0]])
