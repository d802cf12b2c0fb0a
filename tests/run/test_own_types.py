"""D20 to D27 and D49 to D55: what is an expression: the table of types, all mixes, users' types, products."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

import wengert as wg
from tests.optimizers import WithAdam, WithMomentum
from wengert import Do, DoubleExpression, DoubleLayer, DoubleWeight, Tape, UnitContinuation
from wengert.errors import DTypeError, NotDifferentiableError, ShapeError
from wengert.plugins import SGD

from .counting import Boom, Counted, failing


def weight(data: float = 1.0) -> DoubleWeight:
    return SGD(learning_rate=1.0).double_weight(data)


class TestD20Table:
    """Each literal, weight and layer fits where its expression is accepted, whatever its settings."""

    def test_one_expression_of_weights_of_three_settings(self) -> None:
        a = SGD(learning_rate=1.0).double_weight(1.0)
        b = WithAdam(learning_rate=1.0).double_weight(2.0)
        c = WithMomentum(learning_rate=1.0).double_weight(3.0)
        assert (a * 1.0 + b + wg.add(c, 4.0)).train().run() == 10.0
        assert a.data == 0.0
        assert b.data == pytest.approx(1.0, abs=1e-6)
        assert c.data == 2.0

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_arrays_of_both_element_types(
        self, dtype: type[np.floating[Any]]
    ) -> None:  # Any: the number of bits
        data: NDArray[np.floating[Any]] = np.ones((2, 2), dtype)
        w = SGD(learning_rate=1.0).array_weight(data)
        loss = wg.sum(wg.multiply(data, w) + wg.lift(data) * w + w)
        assert loss.dtype == dtype
        assert float(loss.train().run()) == 12.0
        assert w.data.tolist() == [[-2.0, -2.0], [-2.0, -2.0]]

    def test_d23_a_number_takes_the_others_dtype(self) -> None:
        w = SGD(learning_rate=1.0).array_weight(np.ones(2, np.float32))
        for layer in (w * 2.0, 2.0 * w, w + 1, w / 3.0, w**2.0):
            assert layer.dtype == layer.predict().run().dtype == np.float32

    def test_d23_scalars_scale_arrays_of_their_dtype(self) -> None:
        double, single = weight(2.0), SGD(learning_rate=1.0).float_weight(2.0)
        wide, narrow = np.ones(3), np.ones(3, np.float32)
        assert (double * wide).predict().run().dtype == np.float64
        assert (single * narrow).predict().run().dtype == np.float32
        assert wg.sum(double * wide).train().run() == 6.0
        assert wg.sum(single * narrow).train().run() == 6.0
        assert double.data == single.data == -1.0
        with pytest.raises(DTypeError, match="float64 and float32"):
            double * narrow  # type: ignore[dtype] # refused by checkers as well, which is what is tested
        with pytest.raises(DTypeError, match="float32 and float64"):
            single * wide  # type: ignore[dtype] # as above

    def test_d24_a_delta_has_its_datas_shape_and_dtype(self) -> None:
        column = SGD(learning_rate=1.0).array_weight(np.ones((3, 1), np.float32))
        scalar = SGD(learning_rate=1.0).float_weight(1.0)
        h = column * 1.0
        loss = wg.sum(h * np.ones((3, 4), np.float32) * scalar)
        for delta, x in zip(wg.gradients(loss, (column, h)).run(), (column, h), strict=True):
            assert (np.asarray(delta).shape, np.asarray(delta).dtype) == (x.shape, x.dtype)
        (slope,) = wg.gradients(loss, (scalar,)).run()
        assert type(slope) is np.float32

    def test_d25_a_sequence_of_weights_is_a_tensor(self) -> None:
        weights = [weight(float(i)) for i in range(4)]
        products = map(lambda w, x: w * x, weights, [1.0, 2.0, 3.0, 4.0])
        total = reduce(lambda a, b: a + b, products)
        assert total.train().run() == 0.0 + 2.0 + 6.0 + 12.0
        assert [w.data for w in weights] == [-1.0, -1.0, -1.0, -1.0]

    def test_d26_static_shapes_are_checked(self) -> None:
        pair = np.ones((2, 3))  # by its name, or mypy would see that the sizes are wrong
        assert wg.literal(pair, 2, 3).shape == (2, 3)
        with pytest.raises(ShapeError, match=r"\(2, 3\).*\(3, 2\)"):
            wg.literal(pair, 3, 2)
        with pytest.raises(ShapeError, match=r"\(2, 3\).*\(3, 2\)"):
            SGD(learning_rate=1.0).array_weight(pair, 3, 2)

    def test_d27_if_and_raise_are_pythons(self) -> None:
        @wg.differentiable
        async def network(x: DoubleWeight, flag: bool, items: list[float]) -> DoubleLayer:
            if not flag:
                raise Boom("nothing")
            total = x * 0.0
            for item in items:
                total = total + x * item
            return total

        w = weight()
        assert network(w, True, [1.0, 2.0]).train().run() == 3.0
        with pytest.raises(Boom, match="nothing"):
            network(w, False, []).train().run()
        assert w.data == -2.0


def poly_fn(
    a: DoubleExpression, b: DoubleExpression, c: DoubleExpression, d: DoubleExpression
) -> DoubleLayer:
    """The paper's Listing 17: a b + c d."""
    return wg.add(wg.multiply(a, b), wg.multiply(c, d))


MAKES: tuple[Callable[[float], DoubleExpression], ...] = (float, weight, lambda x: weight(x) * 1.0)


MIXES = list(itertools.product(MAKES, repeat=4))


@pytest.mark.parametrize("makes", MIXES, ids=["".join(str(MAKES.index(f)) for f in mix) for mix in MIXES])
def test_d49_all_81_mixes(makes: tuple[Callable[[float], DoubleExpression], ...]) -> None:
    layer = poly_fn(*(make(x) for make, x in zip(makes, (2.0, 3.0, 4.0, 5.0), strict=True)))
    assert type(layer) is DoubleLayer
    assert layer.predict().run() == 26.0
    assert layer.train().run() == 26.0


class Percent(int):
    """A number that means another one."""


@wg.register(Percent)
def percent(x: Percent) -> Do[Tape[float, float]]:
    return Do.now(Tape(x / 100, lambda delta: UnitContinuation.now(None)))


@wg.register(Fraction)
def fraction(x: Fraction) -> Do[Tape[float, float]]:
    return Do.now(Tape(float(x), lambda delta: UnitContinuation.now(None)))


class TestD50Registered:
    @pytest.fixture(autouse=True)
    def registered_here(self) -> None:
        """One class has one rule in a process: examples elsewhere register this one too, and the last counts."""
        wg.register(Fraction)(fraction.implementation.rule)

    def test_evidence_makes_an_expression(self) -> None:
        layer = fraction(Fraction(1, 2)) * weight(3.0)
        assert layer.predict().run() == 1.5

    def test_a_raw_value_is_accepted_in_the_run_too(self) -> None:
        w = weight(3.0)
        mixed: DoubleLayer = wg.multiply(Fraction(1, 2), w)  # pyrefly: ignore[no-matching-overload] # only the mypy plugin knows
        assert mixed.train().run() == 1.5
        assert w.data == 2.5

    def test_evidence_is_a_witness(self) -> None:
        witness: wg.DoubleDeepLearning[Fraction] = fraction
        assert witness.forward(Fraction(1, 4)).map(lambda tape: tape.data).run() == 0.25

    def test_subclasses_are_found(self) -> None:
        class Half(Fraction): ...

        assert wg.lift(Half(1, 2)).predict().run() == 0.5  # pyrefly: ignore[no-matching-overload] # as above

    def test_a_class_derived_from_a_built_in_one_follows_its_own_rule(self) -> None:
        assert wg.lift(Percent(50)).predict().run() == 0.5
        assert (weight(3.0) * Percent(50)).predict().run() == 1.5

    def test_what_is_built_in_cannot_be_registered(self) -> None:
        for cls in (float, int, bool, np.float32, np.float64, np.ndarray):
            with pytest.raises(TypeError, match=f"{cls.__name__} is built in"):
                wg.register(cls)

    def test_d51_an_unregistered_type_names_the_missing_line(self) -> None:
        with pytest.raises(
            NotDifferentiableError, match=r"Decimal[\s\S]*@wengert.register\(Decimal\)"
        ) as caught:
            wg.multiply(Decimal(), 2.0)  # type: ignore[not-differentiable] # refused by checkers as well
        assert "complex" not in str(caught.value)


class Decimal:
    """A class that nobody registers."""


@dataclass(frozen=True)
class Touched:
    """A delta of a table: what arrived at each of a few rows."""

    rows: tuple[tuple[int, float], ...] = ()

    def __add__(self, other: Touched) -> Touched:
        return Touched(tuple(sorted((*self.rows, *other.rows))))


class Table:
    """Numbers of a user, with a delta of another type than the data (D54), and a place where it arrives."""

    def __init__(self, *numbers: float) -> None:
        self.numbers = numbers
        self.arrived: list[Touched] = []

    def row(self, index: int) -> DoubleLayer:
        """One number as an expression that sends its delta here."""

        def picked(tape: Tape[tuple[float, ...], Touched]) -> Tape[float, float]:
            return Tape(tape.data[index], lambda d: tape.backward(d.map(lambda g: Touched(((index, g),)))))

        return DoubleLayer(table(self).forward.map(picked))


@wg.register(Table)
def table(x: Table) -> Do[Tape[tuple[float, ...], Touched]]:
    def backward(delta: Do[Touched]) -> UnitContinuation[None]:
        return UnitContinuation.delay(lambda: x.arrived.append(delta.run()))

    return Do.now(Tape(x.numbers, backward))


class TestD54SparseDelta:
    def test_a_delta_of_another_type_arrives(self) -> None:
        numbers = Table(1.0, 2.0, 3.0)
        loss = numbers.row(1) * 10.0 + numbers.row(2) * numbers.row(2)
        assert loss.train().run() == 29.0
        total = reduce(lambda a, b: a + b, numbers.arrived)
        assert total == Touched(((1, 10.0), (2, 3.0), (2, 3.0)))

    def test_the_evidence_of_one_value_is_a_layer_of_its_data(self) -> None:
        layer = table(Table(1.0, 2.0))
        assert layer.predict().run() == (1.0, 2.0)
        assert type(layer) is wg.Layer

    def test_its_data_fit_no_arithmetic(self) -> None:
        with pytest.raises(NotDifferentiableError):
            wg.add(table(Table(1.0)), 2.0)  # type: ignore[arg-type] # refused by checkers as well

    def test_rows_of_a_weight_end_as_with_a_dense_delta(self) -> None:
        for settings in (
            SGD(learning_rate=0.1),
            WithAdam(learning_rate=0.1),
            WithMomentum(learning_rate=0.1),
        ):
            sparse, dense = (settings.array_weight(np.arange(6.0).reshape(3, 2)) for _ in range(2))
            picks = np.zeros((4, 3))
            picks[[0, 1, 2, 3], [2, 0, 2, 2]] = 1.0
            for _ in range(3):
                wg.sum(wg.square(wg.take(sparse, np.array([2, 0, 2, 2])))).train().run()
                wg.sum(wg.square(wg.matmul(picks, dense))).train().run()
            assert np.allclose(sparse.data, dense.data, rtol=1e-12)


class Pair(NamedTuple):
    first: DoubleExpression
    second: DoubleExpression


@dataclass(frozen=True)
class Point:
    x: Any  # Any: an expression, and its data in what a prediction gives
    pair: Any  # Any: as above


class TestD55Products:
    def test_tuples(self) -> None:
        w = weight(2.0)
        assert wg.predict((w, w * 3.0)).run() == (2.0, 6.0)
        assert wg.predict(()).run() == ()

    def test_named_tuples_and_frozen_dataclasses_nested(self) -> None:
        w = weight(2.0)
        answer: Any = wg.predict(Point(w * 1.0, Pair(w * 2.0, 5.0))).run()
        assert type(answer) is Point
        assert type(answer.pair) is Pair
        assert answer == Point(2.0, Pair(4.0, 5.0))

    def test_a_shared_node_runs_once(self) -> None:
        counted = Counted()
        h = counted.apply(weight(2.0))
        assert wg.predict(Point(h, (h * 2.0, h))).run() == Point(2.0, (4.0, 2.0))
        assert counted.calls == (1, 0)

    def test_train_refuses_it(self) -> None:
        w = weight()
        for product in ((w, w), Pair(w, w), Point(w, w)):
            with pytest.raises(ShapeError):
                wg.train(product)  # type: ignore[call-overload] # refused by checkers as well

    def test_all_failures_arrive(self) -> None:
        w = weight()
        with pytest.raises(ExceptionGroup) as caught:
            wg.predict((failing("1")(w), failing("2")(w))).run()
        assert [str(e) for e in caught.value.exceptions] == ["1", "2"]

    def test_a_dataclass_that_can_change_is_none(self) -> None:
        @dataclass
        class Changing:
            x: DoubleExpression

        with pytest.raises(NotDifferentiableError, match="Changing"):
            wg.predict(Changing(1.0)).run()

    def test_the_delta_has_the_structure_of_the_data(self) -> None:
        w, unused = weight(2.0), Counted()
        product = Point(w * 3.0, Pair(w * 1.0, unused.apply(w)))
        layer = wg.lift(product)  # type: ignore[call-overload] # only the mypy plugin knows

        def first(tape: Tape[Point, Point]) -> Tape[float, float]:
            return Tape(tape.data.x, lambda d: tape.backward(d.map(lambda g: Point(g, Pair(g * 10.0, 0.0)))))

        assert DoubleLayer(layer.forward.map(first)).train().run() == 6.0
        assert w.data == 2.0 - 3.0 - 10.0
        assert dataclasses.is_dataclass(layer.predict().run())


class TestS12NoSilentNumerics:
    @pytest.mark.parametrize("point", [0.0, -1.0, 4.0])
    def test_masked_out_points_make_no_nan(self, point: float) -> None:
        w = weight(point)
        for inner in (wg.sqrt(w), wg.log(w), 1.0 / w, wg.pow(w, 0.5)):
            safe = wg.where(wg.greater(w, 0.0), inner, 0.0)
            (delta,) = wg.gradients(safe, (w,)).run()
            assert np.isfinite(delta)
            assert (delta == 0.0) == (point <= 0.0)

    def test_masked_out_points_of_arrays(self) -> None:
        w = SGD(learning_rate=1.0).array_weight(np.array([0.0, -1.0, 4.0], np.float64))
        safe = wg.where(wg.greater(w, 0.0), wg.sqrt(w), 0.0)
        (delta,) = wg.gradients(wg.sum(safe), (w,)).run()
        assert np.asarray(delta).tolist() == [0.0, 0.0, 0.25]

    def test_ties_split_alike_for_scalars_and_arrays(self) -> None:
        a, b = weight(2.0), weight(2.0)
        for extreme in (wg.maximum, wg.minimum):
            assert wg.gradients(extreme(a, b), (a, b)).run() == (0.5, 0.5)
        v = SGD(learning_rate=1.0).array_weight(np.array([2.0, 2.0, 1.0, 2.0], np.float64))
        (delta,) = wg.gradients(wg.max(v), (v,)).run()
        assert np.asarray(delta).tolist() == pytest.approx([1 / 3, 1 / 3, 0.0, 1 / 3])

    def test_no_rank_changing_broadcast_that_stretches_both(self) -> None:
        column = SGD(learning_rate=1.0).array_weight(np.ones((5, 1)))
        with pytest.raises(ShapeError, match=r"\(5, 1\) and \(5,\)"):
            column + np.ones(5)
        assert (SGD(learning_rate=1.0).array_weight(np.ones((5, 3))) + np.ones(3)).shape == (5, 3)

    def test_dtypes_do_not_mix(self) -> None:
        settings = SGD(learning_rate=1.0)
        wide, narrow = settings.array_weight(np.ones(2)), settings.array_weight(np.ones(2, np.float32))
        with pytest.raises(DTypeError, match="float64 and float32"):
            wide + narrow  # type: ignore[dtype] # refused by checkers as well, which is what is tested
