"""Every executor agrees with the interpreter on every program: values, trainings, derivatives, failures, interrupts.

Plans, segments and threads have its bits (S9); `Batched` agrees to rounding, and has the same bits in every run.
A new executor is one more row of `EXECUTORS`, and a new operation one more line of the table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from tests.executors import histories
from tests.executors.histories import ACTS, OPTIMIZERS, History, Told, bits, near, same
from tests.executors.table import PROGRAMS, Step, Weights, outputs_of
from tests.often import examples
from tests.run.counting import Boom
from tests.run.divided import dividing
from tests.run.planned import eager
from wengert.graph.operation import OPERATIONS
from wengert.graph.order import below
from wengert.run import Batched, Parallel, Sequential
from wengert.run.compiled.segment import CellLoops
from wengert.run.sequential import Engine, Interpreter

Agree = Callable[[Sequence[Told], Sequence[Told]], None]
EXECUTORS: Final[dict[str, tuple[Callable[[], Any], Agree]]] = {  # Any: executors of every class
    "plans": (lambda: eager(worth=2)[0], same),
    "threads": (lambda: dividing(worth=2), same),
    "cells": (lambda: Interpreter(Engine(loops=CellLoops(worth=0))), same),
    "batched": (Batched, near),
    "batched on threads": (lambda: Batched(threads=2), near),
    "plans as they come": (Sequential, same),
    "plans without stacks": (lambda: Sequential(stacked=False), same),
    "threads as they come": (lambda: Parallel(threads=2), same),
    "threads without plans": (lambda: Parallel(threads=2, compiled=False), same),
}
EARLY: Final = ("plans", "threads", "batched")  # whose programs are there after two runs
QUESTIONS: Final = "ppppoooogggg" + "ttttkkkssss"
FAILURES: Final = "fbij" + "tttt" + "fbuij" + "tt"
NUMBERS: Final[dict[str, Any]] = {"float64": np.float64, "float32": np.float32}  # Any: element types


@cache
def definition(names: tuple[str, ...], acts: str, gated: bool, optimizer: str, numbers: str) -> list[Told]:
    """What the interpreter gives."""
    return History(names, Sequential(compiled=False), optimizer, NUMBERS[numbers]).told(acts, gated)


def agrees(
    executor: str, names: tuple[str, ...], acts: str, gated: bool, optimizer: str, numbers: str
) -> None:
    """Check one history of one network."""
    make, agree = EXECUTORS[executor]
    if agree is near and optimizer == "SGD of rate 1":
        optimizer = "SGD"  # a training that diverges multiplies what rounding left, until no digit agrees
    found = History(names, make(), optimizer, NUMBERS[numbers]).told(acts, gated)
    wanted = definition(names, acts, gated, optimizer, numbers)
    if agree is near and numbers == "float32":
        near(found, wanted, definition(names, acts, gated, optimizer, "float64"))
    else:
        agree(found, wanted)


@pytest.mark.parametrize("executor", EARLY)
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_question(name: str, executor: str) -> None:
    agrees(executor, (name,), QUESTIONS, False, "Adam", "float64")


@pytest.mark.parametrize("executor", EARLY)
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_failure(name: str, executor: str) -> None:
    agrees(executor, (name,), FAILURES, True, "guarded", "float32")


class Celled(History):
    """The programs as calls of a cell each, but for those that wait for values."""

    def outputs(self, step: Step, gated: bool) -> list[Any]:  # Any: expressions of every kind
        found = super().outputs(step, gated)
        try:
            return outputs_of(wg.cell(lambda: tuple(found))())
        except wg.errors.ArgumentError:
            return found


@pytest.mark.parametrize("optimizer", ["SGD", "Adagrad"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_program_as_a_cell(name: str, optimizer: str) -> None:
    """Called by its program from the first time on, and of the bits of the interpreter."""
    found, wanted = (
        Celled((name,), executor, optimizer, np.float32).told("pogtktkkg" + "fb" + "tt")
        for executor in (EXECUTORS["cells"][0](), Sequential(compiled=False))
    )
    same(found, wanted)


SHARED: Final = (
    *("steps that are other weights", "a weight alone", "a weight used twice", "rows of two tables"),
    *("views", "sums in place with a view", "numbers and arrays", "a rule that gives what it gets"),
)


@pytest.mark.parametrize("executor", EARLY)
@pytest.mark.parametrize("name", SHARED)
def test_steps_that_are_data_which_others_read(name: str, executor: str) -> None:
    """At a rate of 1 a step is the delta itself, and that may be another weight's data, or a view of it."""
    agrees(executor, (name,), "tttttt", False, "SGD of rate 1", "float64")


several = st.lists(st.sampled_from(sorted(PROGRAMS)), min_size=1, max_size=3, unique=True).map(tuple)
again = st.tuples(st.sampled_from(sorted(ACTS)), st.integers(1, 10)).map(lambda of: of[0] * of[1])
acts = st.lists(again, min_size=1, max_size=6).map("".join)


@pytest.mark.parametrize("executor", EXECUTORS)
@examples(8)
@given(
    names=several,
    acts=acts,
    gated=st.booleans(),
    optimizer=st.sampled_from(sorted(OPTIMIZERS)),
    data=st.data(),
)
def test_any_history_of_several_programs(
    executor: str, names: tuple[str, ...], acts: str, gated: bool, optimizer: str, data: st.DataObject
) -> None:
    agrees(executor, names, acts, gated, optimizer, data.draw(st.sampled_from(sorted(NUMBERS))))


@pytest.mark.parametrize("name", PROGRAMS)
def test_batched_has_the_same_bits_in_every_run(name: str) -> None:
    history = History((name,), Batched())
    first = [bits(history.act(act, 0, False)) for act in "pog"]
    history.told("ppogg")
    assert [bits(history.act(act, 0, False)) for act in "pog"] == first


def test_every_operation_is_in_the_table() -> None:
    met = set()
    for network in PROGRAMS.values():
        weights = Weights(OPTIMIZERS["SGD"](), np.float64)
        for root in outputs_of(network(weights)(Step(0, np.float64))):
            met |= {node.signature.operation.name for node in below(root, {})[0]}
    ours = {name for name, operation in OPERATIONS.items() if hasattr(wg, name)}
    # takes a matrix of SciPy: see tests/ops; is of arrays on devices: see tests/run/test_on_device.py
    assert sorted(ours - met) == ["sparse_matmul", "to_device"]


# -- the check itself ---------------------------------------------------------------------------------------


def told(executor: Any) -> list[Told]:  # Any: of every class
    return History(("two operands",), executor).told("ppt")


def test_another_rule_is_found() -> None:
    with pytest.raises(AssertionError, match="act 0"):
        same(told(Sequential(rules={wg.tanh: lambda case, x: x})), told(Sequential()))


def test_another_last_bit_is_found() -> None:
    off = told(Sequential(rules={wg.tanh: lambda case, x: np.nextafter(np.tanh(x), 2.0)}))
    near(off, told(Sequential()))
    with pytest.raises(AssertionError, match="act 0"):
        same(off, told(Sequential()))


def test_a_failure_that_changes_something_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    history = History(("two operands",), Sequential())

    def failure(act: str) -> Exception:
        wg.sum(history.weights[0]).train().run()
        return Boom(act)

    monkeypatch.setattr(histories, "Boom", failure)
    with pytest.raises(AssertionError, match="f changed something"):
        history.told("f")


def test_other_words_of_a_failure_are_found() -> None:
    wanted = Told("f", "Boom", ("f",))
    for other in (wanted._replace(values=("g",)), wanted._replace(raised="KeyError")):
        with pytest.raises(AssertionError, match="act 0"):
            same([other], [wanted])


def test_digits_that_a_training_has_lost_are_no_mistake_and_a_wrong_step_is_one() -> None:
    """Three steps on derivatives multiply what rounding left by 15 each."""
    names, acts = ("a cell in a chain",), "ssss"
    agrees("batched on threads", names, acts, False, "SGD", "float32")
    wanted = definition(names, acts, False, "SGD", "float32")
    exact = definition(names, acts, False, "SGD", "float64")
    for act in range(1, len(acts)):
        loss, w, *others = wanted[act].values
        wrong = [*wanted]
        wrong[act] = wanted[act]._replace(values=(loss, w * np.float32(1.01), *others))
        with pytest.raises(AssertionError, match="Not equal"):
            near(wrong, wanted, exact)
