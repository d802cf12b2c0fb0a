"""Calls of cells by programs: the bits and words of the interpreter, and nothing is left of a cell that is gone."""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import reduce
from operator import add
from typing import Any
from weakref import ref

import numpy as np
import pytest

import wengert as wg
from tests.run.counting import registry_kept
from wengert import nn, run
from wengert.plugins import SGD, AdamW, FailOnNonFinite, LearningRate
from wengert.run.compiled.segment import CellLoops
from wengert.run.sequential import Engine, Interpreter

Layer = Any  # an expression of any kind


def by_programs(worth: int = 0) -> Interpreter:
    """An executor that has no other programs."""
    return Interpreter(Engine(loops=CellLoops(worth)))


PLAIN = run.Sequential(compiled=False)


def weight(*shape: int, settings: Any = None) -> Layer:
    data = np.random.default_rng(3).normal(size=shape).astype(np.float32)
    return (settings or SGD(learning_rate=0.1)).array_weight(data)


def array(*shape: int, seed: int = 0) -> Layer:
    data: Any = np.random.default_rng(seed).normal(size=shape).astype(np.float32)
    return wg.lift(data)


def trained(executor: Any, of: Callable[[Layer], Layer], steps: int = 3) -> list[bytes]:
    """Losses, and the weight after the steps."""
    w = weight(4, 4)
    losses = [of(w).train().run(executor) for _ in range(steps)]
    return [x.tobytes() for x in (*losses, w.data)]


def asked(executor: Any, operations: int) -> int:
    """How often a call asks the rule of a user's, forward and back, after some others; the rule promises to be pure."""
    calls: list[Any] = []

    def rule(case: Any, x: Any) -> Any:
        calls.append(x)
        return x * x * x

    with registry_kept():
        cube: Any = wg.extend.elementwise(lambda case, g, y, x: 3.0 * g * x * x, pure=True)(rule)
    w = weight(4)
    cell = wg.cell(lambda x: reduce(lambda y, _: y * w, range(operations - 1), cube(x)))
    for seed in range(3):
        wg.sum(cell(array(4, seed=seed))).train().run(executor)
    calls.clear()
    wg.sum(cell(array(4))).train().run(executor)
    return len(calls)


def test_a_call_by_a_program_asks_no_rule() -> None:
    assert asked(PLAIN, 5) == 1
    assert asked(by_programs(), 5) == 0


def test_a_cell_has_programs_when_its_calls_have_cost_as_much() -> None:
    assert asked(by_programs(worth=1_000_000), 5) == 1


def test_a_cell_of_two_operations_stays_as_it_is() -> None:
    assert asked(by_programs(), 2) == 1


def test_arrays_that_lie_otherwise_go_node_by_node() -> None:
    """A sum over another layout has other last bits; operands and deltas, forward and back."""

    def told(executor: Any) -> list[bytes]:
        forth = wg.cell(lambda x: wg.sum(wg.tanh(x * x), axis=1) + 0.5)
        back = wg.cell(lambda x, w: wg.tanh(x * 0.5) * w)
        w, x = weight(300, 1), array(300, 300)
        found = wg.predict(forth(wg.permute_dims(x, (1, 0)))).run(executor)
        loss = wg.sum(wg.permute_dims(back(x, w), (1, 0)) * array(300, 300, seed=2))
        (delta,) = wg.gradients(loss, (w,)).run(executor)
        return [found.tobytes(), delta.tobytes()]

    assert told(by_programs()) == told(PLAIN)


def test_a_failure_has_the_words_of_the_interpreter() -> None:
    w = weight(4, 4)

    @wg.cell
    def row(x: Layer, at: Any) -> Layer:
        return wg.tanh(wg.take(w, at, axis=0) + wg.square(x))

    def told(executor: Any) -> list[str]:
        wg.sum(row(array(4), np.array(1))).train().run(executor)
        with pytest.raises(IndexError) as failure:
            wg.sum(row(array(4), np.array(9))).train().run(executor)
        return [str(failure.value), *failure.value.__notes__]

    assert told(by_programs()) == told(PLAIN)
    assert "test_cell_programs.py" in "".join(told(by_programs()))


class Guarded(FailOnNonFinite, AdamW, LearningRate): ...


def test_what_is_not_finite_is_found_within_calls() -> None:
    def notes(executor: Any) -> str:
        w = weight(4, settings=Guarded(learning_rate=0.1, weight_decay=0.0))
        cell = wg.cell(lambda x: wg.sqrt(wg.square(x * w)) * w)
        with pytest.raises(wg.errors.NonFiniteError) as failure:
            wg.sum(cell(cell(array(4) * 0.0))).train().run(executor)
        return "".join(failure.value.__notes__)

    assert notes(by_programs()) == notes(PLAIN) != ""


def test_nothing_is_left_of_a_cell_that_is_gone() -> None:
    executor = by_programs()
    gc.collect()
    gc.disable()
    try:
        w = weight(4, 4)
        gone = ref(w)

        def step(w: Layer) -> None:
            cell = wg.cell(lambda x: wg.tanh(wg.tanh(x @ w) + x))
            for _ in range(2):
                wg.sum(cell(array(2, 4))).train().run(executor)

        step(w)
        del w
        assert gone() is None
    finally:
        gc.enable()


def test_programs_that_have_to_go_are_made_anew() -> None:
    def of(w: Layer) -> Layer:
        return reduce(add, [wg.sum(cell(array(4, seed=i), w)) for i, cell in enumerate(cells)])

    cells = [wg.cell(lambda x, w, k=k: wg.tanh(wg.tanh(x @ w) + float(k))) for k in range(3)]
    before = run.set_cache_limit(0)
    try:
        assert trained(by_programs(), of, steps=5) == trained(PLAIN, of, steps=5)
    finally:
        run.set_cache_limit(before)


def test_results_that_get_no_delta_or_come_in_another_order() -> None:
    def of(w: Layer) -> Layer:
        @wg.cell
        def several(x: Layer) -> tuple[Layer, Layer, Layer]:
            y = wg.tanh(x @ w)
            return y, wg.square(y) @ w, y

        a, b, c = several(array(4))
        d, e, _ = several(a)
        f, _, g = several(b)
        return wg.sum(d) * 0.5 + wg.sum(c * f) + wg.sum(wg.tanh(e)) + wg.sum(g * a)

    assert trained(by_programs(), of) == trained(PLAIN, of)


def test_a_recurrent_network_goes_back_by_the_program_of_its_steps() -> None:
    """Its deltas of all steps are lines of one array, some of them sums of lines themselves."""
    found = []
    for executor in (by_programs(), PLAIN):
        layer = nn.LSTM.make(SGD(learning_rate=0.1), 4, 4, seed=0)
        x = np.random.default_rng(0).normal(size=(5, 3, 4)).astype(np.float32)
        losses = [wg.mean(wg.square(layer(x)[0])).train().run(executor) for _ in range(3)]
        found.append([a.tobytes() for a in (*losses, *(w.data for w in nn.weights(layer).values()))])
    assert found[0] == found[1]
