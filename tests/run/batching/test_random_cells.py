"""Cells drawn at random, by programs in one room: all results and deltas are those of rows one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.run.batching.agreement import Rowwise
from tests.run.drawn import MAKERS, Draw, small
from wengert.arrays import all_quiet
from wengert.lazy import dense
from wengert.plugins import SGD
from wengert.run.batching.kernel import BatchedKernel, Workspace

SHAPES = ((3,), (2, 3), (3, 3), (), (4, 1, 3))
WIDTHS = (5, 1, 6)
# such a cell has up to thirty operations, one after the other
TOLERANCE = {np.float64: 1e-10, np.float32: 2e-3}


class Cell:
    """A cell of a few parameters, and rows of operands for it."""

    def __init__(self, seed: int) -> None:
        draw = self.draw = Draw(seed, SGD(learning_rate=0.1))
        draw.chance, draw.numbers = np.random.default_rng(draw.structure), np.random.default_rng(seed)
        self.tolerance = TOLERANCE[draw.dtype]
        settings = SGD(learning_rate=0.1)
        data: list[Any] = [draw.array(draw.numbers, shape) for shape in SHAPES]  # Any: of either element type
        given = [settings.array_weight(x) * 1.0 for x in data]
        made: Any = wg.cell(self.body)(*given)
        self.signature = made[0].operands[0].signature
        self.weights = [w.ref.data for w in self.signature.template.captured]
        self.shared = (*(False,) * len(SHAPES), *(True,) * len(self.weights))

    def body(self, *parameters: Any) -> tuple[Any, ...]:  # Any: expressions
        pool = [*parameters, *self.draw.weights]
        for _ in range(self.draw.size // 2):
            pool.append(self.draw.pick(MAKERS)(self.draw, pool))
        made = pool[len(parameters) + len(self.draw.weights) :]
        # some as they are: views of others, too, and what others read
        return (*(small(x) for x in pool[-3:]), *(self.draw.pick(made) for _ in range(4)))

    def operands(self, rows: int) -> list[Any]:  # Any: arrays
        draw = self.draw
        own = [np.stack([draw.array(draw.numbers, shape) for _ in range(rows)]) for shape in SHAPES]
        return [*own, *self.weights]

    def near(self, found: Any, expected: Any) -> None:  # Any: arrays and numbers
        np.testing.assert_allclose(found, expected, rtol=self.tolerance, atol=self.tolerance)


def agrees(seed: int) -> None:
    cell = Cell(seed)
    launch, definition = BatchedKernel(cell.signature, cell.shared), Rowwise(cell.signature, cell.shared)
    room = Workspace(sum(WIDTHS))
    done = []
    found: dict[int, Any] = {}  # Any: sums of deltas of weights
    wanted: dict[int, Any] = {}
    with all_quiet():
        for rows in WIDTHS:
            given = cell.operands(rows)
            predicted, _ = launch.forward(rows, given, keep=False)
            for y, z in zip(predicted, definition.forward(rows, given)[0], strict=True):
                cell.near(y, z)
            done.append((rows, launch.forward(rows, given, None, room), definition.forward(rows, given)))
        for rows, (results, kept), (expected, own) in reversed(done):
            for y, z in zip(results, expected, strict=True):
                cell.near(y, z)
            deltas = [cell.draw.numbers.uniform(-1, 1, y.shape).astype(y.dtype) for y in results]
            sent, right = launch.backward(rows, kept, deltas), definition.backward(rows, own, deltas)
            for i, (a, b) in enumerate(zip(sent, right, strict=True)):
                if not cell.shared[i]:
                    assert (a is None) == (b is None)
                    if a is not None:
                        cell.near(dense(a), dense(b))
                    continue
                for x, total in ((a, found), (b, wanted)):
                    if x is not None:
                        total[i] = total.get(i, 0.0) + dense(x)
        for i, products in enumerate(room.deltas(len(cell.shared))):
            if products is not None:
                found[i] = found.get(i, 0.0) + products.dense()
    assert found.keys() == wanted.keys()
    for i, total in found.items():
        cell.near(total, wanted[i])
    assert launch.reason is None


@pytest.mark.parametrize(
    "seed", [*range(12), 35, 37, 48]
)  # 37, 48: sides of products that are views of others
def test_random_cells_agree(seed: int) -> None:
    agrees(seed)


@pytest.mark.nightly
def test_many_random_cells_agree() -> None:
    for seed in range(12, 2000):
        agrees(seed)
