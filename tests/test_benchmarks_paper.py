"""The recipe of the paper's tables runs, and has a row for each number of columns and a rate for each of threads."""

from __future__ import annotations

import pytest

from benchmarks.network import Network
from benchmarks.paper import COLUMNS, THREADS, row, table


@pytest.mark.slow
@pytest.mark.parametrize("skip", [True, False])
def test_a_table_has_all_its_rates(skip: bool) -> None:
    title, head, *rows = table(skip, rounds=1, warm=1, seconds=0.0).splitlines()
    assert title.startswith("one of 20" if skip else "all 20")
    assert len(head.split()) == 1 + 2 * len(THREADS) + 3
    assert [int(line.split()[0]) for line in rows] == [*COLUMNS]
    assert all(float(cell) > 0.0 for line in rows for cell in line.split())


def test_rounds_are_those_of_each_number_of_threads() -> None:
    assert [len(rates) for rates in row(Network(1), (1, 2), rounds=2, warm=0, seconds=0.0)] == [2, 2]
