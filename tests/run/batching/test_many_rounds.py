"""Values of many rounds as rows of one table: what is read after waiting comes from wherever it was computed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.often import few
from wengert.plugins import SGD
from wengert.run import Batched, Sequential

F32 = np.float32
START = np.random.default_rng(0).standard_normal((3, 3)).astype(F32)


class Model:
    """A state of two parts, as often changed as an example says, with a look at a value in between."""

    def __init__(self) -> None:
        self.w: Any = SGD(learning_rate=0.1).array_weight(START)

        @wg.cell
        def step(h: Any, c: Any) -> tuple[Any, Any]:
            return wg.tanh(h @ self.w + c), wg.sigmoid(c - h)

        @wg.cell
        def size(h: Any) -> Any:
            return wg.sum(h * h)

        self.step, self.size = step, size

    def loss(self, times: list[int], waits: bool = True) -> Any:
        @wg.differentiable
        async def example(turns: int, number: int) -> wg.ArrayLayer[tuple[()], F32]:
            h: Any = wg.lift(np.full(3, number / 7, F32))
            c: Any = wg.lift(np.arange(3, dtype=F32))
            first = h, c
            for turn in range(turns):
                h, c = self.step(h, c)
                if turn == 1:
                    first = h, c  # read again in the end, when its round is long over
                if waits and (await self.size(h)) > 1e6:
                    break
            return self.size(h + first[1]) + self.size(first[0] * c)  # type: ignore[no-any-return] # types left open

        return wg.sum(wg.stack([example(turns, i) for i, turns in enumerate(times)]))


@pytest.mark.parametrize(
    "times", few([[0, 1, 2, 3], [9, 1, 9, 4, 0, 7, 2, 2], [12] * 5, [1, 30, 1]], 1), ids=str
)
def test_values_of_all_rounds_are_found(times: list[int]) -> None:
    losses, weights = [], []
    for executor, waits in ((Sequential(), False), (Sequential(), True), (Batched(), True)):
        model = Model()
        losses.append([float(model.loss(times, waits).train().run(executor)) for _ in range(3)])
        weights.append(model.w.data)
    for found in losses[1:]:
        assert np.allclose(found, losses[0], rtol=1e-5)
    for data in weights[1:]:
        assert np.allclose(data, weights[0], atol=1e-5) and not np.allclose(data, START, atol=1e-3)


def test_a_round_reads_rows_of_several_rounds_and_values_by_themselves_in_order() -> None:
    model, seen = Model(), []

    @wg.differentiable
    async def after(number: int) -> wg.ArrayLayer[tuple[Any], F32]:
        h, c = model.step(wg.lift(np.full(3, number, F32)), wg.lift(np.zeros(3, F32)))
        for _ in range(number):
            h, c = model.step(h, c)
            seen.append(await h)
        return h  # type: ignore[no-any-return] # as above

    states = [after(number) for number in (3, 0, 2, 1)]
    together: Any = wg.stack([*states, wg.lift(np.ones(3, F32)), states[0]])
    expected = together.predict().run(Sequential())
    seen.clear()
    found = together.predict().run(Batched())
    assert np.allclose(found, expected, rtol=1e-6) and len(seen) == 6
    assert not np.allclose(expected[0], expected[1])
