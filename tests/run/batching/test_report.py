"""`Batched().report`: every launch is in it, those of one row too, and it reads as one table.

Knows: what a short program runs, round by round.
Refuses to know: how much time that takes.
"""

from __future__ import annotations

import numpy as np

import wengert as wg
from wengert.plugins import SGD
from wengert.run import Batched

F64 = np.float64
Vector = wg.ArrayLayer[tuple[int], F64]
WEIGHT = SGD(learning_rate=0.1).array_weight(np.eye(3, dtype=F64))


@wg.cell
def step(x: Vector) -> Vector:
    """One more turn."""
    return wg.tanh(x @ WEIGHT)


@wg.differentiable
async def turned(x: Vector, times: int) -> Vector:
    """As many turns, each of which is awaited."""
    for _ in range(times):
        x = step(x)
        await x
    return x


def counts(batched: Batched, name: str) -> list[tuple[int, int]]:
    """Launches and rows of every line of this name."""
    return [(line.launches, line.rows) for line in batched.report.lines.values() if line.name == name]


def test_launches_of_one_row_are_counted_round_by_round() -> None:
    batched = Batched()
    x = wg.lift(np.ones(3, F64))
    wg.predict((turned(x, 1), turned(x * 2.0, 3))).run(batched)
    launches, rows = map(sum, zip(*counts(batched, "step"), strict=True))
    assert (launches, rows) == (1 + 1 + 1, 2 + 1 + 1), "both, and then the longer one alone"
    assert batched.report.runs == 3
    batched.report.clear()
    step(x).predict().run(batched)
    assert counts(batched, "step") == [(1, 1)] and batched.report.runs == 1


def test_lines_that_read_alike_are_shown_as_one() -> None:
    batched = Batched()
    rows = [wg.lift(np.full(3, float(i), F64)) for i in range(4)]
    wg.gather(*(turned(x, 2) for x in rows)).run(batched)
    assert counts(batched, "step") == [(1, 4), (1, 4)], "of literals, and of layers"
    text = str(batched.report)
    (line,) = [line for line in text.splitlines() if line.startswith("step(")]
    assert line.split("  ")[0] == "step((3,) float64, (3, 3) float64)"
    assert line.removeprefix("step((3,) float64, (3, 3) float64)").split()[:4] == ["2", "8", "4.0", "1"]
    assert text.startswith("2 runs, 2 launches, ")


def test_groups_that_do_not_mix_are_counted() -> None:
    other = SGD(learning_rate=0.1).array_weight(np.eye(3, dtype=F64))

    @wg.cell
    def times(x: Vector, n: float) -> Vector:
        return x * n

    batched = Batched()
    x = wg.lift(np.ones(3, F64))
    for _ in range(2):
        wg.gather(*(times(x @ w, n) for w in (WEIGHT, other) for n in (1.0, 2.0, 3.0))).run(batched)
    apart = {line.name: line.apart for line in batched.report.lines.values()}
    assert apart["matmul"] == 2, "weights"
    assert [n for name, n in apart.items() if "times" in name] == [3], "numbers"
    assert "apart" in str(batched.report).splitlines()[1]
