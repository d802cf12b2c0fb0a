"""`Batched().report`: every launch is in it, those of one row too, and it reads as one table.

Knows: what a short program runs, round by round.
Refuses to know: how much time that takes.
"""

from __future__ import annotations

import numpy as np

import wengert as wg
from wengert import fold as td
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
    called = "step((3,) float64, weight (3, 3) float64)"
    assert line.split("  ")[0] == called
    assert line.removeprefix(called).split()[:4] == ["2", "8", "4.0", "1"]
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


def test_a_weight_where_other_calls_have_a_layer_has_a_line_of_its_own() -> None:
    first: wg.ArrayWeight[tuple[int], F64] = SGD(learning_rate=0.1).array_weight(np.ones(3, F64))

    @wg.cell
    def more(x: wg.ArrayExpression[tuple[int], F64]) -> Vector:
        return wg.square(wg.tanh(x))

    batched = Batched()
    wg.gather(*(more(more(first)) for _ in range(3))).run(batched)
    lines = [line.split("  ")[0] for line in str(batched.report).splitlines() if "more(" in line]
    called = sorted(line.partition("more")[2] for line in lines)
    assert called == ["((3,) float64)", "(weight (3,) float64)"]


def test_what_was_not_timed_by_itself_has_no_time() -> None:
    batched = Batched()
    step(wg.lift(np.ones(3, F64))).predict().run(batched)
    (line,) = batched.report.lines.values()
    assert line.launches == 1 and line.seconds == 0.0
    (text,) = [line for line in str(batched.report).splitlines() if line.startswith("step(")]
    assert text.split()[-1] == "-"
    wg.gather(*(step(wg.lift(np.full(3, float(i), F64))) for i in range(3))).run(batched)
    (text,) = [line for line in str(batched.report).splitlines() if line.startswith("step(")]
    assert float(text.split()[-1]) > 0.0


def test_what_has_no_line_of_the_users_is_told_without_one() -> None:
    batched = Batched()
    batched.report.alone("a batch", "it failed", "", 3)
    assert str(batched.report).splitlines()[-1] == "  3 x a batch: it failed"


def test_groups_that_do_not_mix_are_counted_though_nothing_ran_together() -> None:
    @wg.cell
    def times(x: Vector, n: float) -> Vector:
        return x * n

    batched = Batched()
    wg.stack([times(wg.lift(np.full(3, n, F64)), n) for n in (1.0, 2.0, 3.0)]).predict().run(batched)
    (line,) = [line for line in batched.report.lines.values() if line.name.endswith("times")]
    assert (line.launches, line.rows, line.apart) == (3, 3, 3)


def test_the_cells_of_blocks_are_called_as_the_blocks_are() -> None:
    two = td.FC(3, wg.tanh, name="first") >> td.FC(3, wg.tanh, name="second") >> td.Function(wg.square)
    batched = Batched()
    compiler = td.Compiler.create(td.Vector(3) >> two)
    compiler.build([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).output_tensors[0].predict().run(batched)
    names = {line.name for line in batched.report.lines.values()}
    assert "td.FC 'first' >> td.FC 'second' >> td.Function square" in names
