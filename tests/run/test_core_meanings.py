"""Branches of rules, cells and kinds that the tests of promises do not come by: refusals, full tables, own types."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import Any, NewType, TypeAlias

import numpy as np
import pytest

import wengert as wg
from tests.run.test_own_types import Table, Touched, table
from tests.run.test_rules_for_types import Metres, area, metres
from tests.run.test_tapes import weight
from wengert import Do, DoubleLayer, FloatLayer, Tape, UnitContinuation
from wengert.errors import ArgumentError, DTypeError, NotDifferentiableError
from wengert.graph.kinds import Kind
from wengert.graph.operation import Operation
from wengert.lazy import LazyDelta, Product, Rows
from wengert.plugins import SGD
from wengert.run import Sequential, cell
from wengert.run.cell import Cell as WholeCell

SETTINGS = SGD(learning_rate=0.5)
Numbers: TypeAlias = np.ndarray[tuple[int], np.dtype[np.float64]]


class Half(float):
    """A number with the precision of a float."""


@wg.register(Half)
def half(x: Half) -> Do[Tape[np.float32, np.float32]]:
    return Do.now(Tape(np.float32(x), lambda delta: UnitContinuation.now(None)))


class Row(list[float]):
    """Numbers of a user's."""


@wg.register(Row)
def row(x: Row) -> Do[Tape[Numbers, Numbers]]:
    return Do.now(Tape(np.array(x, np.float64), lambda delta: UnitContinuation.now(None)))


class TestMeanings:
    def test_a_rule_of_another_operation_changes_nothing_else(self) -> None:
        executor = Sequential(rules={wg.relu: lambda case, x: x * 10.0})
        w = weight(2.0)
        for _ in range(2):
            assert (wg.relu(w) + wg.tanh(w * 0.0)).predict().run(executor) == 20.0

    def test_keys_are_operations(self) -> None:
        for key in (print, wg.predict):
            with pytest.raises(ArgumentError, match="`rules` has operations as keys"):
                Sequential(rules={key: lambda case, x: x})

    def test_the_inside_of_a_cell_is_not_seen(self) -> None:
        layer = doubled(weight(2.0))
        with pytest.raises(ArgumentError, match="doubled is a cell"):
            layer.predict().run(Sequential(rules={wg.relu: lambda case, x: x}))

    def test_an_operation_without_rules_names_its_operands(self) -> None:
        of: Kind = weight().kind
        with pytest.raises(NotDifferentiableError, match="no rule for operands of float, float"):
            Operation("nothing", None, listed=False).rules_for((of, of))

    def test_a_full_table_of_signatures_starts_afresh(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("wengert.graph.operation._MOST_SIGNATURES", 1)
        for shape in ((1,), (2,), (1,)):
            assert wg.exp(wg.lift(np.zeros(shape))).predict().run().tolist() == [1.0] * shape[0]


@cell
def doubled(x: Any) -> Any:  # Any: expressions of every column
    return x * 2.0


class TestCells:
    def test_a_call_by_the_library_is_written_where_the_user_ran_it(self) -> None:
        layer = doubled(weight())  # from now on calls go the short way
        found = Do.delay(partial(doubled, weight())).run()
        assert found.site.rpartition(":")[0] == layer.site.rpartition(":")[0] == __file__

    def test_what_makes_a_cell_for_others_says_where_its_calls_are_written(self) -> None:
        for_others = WholeCell(lambda x: x * 2.0)
        for_others.at = "blocks.py:7", 0
        assert [for_others(weight()).site for _ in range(2)] == [
            "blocks.py:7"
        ] * 2  # the long way and the short one

    def test_the_type_of_an_operand_may_be_one_that_only_the_run_tells(self) -> None:
        @wg.differentiable
        async def length(x: DoubleLayer) -> wg.Layer[Metres, float]:
            return metres(Metres(await x))

        @cell
        def beside(one: Any, x: Any) -> Any:  # Any: expressions of every column
            return x * 3.0

        w = weight(2.0)
        assert beside(length(w * 1.0), w).predict().run() == 6.0

    def test_an_argument_that_is_no_operand_is_refused_by_name(self) -> None:
        with pytest.raises(DTypeError, match=r"doubled: an array of complex128"):
            doubled(np.array([1j]))

    def test_full_tables_start_afresh(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(import_module("wengert.run.cell"), "MOST", 1)
        tripled = cell(lambda x: x * 3.0)
        for size in (1, 2, 1, 2):
            assert tripled(np.ones(size)).predict().run().tolist() == [3.0] * size

    def test_of_the_class_it_is_the_cell_itself(self) -> None:
        class Net:
            @cell
            def step(self, x: Any) -> Any:  # Any: expressions of every column
                return x * 2.0

        assert Net.step is vars(Net)["step"]
        assert isinstance(Net.step, WholeCell)

    def test_it_returns_at_least_one_expression(self) -> None:
        with pytest.raises(ArgumentError, match=r"returned \(\); a cell returns an expression"):
            cell(lambda x: ())(weight())


class TestKinds:
    def test_where_weights_and_layers_are(self) -> None:
        w = SETTINGS.array_weight(np.ones(2))
        assert (w.device, (w * 1.0).device, weight().device) == ("cpu", "cpu", "cpu")

    def test_a_float_from_a_do_of_a_tape(self) -> None:
        layer = FloatLayer(Do.now(Tape(np.float32(2.0), lambda delta: UnitContinuation.now(None))))
        assert type((layer * np.float32(3.0)).predict().run()) is np.float32

    def test_a_named_dimension_is_of_any_size(self) -> None:
        rows = NewType("rows", int)
        assert wg.literal(np.ones((2, 3)), rows, 3).shape == (2, 3)

    def test_foreign_byte_order_is_refused_with_what_to_write(self) -> None:
        with pytest.raises(DTypeError, match="newbyteorder"):
            wg.lift(np.ones(2, ">f8"))  # type: ignore[any-array] # no type says it, and the plugin sees none

    def test_one_line_of_a_table(self) -> None:
        lines = wg.lift(np.arange(6.0).reshape(3, 2))
        assert wg.take(lines, 1, axis=0).predict().run().tolist() == [2.0, 3.0]
        with pytest.raises(NotDifferentiableError, match="take: an array of Python objects"):
            wg.take(lines, 2**70, axis=0)

    def test_rules_that_were_added_for_others_fit_no_array(self) -> None:
        with pytest.raises(NotDifferentiableError, match="Metres"):
            area(Metres(2.0), np.ones(2))


def test_masks_and_layers_of_own_types_can_be_awaited() -> None:
    w, numbers = weight(2.0), table(Table(1.0, 5.0))

    @wg.differentiable
    async def chosen(x: DoubleLayer) -> DoubleLayer:
        return x * (await numbers)[1] if await wg.greater(x, 0.0) else x

    @wg.differentiable
    async def again(x: DoubleLayer) -> wg.Layer[tuple[float, ...], Touched]:
        await x
        return numbers

    assert chosen(w * 1.0).predict().run() == 10.0
    assert again(w * 1.0).predict().run() == (1.0, 5.0)


def test_data_that_are_declared_are_those_of_the_layer() -> None:
    assert isinstance(half(Half(0.5)), FloatLayer)
    assert isinstance(row(Row((1.0, 2.0))), wg.ArrayLayer)
    assert wg.sum(row(Row((1.0, 2.0)))).predict().run() == 3.0


def test_an_attribute_that_arrays_have_says_what_to_write() -> None:
    layer: Any = weight() * 2.0  # Any: checkers refuse it
    with pytest.raises(AttributeError, match=r"has no backward: write loss\.train\(\)\.run\(\)"):
        layer.backward()


def test_a_delta_times_a_factor_touches_nothing_that_is_known() -> None:
    delta = LazyDelta([Rows(np.array([1]), np.ones((1, 2)), (20, 2))])
    assert delta.touched() is not None
    assert delta.scaled(2.0).touched() is None
    assert LazyDelta([Product(np.ones((1, 2)), np.ones((1, 2)))]).touched() is None
