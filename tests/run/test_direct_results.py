"""Results of `@differentiable` functions: several layers at once, one or none, one or another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import pytest

import wengert as wg
from wengert.control import Executor
from wengert.plugins import SGD

Host = np.ndarray[Any, np.dtype[np.float64]]
Vector = wg.ArrayLayer[Any, np.float64]
X = TypeVar("X")
CALLS: list[str] = []


class Step(NamedTuple):
    """A state and an output."""

    state: Vector
    output: wg.DoubleLayer


@dataclass(frozen=True)
class Line(Generic[X]):
    """A product that a user has made."""

    slope: X
    height: X


@wg.differentiable
async def step(state: Vector, x: wg.DoubleLayer) -> Step:
    """A recurrent step whose form depends on values."""
    CALLS.append("step")
    seen = wg.tanh(state * 2.0) if await x > 0.0 else state * 0.5
    return Step(seen, x * x)


@wg.differentiable
async def pair(x: wg.DoubleLayer) -> tuple[wg.DoubleLayer, tuple[wg.DoubleLayer, wg.FloatLayer]]:
    return x * 2.0, (x * 3.0, wg.lift(np.float32(await x)))


@wg.differentiable
async def line(x: wg.DoubleLayer) -> Line[wg.DoubleLayer]:
    return Line(x + 1.0, x * x)


@wg.differentiable
async def positive(x: wg.DoubleLayer) -> wg.DoubleLayer | None:
    CALLS.append("positive")
    return x * 3.0 if await x > 0.0 else None


@wg.differentiable
async def either(x: wg.DoubleLayer, y: Vector) -> wg.DoubleLayer | Vector:
    return x if await x > 0.0 else y * x


@wg.differentiable
async def chosen(x: wg.DoubleLayer) -> wg.DoubleLayer:
    found = await positive(x)
    return x * x if found is None else found


@wg.differentiable
async def reduced(x: wg.DoubleLayer, y: Vector) -> Vector:
    found = await either(x, y)
    return wg.sum(found) if isinstance(found, wg.ArrayLayer) else wg.sum(y * 0.0 + found)


EXECUTORS: dict[str, Callable[[], Executor]] = {
    "sequential": wg.run.Sequential,
    "loops": lambda: wg.run.Sequential(compiled=False),
    "parallel": lambda: wg.run.Parallel(threads=2),
    "batched": wg.run.Batched,
}


@pytest.mark.parametrize("name", EXECUTORS)
def test_several_layers_are_made_by_one_call_and_pass_deltas(name: str) -> None:
    run = EXECUTORS[name]()
    for _ in range(10):  # with programs at last, where there are any
        for sign in (1.0, -1.0):
            w = SGD(learning_rate=1.0).array_weight(np.array([0.5, -0.25], np.float64))
            x = SGD(learning_rate=1.0).double_weight(sign * 3.0)
            CALLS.clear()
            made = step(w * 1.0, x * 1.0)
            assert type(made) is Step and isinstance(made.output, wg.DoubleLayer)
            loss = wg.sum(made.state) * 2.0 + made.output
            (dw, dx) = wg.gradients(loss, (w, x)).run(run)
            assert CALLS == ["step"]
            slope = 2.0 * (1.0 - np.tanh(w.data * 2.0) ** 2) if sign > 0 else np.full(2, 0.5)
            np.testing.assert_allclose(dw, 2.0 * slope, rtol=1e-14)
            assert dx == 6.0 * sign
            assert wg.gradients(made.output, (w,)).run(run)[0].tolist() == [0.0, 0.0]  # of the other part


def test_tuples_in_tuples_and_dataclasses_keep_their_form() -> None:
    double, (triple, single) = pair(wg.lift(2.0))
    assert wg.predict((double, (triple, single))).run() == (4.0, (6.0, np.float32(2.0)))
    w = SGD(learning_rate=1.0).double_weight(3.0)
    made = line(w * 1.0)
    assert type(made) is Line and isinstance(made.slope, wg.DoubleLayer)
    assert (made.slope * made.height).predict().run() == 36.0
    assert wg.gradients(made.slope * made.height, (w,)).run() == (9.0 + 4.0 * 6.0,)


@pytest.mark.parametrize("name", EXECUTORS)
def test_none_or_a_layer_is_told_in_the_run(name: str) -> None:
    run = EXECUTORS[name]()
    for _ in range(10):
        for x, value, slope in ((2.0, 6.0, 3.0), (-2.0, 4.0, -4.0)):
            w = SGD(learning_rate=1.0).double_weight(x)
            CALLS.clear()
            assert chosen(w * 1.0).predict().run(run) == value
            assert CALLS == ["positive"]
            assert wg.gradients(chosen(w * 1.0), (w,)).run(run) == (slope,)
    assert positive(wg.lift(-1.0)).run(run) is None


def test_one_of_two_kinds_of_layers() -> None:
    y = SGD(learning_rate=1.0).array_weight(np.array([1.0, 2.0], np.float64))
    for x, value, slopes in ((2.0, 4.0, [0.0, 0.0]), (-2.0, -6.0, [-2.0, -2.0])):
        loss = reduced(wg.lift(x), y * 1.0)
        assert loss.predict().run() == value
        assert wg.gradients(wg.sum(loss), (y,)).run()[0].tolist() == slopes


def test_a_result_that_is_not_as_stated_is_refused() -> None:
    @wg.differentiable
    async def one(x: wg.DoubleLayer) -> tuple[wg.DoubleLayer, wg.DoubleLayer]:
        wrong: Any = x
        return wrong  # type: ignore[no-any-return] # a mistake

    @wg.differentiable
    async def other(x: wg.DoubleLayer) -> tuple[wg.DoubleLayer, wg.FloatLayer]:
        wrong: Any = (x, x)
        return wrong  # type: ignore[no-any-return] # a mistake

    @wg.differentiable
    async def many(x: wg.DoubleLayer) -> tuple[wg.DoubleLayer, ...]:
        return (x, x)

    with pytest.raises(wg.errors.ArgumentError, match="not as its annotation states: a tuple of 2 layers"):
        one(wg.lift(1.0))[0].predict().run()
    with pytest.raises(wg.errors.DTypeError, match="stated is FloatLayer"):
        other(wg.lift(1.0))[0].predict().run()
    with pytest.raises(wg.errors.ArgumentError, match="a tuple of unknown length is no result"):
        many(wg.lift(1.0))


def test_a_part_that_may_be_none_is_refused() -> None:
    async def half(x: wg.DoubleLayer) -> tuple[wg.DoubleLayer, wg.DoubleLayer | None]:
        return (x, None)

    build = wg.differentiable(half)  # type: ignore[arg-type] # so it is for mypy

    with pytest.raises(wg.errors.ArgumentError, match="one of several results cannot be a union or None"):
        build(wg.lift(1.0))
