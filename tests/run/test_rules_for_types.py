"""D52: one operation, rules chosen by the types of all operands, and more rules for types of others."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import pytest

import wengert as wg
from wengert import Do, Tape, UnitContinuation
from wengert.arrays import FLOAT64
from wengert.extend import Column, Kind, kind, kinds, operation, rule_for
from wengert.plugins import SGD


@dataclass(frozen=True)
class Metres:
    """A length: nothing that numbers or arrays know."""

    value: float


@dataclass(frozen=True)
class Millimetres(Metres):
    """A finer length."""


@wg.register(Metres)
def metres(x: Metres) -> Do[Tape[Metres, float]]:
    return Do.now(Tape(x, lambda delta: UnitContinuation.now(None)))


@wg.register(Millimetres)
def millimetres(x: Millimetres) -> Do[Tape[Millimetres, float]]:
    return Do.now(Tape(x, lambda delta: UnitContinuation.now(None)))


def a_double(operands: tuple[Kind, ...]) -> Kind:
    return kind(Column.DOUBLE, (), FLOAT64)


@operation(
    kinds.broadcasting,
    lambda case, a, b: a * b,
    lambda case, g, y, a, b: g * b,
    lambda case, g, y, a, b: g * a,
)
def area(a: object, b: object, /) -> wg.DoubleLayer:
    """Width times height."""
    raise NotImplementedError


area.rule(
    Metres,
    float,
    infer=a_double,
    value=lambda case, a, b: a.value * b,
    derivatives=(lambda case, g, y, a, b: g * b, lambda case, g, y, a, b: g * a.value),
)


def test_d52_numbers_take_the_operations_own_rule() -> None:
    assert area(2.0, 3.0).predict().run() == 6.0


def test_d52_an_added_rule_is_chosen_by_all_operands_and_has_its_own_derivative() -> None:
    w = SGD(learning_rate=1.0).double_weight(3.0)
    loss = area(Metres(2.0), w)
    assert loss.predict().run() == 6.0
    assert wg.gradients(loss, (w,)).run() == (2.0,)


def test_d52_a_subclass_takes_its_bases_rule_until_it_has_one() -> None:
    assert area(Millimetres(2.0), 3.0).predict().run() == 6.0
    area.rule(
        Millimetres,
        float,
        infer=a_double,
        value=lambda case, a, b: a.value * b / 1000.0,
        derivatives=(None, None),  # said, for a registered value may want one
    )
    try:
        assert area(Millimetres(2.0), 3.0).predict().run() == 0.006
        assert area(Metres(2.0), 3.0).predict().run() == 6.0
    finally:
        del area.operation.added[Millimetres, float]
        area.operation.signatures.clear()


def test_d52_a_pair_without_a_rule_is_refused_with_both_types() -> None:
    with pytest.raises(wg.errors.NotDifferentiableError, match="area"):
        area(Metres(2.0), Metres(3.0))


def test_d52_two_rules_of_which_none_is_best_are_refused() -> None:
    def value(case: Any, a: Metres, b: Metres) -> float:  # Any: a case
        return a.value * b.value

    area.rule(Millimetres, Metres, infer=a_double, value=value)
    area.rule(Metres, Millimetres, infer=a_double, value=value)
    try:
        with pytest.raises(wg.errors.NotDifferentiableError, match="more than one rule fits"):
            area(Millimetres(1.0), Millimetres(1.0))
    finally:
        del area.operation.added[Millimetres, Metres], area.operation.added[Metres, Millimetres]
        area.operation.signatures.clear()


def test_d16_a_failed_node_stops_only_what_needs_it() -> None:
    ran: list[str] = []

    def leaf(name: str, fails: bool) -> wg.DoubleLayer:
        def make() -> Tape[float, float]:
            ran.append(name)
            if fails:
                raise ValueError(name)
            return Tape(1.0, lambda delta: UnitContinuation.now(None))

        return wg.DoubleLayer(Do.delay(make))

    loss = (leaf("first", True) + leaf("second", False)) * (leaf("third", True) + leaf("fourth", False))
    with pytest.raises(ExceptionGroup) as caught:
        loss.predict().run()
    assert sorted(ran) == ["first", "fourth", "second", "third"]  # some interpreters begin them together
    assert [str(e) for e in caught.value.exceptions] == ["first", "third"]


@dataclass(frozen=True)
class Lengths:
    """Data with Python's operators, which say to a type checker what their layers have."""

    value: float

    def __add__(self, other: Lengths, /) -> Lengths:
        return Lengths(self.value + other.value)

    def __mul__(self, other: Lengths, /) -> Lengths:
        return Lengths(self.value * other.value)

    def __rmul__(self, other: float, /) -> Lengths:
        return Lengths(self.value * other)

    def __matmul__(self, other: Lengths, /) -> float:
        return self.value * other.value

    def __truediv__(self, other: Lengths, /) -> Lengths:
        return Lengths(self.value / other.value)


RECEIVED: list[tuple[Lengths, Lengths]] = []


def lengths(value: float) -> wg.Layer[Lengths, Lengths]:
    """A layer that writes down the delta that it gets."""
    data = Lengths(value)

    def backward(delta: Do[Lengths]) -> UnitContinuation[None]:
        return UnitContinuation.delay(lambda: RECEIVED.append((data, delta.run())))

    return ruler(Ruler(Tape(data, backward)))


@dataclass(frozen=True)
class Ruler:
    """What makes `Lengths`."""

    tape: Tape[Lengths, Lengths]


@wg.register(Ruler)
def ruler(x: Ruler) -> Do[Tape[Lengths, Lengths]]:
    return Do.now(x.tape)


_LENGTHS = kinds.of(Lengths)
wg.add.rule(
    Lengths,
    Lengths,
    infer=_LENGTHS,
    value=operator.add,
    derivatives=(lambda case, g, y, a, b: g, lambda case, g, y, a, b: g),
)
wg.multiply.rule(
    Lengths,
    Lengths,
    infer=_LENGTHS,
    value=operator.mul,
    derivatives=(lambda case, g, y, a, b: g * b, lambda case, g, y, a, b: g * a),
)
wg.multiply.rule(
    float,
    Lengths,
    infer=_LENGTHS,
    value=operator.mul,
    derivatives=(lambda case, g, y, a, b: g @ b, lambda case, g, y, a, b: a * g),
)
rule_for(
    wg.matmul,
    Lengths,
    Lengths,
    infer=kinds.of(float),
    value=operator.matmul,
    derivatives=(lambda case, g, y, a, b: g * b, lambda case, g, y, a, b: g * a),
)


@pytest.mark.parametrize(
    "executor",
    [wg.run.Sequential(), wg.run.Sequential(compiled=False), wg.run.Parallel(threads=2), wg.run.Batched()],
    ids=["sequential", "loops", "parallel", "batched"],
)
def test_b5_operators_of_layers_with_data_of_a_users_own_take_the_added_rules(
    executor: wg.run.Sequential,
) -> None:
    for _ in range(10):  # with a plan at last, where there is one
        RECEIVED.clear()
        a, b, w = lengths(2.0), lengths(3.0), SGD(learning_rate=1.0).double_weight(5.0)
        loss = (a * b + w * (a * b)) @ a
        assert loss.train().run(executor) == 72.0  # (1 + w) a² b
        assert w.data == 5.0 - 12.0
        assert sorted(RECEIVED, key=lambda pair: pair[0].value) == [
            (Lengths(2.0), Lengths(72.0)),  # 2 (1 + w) a b
            (Lengths(3.0), Lengths(24.0)),  # (1 + w) a²
        ]


def test_b5_a_library_operation_without_a_rule_for_the_data_says_how_to_add_one() -> None:
    with pytest.raises(wg.errors.NotDifferentiableError, match=r"divide: .*extend\.rule_for"):
        lengths(1.0) / lengths(2.0)


def test_b5_the_library_keeps_its_own_rules_for_numbers_and_arrays() -> None:
    assert wg.multiply(2.0, 3.0).predict().run() == 6.0
    assert (wg.lift(2.0) * lengths(3.0)).predict().run() == Lengths(6.0)


def test_b5_wrong_rules_are_refused() -> None:
    error = wg.errors.ArgumentError
    with pytest.raises(error, match="no operation; write rule_for"):
        rule_for(len, Lengths, infer=_LENGTHS, value=operator.neg)
    wrong: Any = Lengths(1.0)
    with pytest.raises(error, match="expected the class of an operand's Data, got Lengths"):
        wg.exp.rule(wrong, infer=_LENGTHS, value=operator.neg)
    with pytest.raises(error, match="2 derivatives for 1 operands"):
        wg.exp.rule(Lengths, infer=_LENGTHS, value=operator.neg, derivatives=(None, None))
