"""Sums of parts, and arrays that are joined, lie in one place: the deltas of all steps of a recurrent network."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import wengert as wg
from tests.run.planned import eager, plain
from wengert.arrays import HOST
from wengert.arrays.abstract import Aval
from wengert.arrays.kernels import joined
from wengert.graph.order import below
from wengert.nn import LSTM
from wengert.plugins import SGD
from wengert.program.memory import Placement
from wengert.program.program import Eqn, Program, Var
from wengert.program.simplify import Pieces
from wengert.run.compiled.lowered import finished, lowered_in_steps
from wengert.run.compiled.program import buffers_of, simplified

ROWS, SIZE = 3, 4


def _program(loss: Any) -> Program:  # Any: a layer
    low = finished(lowered_in_steps(*below(loss, {})))
    return simplified(low.program(low.updates()))


def _losses(executor: wg.run.Sequential, steps: int) -> list[float]:
    """Losses of an LSTM over so many steps."""
    layer = LSTM.make(SGD(learning_rate=0.5), SIZE, SIZE, seed=0)
    x = np.random.default_rng(0).standard_normal((steps, ROWS, SIZE)).astype(np.float32)
    return [float(wg.mean(wg.square(layer(x)[1][0])).train().run(executor)) for _ in range(20)]


@pytest.mark.parametrize("steps", [1, 2, 3, 7, 9])
def test_a_recurrent_network_has_the_bits_of_the_interpreter(steps: int) -> None:
    assert _losses(wg.run.Sequential(native=False), steps) == _losses(
        wg.run.Sequential(compiled=False), steps
    )


def test_the_deltas_of_all_steps_are_one_array_and_the_rows_of_one_product() -> None:
    steps = 9
    layer = LSTM.make(SGD(learning_rate=0.5), SIZE, SIZE, seed=0)
    p = _program(wg.mean(wg.square(layer(np.ones((steps, ROWS, SIZE), np.float32))[1][0])))
    assert not any(e.function is joined for e in p.eqns)
    whole = [e for e in p.eqns if isinstance(e.function, Pieces)]
    shapes = [e.result.shape for e in whole]
    assert shapes.count((ROWS, 4 * SIZE)) == steps
    assert shapes.count((steps, ROWS, 4 * SIZE)) == 1
    assert shapes.count((steps * ROWS, SIZE)) == 1  # the hidden states, of which the first is a literal
    assert len(shapes) == steps + 2
    placement = buffers_of(p)
    parts = [x for e in whole for x in e.arguments]
    assert len(parts) - len(placement.pieces) == 1
    added = [e for e in p.eqns if repr(e.arguments[1:]) == "(0.0,)"]
    assert len(added) == 4 * steps  # to each gate of each step, once


def test_a_product_writes_no_part_of_a_line() -> None:
    """It needs memory in one piece."""
    x, w = (Var(Aval(shape, np.dtype(np.float32))) for shape in ((3, 2), (2, 2)))
    parts = [Var(Aval((3, 2), np.dtype(np.float32))) for _ in range(2)]
    whole = Var(Aval((3, 4), np.dtype(np.float32)))
    keys = tuple((slice(None), slice(at, at + 2)) for at in (0, 2))
    eqns = [Eqn(np.dot, (x, w), {}, parts[0]), Eqn(np.tanh, (x,), {}, parts[1])]
    placement = Placement([*eqns, Eqn(Pieces(keys, whole=True), tuple(parts), {}, whole)], (), [whole], {})
    assert placement.pieces == {parts[1]: (whole, 1)}


def test_a_sum_of_which_there_is_a_view_is_no_part_of_a_line() -> None:
    """A view of what is reshaped would be a copy, made once with the buffers and never again."""

    def trained(executor: wg.run.Sequential) -> list[Any]:  # Any: numbers and arrays
        settings, chance = SGD(learning_rate=0.1), np.random.default_rng(0)
        w: Any = settings.array_weight(chance.standard_normal((4, 6)))  # Any: with its layers
        v: Any = settings.array_weight(chance.standard_normal((12,)))
        losses = []
        for _ in range(20):
            z = wg.tanh(w)
            a, b = z[:, :3] + wg.reshape(wg.tanh(v), (4, 3)), z[:, 3:]
            top, bottom, right = wg.square(a[:2]), wg.square(2.0 * a[2:]), wg.square(b)
            losses.append((wg.sum(top) + wg.sum(bottom) + wg.sum(right)).train().run(executor))
        return [*losses, w.data, v.data]

    for a, b in zip(trained(eager()[0]), trained(plain()), strict=True):
        assert_array_equal(a, b)


def test_a_sum_of_parts_of_another_shape_is_no_part() -> None:
    """Derivatives as layers may be added up with other shapes, so that one is added to each line of the other."""
    settings = SGD(learning_rate=0.1)
    a, b = settings.array_weight(np.ones((4, 3))), settings.array_weight(np.ones((1, 3)))
    executor = eager()[0]
    for _ in range(3):
        lines = wg.gradients(wg.sum(wg.square(a[1:])), [a]).layers[0]
        line = wg.gradients(wg.sum(wg.square(b[:1])), [b]).layers[0]
        found = (lines + line).predict().run(executor)
        assert found.tolist() == [[2.0] * 3, *[[4.0] * 3] * 3]


@pytest.mark.parametrize("seen", [False, True])
def test_a_part_of_a_line_has_no_other_reader_and_no_product_in_it(seen: bool) -> None:
    """What else reads a value has been told that it is in C order; and lines of such a part are as little."""
    line, f32 = slice(None), np.dtype(np.float32)
    x, product, rest = (Var(Aval((2, 2), f32)) for _ in range(3))
    half, other = (Var(Aval((4, 2), f32)) for _ in range(2))
    whole, view = Var(Aval((4, 4), f32)), Var(Aval((8,), f32))
    by_rows = Pieces(((slice(0, 2), line), (slice(2, 4), line)), whole=True)
    by_columns = Pieces(((line, slice(0, 2)), (line, slice(2, 4))), whole=True)
    eqns = [
        Eqn(np.dot, (x, x), {}, product),
        Eqn(np.tanh, (x,), {}, rest),
        Eqn(by_rows, (product, rest), {}, half),
        *[Eqn(HOST.reshape, (half, (8,)), {}, view)] * seen,
        Eqn(np.tanh, (other,), {}, made := Var(Aval((4, 2), f32))),
        Eqn(by_columns, (half, made), {}, whole),
    ]
    found = {made: (whole, 1), rest: (half, 1)}
    found |= {product: (half, 0)} if seen else {half: (whole, 0)}
    assert Placement(eqns, (), [whole], {}).pieces == found


def test_parts_that_a_matrix_multiplies_have_a_program() -> None:
    def trained(executor: wg.run.Sequential) -> list[Any]:  # Any: arrays
        settings, chance = SGD(learning_rate=0.1), np.random.default_rng(0)
        weights = [settings.array_weight(chance.standard_normal((SIZE, n))) for n in (2 * SIZE, 2)]
        for _ in range(20):
            a, b = wg.split(np.ones((ROWS, SIZE)) @ weights[0], 2, axis=-1)
            wg.sum(wg.tanh(a @ weights[1]) * wg.tanh(b @ weights[1])).train().run(executor)
        return [w.data for w in weights]

    found, expected = map(trained, (wg.run.Sequential(native=False), wg.run.Sequential(compiled=False)))
    assert all(map(np.array_equal, found, expected))


def _zeros(executor: wg.run.Sequential) -> bytes:
    x = SGD(learning_rate=0.1).array_weight(np.ones(2 * SIZE))
    found = b""
    for _ in range(20):
        h = x * 2.0
        a, b = wg.split(h, 2)
        found = wg.gradients(wg.sum(a * -0.0) + wg.sum(b * 3.0), (h,)).run(executor)[0].tobytes()
    return found


def test_a_sum_of_parts_has_no_negative_zero() -> None:
    assert _zeros(wg.run.Sequential(native=False)) == _zeros(wg.run.Sequential(compiled=False))


def test_what_leaves_is_in_no_memory_that_the_next_run_writes() -> None:
    x, executor = SGD(learning_rate=0.1).array_weight(np.ones((2, SIZE))), wg.run.Sequential()
    y = wg.lift(np.ones((2, SIZE)))

    def asked(scale: float) -> tuple[Any, ...]:  # Any: arrays
        h = x * scale
        a, b = wg.split(h, 2)
        rows = wg.concat([wg.tanh(a), wg.tanh(b)])
        delta = wg.gradients(wg.sum(wg.square(a)) + wg.sum(b * y[:1]), (h,)).run(executor)[0]
        return delta, rows.predict().run(executor)

    for i in range(20):
        first, second = asked(i), asked(i + 1)
        assert_array_equal(first[0], [[2 * i] * SIZE, [1] * SIZE])
        assert_array_equal(first[1], np.tanh(np.full((2, SIZE), float(i))))
        assert_array_equal(second[0][0], [2 * i + 2] * SIZE)
