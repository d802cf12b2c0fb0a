"""Examples that wait for values run in rounds: what all of them wait for is one batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.run.batching.trees import Layer, close, sequential
from tests.run.counting import Boom
from wengert import DoubleLayer, run
from wengert.control import Executor
from wengert.errors import ShapeError
from wengert.plugins import SGD


class Decoder:
    """Steps until its own value says stop; every example takes another number of steps."""

    def __init__(self) -> None:
        self.w = SGD(learning_rate=0.01).double_weight(0.9)
        w = self.w

        @wg.cell
        def step(x: DoubleLayer) -> DoubleLayer:
            return wg.tanh(x * w) + x * 0.5 + 0.7

        @wg.differentiable
        async def decode(x: DoubleLayer) -> DoubleLayer:
            for _ in range(8):
                if await x > 2.0:
                    break
                x = step(x)
            return x * w

        self.step, self.decode = step, decode

    def loss(self, count: int = 6) -> Layer:
        total: Layer = 0.0
        for i in range(count):
            total = total + self.decode(wg.lift(0.2 * i))
        return total


def both(ask: Any) -> tuple[Any, Any]:  # Any: a function of an executor, and what it gives
    return ask(sequential()), ask(run.Batched())


def test_decoders_that_stop_by_themselves_batch_across_examples() -> None:
    def model(executor: Executor) -> list[float]:
        decoder = Decoder()
        losses = [float(decoder.loss().train().run(executor)) for _ in range(3)]
        return [*losses, decoder.w.data]

    close(*both(model))
    batched, decoder = run.Batched(), Decoder()
    decoder.loss().predict().run(batched)
    steps = [line for line in batched.report.lines.values() if "step" in line.name]
    assert sum(line.rows for line in steps) > 2 * sum(line.launches for line in steps)


def test_gather_inside_an_example_lets_its_branches_wait_together() -> None:
    def model(executor: Executor) -> list[float]:
        decoder = Decoder()

        @wg.differentiable
        async def example(x: DoubleLayer) -> DoubleLayer:
            p, q = await wg.gather(decoder.decode(x), decoder.decode(x * 2.0))
            r = decoder.decode(x + decoder.w)
            return r * p + (await (r * q)) * decoder.w

        loss = example(wg.lift(0.2)) + example(wg.lift(0.4))
        return [loss.train().run(executor), decoder.w.data]

    close(*both(model))


def test_several_inner_binds_of_one_example() -> None:
    def model(executor: Executor) -> list[Any]:
        decoder = Decoder()
        several: Any = tuple(decoder.decode(wg.lift(0.1 * i)) for i in range(4))
        found = wg.predict(several).run(executor)
        assert wg.gather(*several).run(executor) == pytest.approx(found)
        (delta,) = wg.gradients(several[0] * several[1], (decoder.w,)).run(executor)
        return [*found, delta]

    close(*both(model))


def test_a_bind_that_is_used_twice_runs_once() -> None:
    w = SGD(learning_rate=0.1).double_weight(2.0)
    ran: list[int] = []

    @wg.differentiable
    async def once(x: DoubleLayer) -> DoubleLayer:
        ran.append(1)
        await x
        return x * w

    y = once(w * 1.0)
    assert (y * y + y).predict().run(run.Batched()) == 20.0
    assert len(ran) == 1


def test_a_failing_example_stops_the_update_of_all() -> None:
    decoder = Decoder()

    @wg.differentiable
    async def broken(x: DoubleLayer) -> DoubleLayer:
        await x
        raise Boom("in this example")

    with pytest.raises(Boom, match="in this example") as caught:
        (decoder.loss(3) + broken(decoder.w * 1.0)).train().run(run.Batched())
    assert decoder.w.data == 0.9
    assert any(__file__ in note for note in caught.value.__notes__)


def test_several_failing_examples_come_as_one_group() -> None:
    @wg.differentiable
    async def broken(x: DoubleLayer) -> DoubleLayer:
        raise Boom(f"at {await x}")

    several: Any = tuple(broken(wg.lift(float(i))) for i in range(3))
    with pytest.raises(ExceptionGroup) as caught:
        wg.predict(several).run(run.Batched())
    assert sorted(map(str, caught.value.exceptions)) == ["at 0.0", "at 1.0", "at 2.0"]


def test_an_example_recovers_from_the_failure_of_another() -> None:
    @wg.differentiable
    async def broken(x: DoubleLayer) -> DoubleLayer:
        raise Boom(f"at {await x}")

    @wg.differentiable
    async def careful(x: DoubleLayer) -> DoubleLayer:
        try:
            await broken(x)
        except Boom:
            return x * 2.0
        return x

    assert wg.predict((careful(wg.lift(1.0)), careful(wg.lift(2.0)))).run(run.Batched()) == (2.0, 4.0)


def test_a_bind_that_waits_for_itself_is_an_error() -> None:
    held: list[DoubleLayer] = []

    @wg.differentiable
    async def circle() -> DoubleLayer:
        await held[0]
        return held[0]

    held.append(circle())
    with pytest.raises(RecursionError, match="waits for itself"):
        held[0].predict().run(run.Batched())


def test_shared_descriptions_are_computed_once_for_all_that_wait() -> None:
    ran: list[int] = []
    w = SGD(learning_rate=0.1).double_weight(2.0)

    async def work() -> float:
        ran.append(1)
        return await (w * 3.0)

    shared = wg.Do.coroutine(work).shared()

    @wg.differentiable
    async def user(x: DoubleLayer) -> DoubleLayer:
        return x * (await shared)

    assert wg.predict((user(w * 1.0), user(w * 2.0))).run(run.Batched()) == (12.0, 24.0)
    assert len(ran) == 1


def test_resources_of_examples_are_released_once() -> None:
    from contextlib import contextmanager

    opened: list[str] = []

    @contextmanager
    def resource() -> Any:
        opened.append("open")
        yield 3.0
        opened.append("close")

    @wg.differentiable
    async def user(x: DoubleLayer) -> DoubleLayer:
        held: float = await wg.Do.resource(resource)
        await x
        return x * held

    assert wg.predict((user(wg.lift(1.0)), user(wg.lift(2.0)))).run(run.Batched()) == (3.0, 6.0)
    assert opened == ["open", "open", "close", "close"]


@pytest.mark.slow
def test_a_long_chain_of_binds_needs_no_stack() -> None:
    w = SGD(learning_rate=0.1).double_weight(1.0)

    @wg.differentiable
    async def step(x: DoubleLayer) -> DoubleLayer:
        await x
        return x * 1.0

    x: Layer = w * 1.0
    for _ in range(3_000):
        x = step(x)
    assert wg.gradients(x, (w,)).run(run.Batched()) == (1.0,)


def test_arrays_awaited_are_not_changed_later() -> None:
    w = SGD(learning_rate=0.1).array_weight(np.ones(3))
    seen: list[Any] = []

    @wg.differentiable
    async def user(x: Any) -> wg.ArrayLayer[tuple[int], np.float64]:
        y: wg.ArrayLayer[tuple[int], np.float64] = x * w
        seen.append(await y)
        return y

    batched = run.Batched()
    for _ in range(2):
        total = wg.sum(user(np.full(3, 2.0)) + user(np.full(3, 3.0)))
        total.train().run(batched)
    np.testing.assert_array_equal(seen[0], np.full(3, 2.0))


def test_shapes_that_only_the_run_tells_are_batched_once_it_has_told_them() -> None:
    def model(executor: Executor) -> list[Any]:
        w = SGD(learning_rate=0.1).array_weight(np.eye(3, dtype=np.float64) * 0.5)

        @wg.differentiable
        async def grown(x: Any) -> wg.ArrayLayer[Any, np.float64]:
            y: wg.ArrayLayer[Any, np.float64] = wg.tanh(x @ w)
            return y @ w if await wg.sum(y) > 0.5 else y

        total: Layer = 0.0
        for i in range(5):
            total = total + wg.sum(wg.square(grown(np.full(3, i * 0.4, np.float64)) + 1.0))
        return [float(total.train().run(executor)), w.data]

    batched = run.Batched()
    close(model(sequential()), model(batched))
    assert not batched.report.unbatched
    assert [line.rows for line in batched.report.lines.values() if line.name == "square"] == [5]


def test_shapes_that_do_not_fit_in_the_run_say_where() -> None:
    @wg.differentiable
    async def any_shape(n: int) -> wg.ArrayLayer[Any, np.float64]:
        return wg.lift(np.ones(n, np.float64))

    total = any_shape(2) + any_shape(3)
    with pytest.raises(ShapeError) as caught:
        wg.sum(total).predict().run(run.Batched())
    assert __file__ in str(caught.value)
