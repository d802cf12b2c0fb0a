"""The type class: witnesses keep Data and Delta, evidence lifts (D105, D106, T8 to T19)."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeVar, assert_type

import numpy as np

import wengert as wg
from wengert.extend import kinds

X = TypeVar("X")
Data = TypeVar("Data")
Delta = TypeVar("Delta")
Host32 = np.ndarray[Any, np.dtype[np.float32]]


@wg.register(Fraction)
def fraction(x: Fraction) -> wg.Do[wg.Tape[float, float]]:
    return wg.Do.now(wg.Tape(float(x), lambda delta: wg.UnitContinuation.now(None)))


class Picture:
    """An array type of somebody else."""


@wg.register(Picture)
def picture(x: Picture) -> wg.Do[wg.Tape[Host32, Host32]]:
    return wg.Do.now(wg.Tape(np.zeros(3, np.float32), lambda delta: wg.UnitContinuation.now(None)))


@dataclass(frozen=True)
class Sparse:
    """A Delta of another form than its Data."""

    index: int
    value: float


class Table:
    """A type with Delta ≠ Data."""


@wg.register(Table)
def table(x: Table) -> wg.Do[wg.Tape[list[float], Sparse]]:
    return wg.Do.now(wg.Tape([0.0], lambda delta: wg.UnitContinuation.now(None)))


class Meters:
    """A class of a user's own that is a double by having `forward`."""

    @property
    def forward(self) -> wg.Do[wg.Tape[float, float]]:
        return wg.Do.now(wg.Tape(1.0, lambda delta: wg.UnitContinuation.now(None)))


def data_of(x: X, witness: wg.DeepLearning[X, Data, Delta]) -> wg.Do[Data]:
    """A function by witness, as in the paper's Listing 15."""
    return witness.forward(x).map(lambda tape: tape.data)


def delta_of(x: X, witness: wg.DeepLearning[X, Data, Delta]) -> wg.Do[wg.Tape[Data, Delta]]:
    return witness.forward(x)


def case_witnesses_keep_data_and_delta() -> None:
    assert_type(data_of(Fraction(1), fraction), wg.Do[float])
    assert_type(data_of(Table(), table), wg.Do[list[float]])
    assert_type(delta_of(Table(), table), wg.Do[wg.Tape[list[float], Sparse]])
    data_of(1.0, fraction)  # E[misc]: type parameter "X" of "data_of"
    data_of(Fraction(1), table)  # E[misc]: type parameter "X" of "data_of"


def case_register_returns_evidence() -> None:  # T12
    assert_type(fraction, wg.Instance[Fraction, float, float])
    assert_type(table, wg.Instance[Table, list[float], Sparse])
    assert_type(fraction(Fraction(1, 2)), wg.DoubleLayer)
    assert_type(picture(Picture()), wg.ArrayLayer[Any, np.float32, wg.Cpu])
    assert_type(table(Table()), wg.Layer[list[float], Sparse])
    assert_type(fraction(Fraction(1)) * 2.0, wg.DoubleLayer)
    assert_type(table(Table()).predict(), wg.Do[list[float]])
    fraction(0.5)  # E[call-overload]: matches argument type "float"


def takes_double(x: X, witness: wg.DoubleDeepLearning[X]) -> wg.Do[float]:
    return witness.forward(x).map(lambda tape: tape.data)


def takes_array(x: X, witness: wg.ArrayDeepLearning[X]) -> None: ...


def takes_any(x: X, witness: wg.DeepLearning[X]) -> None: ...


def case_associated_types() -> None:  # T10, D106
    assert_type(takes_double(Fraction(1), fraction), wg.Do[float])
    takes_any(Fraction(1), fraction)
    takes_any(Table(), table)


def case_evidence_for_what_is_built_in(
    x: wg.ArrayWeight[tuple[int], np.float32], d: wg.DoubleWeight, f: wg.FloatLayer
) -> None:
    assert_type(data_of(2.0, wg.double_evidence), wg.Do[float])
    assert_type(data_of(d, wg.double_evidence), wg.Do[float])
    assert_type(takes_double(d * 2.0, wg.double_evidence), wg.Do[float])
    assert_type(data_of(f, wg.float_evidence), wg.Do[np.float32])
    assert_type(data_of(np.float32(1.0), wg.float_evidence), wg.Do[np.float32])
    assert_type(data_of(x, wg.array_evidence), wg.Do[wg.Array[tuple[int], np.float32, wg.Cpu]])
    takes_array(x, wg.array_evidence)
    takes_array(Picture(), picture)  # evidence of numpy's arrays, as everybody writes it
    data_of(f, wg.double_evidence)  # E
    takes_double("a", wg.double_evidence)  # E


def case_a_witness_of_another_column_is_refused() -> None:  # T11
    takes_double(Picture(), picture)  # E[arg-type]: incompatible type "Instance\[Picture, ndarray\[.*"
    takes_double(Table(), table)  # E[arg-type]: incompatible type "Instance\[Table, list\[float\], Sparse\]"
    takes_array(Fraction(1), fraction)  # E[arg-type]: incompatible type "Instance\[Fraction, float, float\]"


def case_wrong_instances_are_refused() -> None:  # T13
    @wg.register(Decimal)  # E[arg-type]: incompatible type "Callable\[\[int\], Do\[Tape\[float, float\]\]\]"
    def wrong_parameter(x: int) -> wg.Do[wg.Tape[float, float]]:
        return wg.Do.now(wg.Tape(float(x), lambda delta: wg.UnitContinuation.now(None)))

    @wg.register(Decimal)  # E[arg-type]: incompatible type "Callable\[\[Decimal\], float\]"
    def wrong_result(x: Decimal) -> float:
        return float(x)

    @wg.register(Decimal)  # E[arg-type]: incompatible type "Callable\[.*"
    def wrong_arity(x: Decimal, y: Decimal) -> wg.Do[wg.Tape[float, float]]:
        return wg.Do.now(wg.Tape(float(x), lambda delta: wg.UnitContinuation.now(None)))


def case_a_class_with_forward_is_an_expression() -> None:  # T8
    assert_type(wg.exp(Meters()), wg.DoubleLayer)
    assert_type(wg.multiply(Meters(), 2.0), wg.DoubleLayer)
    assert_type(wg.lift(1.0) * Meters(), wg.DoubleLayer)


class WrongDelta:
    @property
    def forward(self) -> wg.Do[wg.Tape[float, str]]:
        raise NotImplementedError


class NoDo:
    @property
    def forward(self) -> wg.Tape[float, float]:
        raise NotImplementedError


class Method:
    def forward(self) -> wg.Do[wg.Tape[float, float]]:
        raise NotImplementedError


def case_a_wrong_forward_is_refused() -> None:  # T9
    wg.multiply(WrongDelta(), 2.0)  # E: "WrongDelta"
    wg.multiply(NoDo(), 2.0)  # E: "NoDo"
    wg.multiply(Method(), 2.0)  # E: "Method"


def case_unregistered_values_are_refused() -> None:  # T16, D51
    wg.exp("1")  # E[call-overload]: matches argument type "str"
    wg.exp(None)  # E[call-overload]: matches argument type "None"
    wg.exp([1.0])  # E[call-overload]: matches argument type "list\[float\]"
    wg.exp(1j)  # E[call-overload]: matches argument type "complex"
    wg.exp(float)  # E[call-overload]: matches argument type "type\[float\]"
    wg.exp(Decimal(1))  # E: "Decimal"
    wg.add(wg.lift(1.0), "1")  # E[call-overload]: matches argument types "DoubleLayer", "str"
    wg.lift("1")  # E[call-overload]: matches argument type "str"


def case_booleans_are_numbers() -> None:  # T19: a limit, Python's own
    assert_type(wg.exp(True), wg.DoubleLayer)


def case_integers_are_doubles() -> None:  # T18
    assert_type(wg.exp(1), wg.DoubleLayer)
    assert_type(wg.exp(np.float64(1.0)), wg.DoubleLayer)
    assert_type(wg.lift(1), wg.DoubleLayer)


def case_lift() -> None:  # T15
    assert_type(wg.lift(1.0), wg.DoubleLayer)
    assert_type(wg.lift(np.float32(1.0)), wg.FloatLayer)
    assert_type(wg.lift(wg.lift(1.0)), wg.DoubleLayer)
    assert_type(wg.lift(np.zeros(3)).dtype, np.dtype[np.float64])


@dataclass(frozen=True)
class Turn:
    """Data with operators of Python's."""

    angle: float

    def __mul__(self, other: Turn, /) -> Turn: ...  # type: ignore[empty-body] # never called
    def __rmul__(self, other: float, /) -> Turn: ...  # type: ignore[empty-body] # never called
    def __matmul__(self, other: Turn, /) -> float: ...  # type: ignore[empty-body] # never called


def _halved(case: object, x: Turn) -> Turn:
    return Turn(x.angle / 2.0)


def _sine(case: object, x: Turn) -> float:
    return x.angle


halved = wg.sqrt.rule(Turn, infer=kinds.of(Turn), value=_halved)
sine = wg.sin.rule(Turn, infer=kinds.of(float), value=_sine)


def case_layers_have_the_operators_of_their_data(
    a: wg.Layer[Turn, complex], w: wg.DoubleWeight, other: wg.Layer[list[float], Sparse]
) -> None:
    assert_type(a * a, wg.Layer[Turn, complex])
    assert_type(2.0 * a, wg.Layer[Turn, complex])
    assert_type(w * a, wg.Layer[Turn, complex])
    assert_type(a @ a, wg.DoubleLayer)
    a / a  # E[operator]: Unsupported operand types for /
    a * other  # E[operator]: Unsupported operand types for *
    a * 2.0  # E[operator]: Unsupported operand types for *
    _ = -a  # E[misc]: Invalid self argument


def case_a_rule_gives_the_function_for_its_operands(a: wg.Layer[Turn, complex], w: wg.DoubleWeight) -> None:
    assert_type(halved(a), wg.Layer[Turn, complex])
    assert_type(sine(a), wg.DoubleLayer)
    halved(w)  # E[arg-type]: incompatible type "DoubleWeight"
    wg.sqrt(a)  # E[arg-type]: "__call__" of "Elementwise" has incompatible type
