"""What goes wrong in a cell names the line inside and the call; what can be no cell is refused (S7)."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from tests.run.cells import F64, SETTINGS
from tests.run.counting import Boom, Counted
from wengert.errors import ArgumentError, NotDifferentiableError, ShapeError


def test_a_failure_names_the_line_inside_and_the_call() -> None:
    counted = Counted(forward_failure=Boom)
    failing = wg.cell(lambda x: counted.apply(x * 1.0))
    with pytest.raises(Boom) as failure:
        failing(SETTINGS.array_weight(np.ones(2, F64))).predict().run()
    notes = failure.value.__notes__
    assert [note.partition("(")[0] for note in notes] == [
        "in counted",
        "in test_a_failure_names_the_line_inside_and_the_call.<locals>.<lambda>",
    ]
    assert all(__file__ in note for note in notes)


def test_what_is_not_annotated_is_told_where_it_is_used() -> None:
    @wg.differentiable
    async def unstated(x):  # type: ignore[no-untyped-def] # that is the test
        return x

    with pytest.raises(
        NotDifferentiableError, match=r"(?s)not stated.*async def as `-> ArrayLayer.*test_cell_failures\.py:"
    ):
        wg.cell(lambda x: wg.tanh(x))(unstated(np.ones(3, F64)))  # type: ignore[no-untyped-call] # as above


def test_a_wrong_shape_is_an_error_of_the_call() -> None:
    product = wg.cell(lambda a, b: a @ b)
    with pytest.raises(ShapeError, match="inner dimensions 3 and 2 differ"):
        product(np.ones((2, 3), F64), np.ones((2, 3), F64))


def test_what_is_no_cell_is_refused() -> None:
    @wg.differentiable
    async def waits(x: wg.DoubleLayer) -> wg.DoubleLayer:
        return x

    with pytest.raises(ArgumentError, match="takes a function of expressions; got 3"):
        wg.cell(3)  # type: ignore[call-overload] # that is the test
    with pytest.raises(ArgumentError, match="a cell returns an expression or a tuple of them"):
        wg.cell(lambda x: "text")(wg.lift(2.0))
    with pytest.raises(ArgumentError, match="cannot wait for"):
        wg.cell(lambda x: waits(x))(wg.lift(2.0))
    with pytest.raises(
        ArgumentError, match=r"something hashable.*; got \[1\], a list: give numbers as numpy.array"
    ):
        wg.cell(lambda x, more: x)(wg.lift(2.0), [1])

    async def later(x: wg.DoubleLayer) -> wg.DoubleLayer:
        return x

    with pytest.raises(ArgumentError, match=r"(?s)later is an async def.* write @differentiable"):
        wg.cell(later)


def test_a_failure_while_it_is_traced_names_the_call() -> None:
    wider = wg.cell(lambda x: x @ np.ones((2, 2), F64))
    with pytest.raises(ShapeError) as caught:
        wider(np.ones(3, F64))
    (note,) = caught.value.__notes__
    assert note.startswith(
        "while the cell test_a_failure_while_it_is_traced_names_the_call.<locals>.<lambda> was"
    )
    assert f"traced for ((3,) float64), called at {__file__}:" in note
