"""The layout of any graph: arrows go down, boxes of a row stand apart, ways pass every row between."""

from __future__ import annotations

import random
from itertools import combinations

import pytest

from wengert.drawing.layout import BoxPlacement, laid_out

Arrows = list[tuple[int, int]]


def problems(widths: list[float], arrows: Arrows, layout: BoxPlacement) -> list[str]:
    """What is wrong with a layout."""
    found = []
    for a, b in combinations(range(len(widths)), 2):
        apart = abs(layout.middles[a] - layout.middles[b]) - (widths[a] + widths[b]) / 2
        if layout.rows[a] == layout.rows[b] and apart < 1.0:
            found.append(f"{a} and {b} touch")
    for (a, b), way in zip(arrows, layout.ways, strict=True):
        if [row for row, _ in way] != list(range(layout.rows[a] + 1, layout.rows[b])):
            found.append(f"the way from {a} to {b} misses a row")
        if layout.rows[a] >= layout.rows[b]:
            found.append(f"{a} to {b} goes up")
    if any(m - w / 2 < -1e-6 for m, w in zip(layout.middles, widths, strict=True)):
        found.append("a box is outside")
    return found


@pytest.mark.parametrize("seed", range(40))
def test_random_graphs(seed: int) -> None:
    source = random.Random(seed)
    count = source.randrange(1, 40)
    widths = [source.uniform(20.0, 200.0) for _ in range(count)]
    arrows = [(source.randrange(b), b) for b in range(1, count) for _ in range(source.randrange(4))]
    assert problems(widths, arrows, laid_out(widths, arrows)) == []


def test_the_check_can_fail() -> None:
    widths, arrows = [50.0, 50.0, 50.0], [(0, 2), (1, 2)]
    good = laid_out(widths, arrows)
    assert problems(widths, arrows, good) == []
    assert problems(widths, arrows, BoxPlacement(good.rows, [0.0, 10.0, 5.0], good.ways))
    assert problems(widths, arrows, BoxPlacement([1, 0, 1], good.middles, good.ways))
    assert problems(widths, arrows, BoxPlacement([0, 0, 2], good.middles, good.ways))


def test_a_chain_is_straight_and_a_diamond_symmetrical() -> None:
    chain = laid_out([40.0, 80.0, 60.0], [(0, 1), (1, 2)])
    assert chain.rows == [0, 1, 2]
    assert max(chain.middles) - min(chain.middles) < 1e-6
    diamond = laid_out([50.0] * 4, [(0, 1), (0, 2), (1, 3), (2, 3)])
    assert diamond.rows == [0, 1, 1, 2]
    assert diamond.middles[0] == pytest.approx(sum(diamond.middles[1:3]) / 2)


def test_an_operand_without_operands_stands_right_above_its_taker() -> None:
    assert laid_out([10.0] * 4, [(0, 1), (1, 3), (2, 3)]).rows == [0, 1, 1, 2]


def test_crossings_are_undone_where_an_order_without_them_exists() -> None:
    layout = laid_out([10.0] * 4, [(0, 3), (1, 2)])
    left, right = layout.middles[0] < layout.middles[1], layout.middles[3] < layout.middles[2]
    assert left is right


@pytest.mark.slow
def test_what_is_used_in_every_row_shares_its_way() -> None:
    count = 2000
    arrows = [(i, i + 1) for i in range(1, count - 1)] + [(0, i) for i in range(1, count)]
    layout = laid_out([10.0] * count, arrows)
    assert problems_of_ways(arrows, layout) == []


def problems_of_ways(arrows: Arrows, layout: BoxPlacement) -> list[str]:
    """Of the ways alone: comparing all pairs of boxes would take minutes."""
    return [
        f"{a} to {b}"
        for (a, b), way in zip(arrows, layout.ways, strict=True)
        if len(way) != layout.rows[b] - layout.rows[a] - 1
    ]
