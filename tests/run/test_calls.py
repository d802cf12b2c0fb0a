"""Calls of cells: every form of arguments is read as it is, whatever the call before it was like."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from inspect import currentframe
from itertools import permutations
from typing import Any, NamedTuple

import cloudpickle
import numpy as np
import pytest

import wengert as wg
from wengert.errors import ArgumentError
from wengert.graph.operand import operand
from wengert.plugins import SGD

CELL = import_module("wengert.run.cell")  # of which the package shows the function
F32 = np.float32
A, B = (wg.literal(np.array(x, F32)) for x in ([1.0, 2.0], [3.0, 5.0]))
W = SGD(learning_rate=0.1).array_weight(np.array([[1.0, 2.0], [3.0, 4.0]], F32))


class Pair(NamedTuple):
    h: Any  # Any: whatever a test gives
    c: Any


class Other(Pair):
    """The same with a class of its own."""


@dataclass(frozen=True)
class State:
    h: Any  # Any: as above
    c: Any
    made: str = field(default="made", init=False)


def difference(a: Any, b: Any) -> Any:  # Any: pairs of every class
    h, c = a if isinstance(a, tuple) else (a.h, a.c)
    return h - c * b


def value(x: Any) -> list[float]:  # Any: a layer
    found: list[float] = x.predict().run().tolist()
    return found


FORMS: dict[str, Callable[[], tuple[Any, ...]]] = {
    "tuples": lambda: ((A, B), A),
    "tuples the other way round": lambda: ((B, A), B),
    "named": lambda: (Pair(A, B), A),
    "named, another class": lambda: (Other(A, B), B),
    "a dataclass": lambda: (State(A, B), A),
    "arrays": lambda: ((np.array([1.0, 2.0], F32), A), np.array([3.0, 4.0], F32)),
    "an array and a layer": lambda: ((A, np.array([1.0, 2.0], F32)), B),
    "a scalar": lambda: ((A, B), F32(2)),
    "a number of the trace": lambda: ((A, B), 2.0),
    "another number": lambda: ((A, B), 3.0),
    "an integer that equals it": lambda: ((A, B), 3),
    "weights": lambda: ((W, W), A),
}


@pytest.mark.parametrize("before", FORMS)
def test_a_call_is_the_function_whatever_the_one_before_it_was_like(before: str) -> None:
    step = wg.cell(difference)
    for _ in range(2):
        for way in FORMS.values():
            for args in (FORMS[before](), way()):
                assert value(step(*args)) == value(difference(*args))


def test_calls_of_one_form_are_read_the_short_way(monkeypatch: pytest.MonkeyPatch) -> None:
    step: Any = wg.cell(difference)  # Any: the inside is asked, too
    for way in FORMS.values():
        step(*way())
    monkeypatch.setattr(CELL, "leaves_of", None)  # what the long way begins with
    for args in (way() for pair in permutations(FORMS.values(), 2) for way in pair):
        step(*args)
    with pytest.raises(TypeError):
        step((A, B), 4.0)


def test_results_are_put_together_as_the_function_did() -> None:
    @wg.cell
    def several(a: Any, b: Any) -> Any:
        return Pair(a + b, (State(a, b * 2.0), ())), (a * b,)

    for _ in range(2):
        (plus, (state, empty)), (times,) = several(A, B)
        assert isinstance(state, State)
        assert (empty, state.made) == ((), "made")
        assert [*map(value, (plus, state.h, state.c, times))] == [[4, 7], [1, 2], [6, 10], [3, 10]]


def test_parameters_by_name_are_those_of_the_function() -> None:
    @wg.cell
    def minus(x1: Any, x0: Any) -> Any:
        return x1 - x0

    assert value(minus(A, B)) == value(minus(x0=B, x1=A)) == value(minus(A, x0=B)) == [-2, -3]


def test_a_cell_without_arguments() -> None:
    twice = wg.cell(lambda: W * 2.0)
    assert [wg.sum(twice()).predict().run() for _ in range(3)] == [20, 20, 20]


@pytest.mark.parametrize("wrong", [[A, B], {"h": A}, (A, [B])])
def test_what_is_no_product_is_none_after_a_product_either(wrong: Any) -> None:
    step = wg.cell(difference)
    step((A, B), A)
    with pytest.raises(ArgumentError, match="difference: an argument of a cell is"):
        step(wrong, A)


def test_the_results_know_the_line_of_the_call() -> None:
    both = wg.cell(lambda a, b: (a + b, a * b))
    here = currentframe()
    assert here is not None
    for _ in range(2):
        made = both(A, B)
        assert [x.site for x in made] == [f"{__file__}:{here.f_lineno - 1}"] * 2


def test_calls_that_are_remembered_cannot_grow_without_end(monkeypatch: pytest.MonkeyPatch) -> None:  # S13
    monkeypatch.setattr(CELL, "MOST", 4)
    step: Any = wg.cell(difference)  # Any: as above
    for _ in range(2):
        for n in range(12):
            assert value(step((A, B), float(n))) == value(difference((A, B), float(n)))
            assert sum(len(form.makes) for form in step._forms.values()) <= 4
            assert len(step._makes) <= 4


def test_what_is_remembered_dies_with_the_cell() -> None:  # S13
    class Word(str):
        """A hashable argument that can be watched."""

    @wg.cell
    def twice(x: Any, word: str) -> Any:
        return x * 2.0

    word = Word("in the trace")
    twice(A, word)
    watched = weakref.ref(word)
    gc.disable()
    try:
        del twice, word
        assert watched() is None
    finally:
        gc.enable()


def test_a_cell_that_was_called_can_be_sent_elsewhere() -> None:
    step = wg.cell(difference)
    for way in FORMS.values():
        step(*way())
    again = cloudpickle.loads(cloudpickle.dumps(step))
    for way in FORMS.values():
        assert value(again(*way())) == value(difference(*way()))


def test_the_code_of_a_pattern_refuses_other_patterns() -> None:
    form = CELL.form_for(CELL.pattern_of(((A, B), np.zeros(2, F32))))
    for other in (
        ((A, B), A),
        (A, np.zeros(2, F32)),
        ((A,), np.zeros(2, F32)),
        (Pair(A, B), np.zeros(2, F32)),
    ):
        with pytest.raises((AttributeError, KeyError, TypeError, ValueError)):
            form.key(*other)


def test_an_integer_is_frozen_once() -> None:
    word = np.array(1)
    row = wg.take(W, word, axis=0)
    word[...] = 0
    assert value(row) == [3, 4]
    (first, of), (again, _) = operand(np.array(7)), operand(np.array(7))
    assert first is again
    assert (first.shape, first.dtype, of.dtype) == ((), np.array(7).dtype, first.dtype)
    with pytest.raises(ValueError, match="WRITEABLE"):
        first.flags.writeable = True
    for kind in (np.int8, np.uint64, np.float32, np.bool):
        other, of = operand(np.array(1, kind))
        assert (other.dtype, of.dtype) == (np.dtype(kind), np.dtype(kind))
