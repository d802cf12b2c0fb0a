"""Layered layout of a graph: rows by depth, few crossings, each box near its neighbours.

Knows: the layered method: an arrow over several rows goes through a point in each of them; rows are ordered by the
mean of their neighbours; places in a row are the least squares that keep its order.
Refuses to know: what a box says, and how it is painted.

Source: Sugiyama, Tagawa, Toda (1981), "Methods for visual understanding of hierarchical system structures".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

_SWEEPS: Final = 12
_APART: Final = 24.0  # between two boxes of a row

Arrow = tuple[int, int]


@dataclass(frozen=True, slots=True)
class BoxPlacement:
    """For each box its row and the middle of its place in it; for each arrow the same of the points on its way."""

    rows: list[int]
    middles: list[float]
    ways: list[list[tuple[int, float]]]


def laid_out(widths: Sequence[float], arrows: Sequence[Arrow]) -> BoxPlacement:
    """Boxes of these widths; an arrow goes from a smaller number to a greater one."""
    rows = _rows(len(widths), arrows)
    chains, links, all_rows = _through(rows, arrows)
    all_widths = [*widths, *([8.0] * (len(all_rows) - len(widths)))]
    lines: list[list[int]] = [[] for _ in range(max(all_rows, default=-1) + 1)]
    for point, row in enumerate(all_rows):
        lines[row].append(point)
    above: list[list[int]] = [[] for _ in all_rows]
    under: list[list[int]] = [[] for _ in all_rows]
    for a, b in links:
        under[a].append(b)
        above[b].append(a)
    _order(lines, above, under)
    middles = _middles(lines, all_widths, above, under)
    ways = [[(all_rows[point], middles[point]) for point in chain] for chain in chains]
    return BoxPlacement(rows, middles[: len(widths)], ways)


def _rows(count: int, arrows: Sequence[Arrow]) -> list[int]:
    """Below all operands; what has none stands right above the first that takes it."""
    rows = [0] * count
    for a, b in sorted(arrows, key=lambda arrow: arrow[1]):
        rows[b] = max(rows[b], rows[a] + 1)
    made = {b for _, b in arrows}
    first: dict[int, int] = {}
    for a, b in arrows:
        first[a] = min(first.get(a, rows[b]), rows[b])
    for a, row in first.items():
        if a not in made:
            rows[a] = row - 1
    return rows


def _through(rows: Sequence[int], arrows: Sequence[Arrow]) -> tuple[list[list[int]], list[Arrow], list[int]]:
    """The points on the way of each arrow, one in each row between; the links between them; all rows.

    Arrows from one box share their points: a weight that is used in every row would else have squares of them.
    """
    chains: list[list[int]] = []
    links: dict[Arrow, None] = {}
    all_rows = list(rows)
    shared: list[list[int]] = [[] for _ in rows]
    for a, b in arrows:
        points = shared[a]
        more = range(rows[a] + 1 + len(points), rows[b])
        points += range(len(all_rows), len(all_rows) + len(more))
        all_rows += more
        chain = points[: rows[b] - rows[a] - 1]
        chains.append(chain)
        links |= dict.fromkeys(pairwise([a, *chain, b]))
    return chains, list(links), all_rows


def _order(lines: list[list[int]], above: list[list[int]], under: list[list[int]]) -> None:
    """Sort each row by the mean place of its neighbours, downwards and upwards in turn."""
    at = {point: float(i) for line in lines for i, point in enumerate(line)}
    for sweep in range(_SWEEPS):
        neighbours, order = (above, lines) if sweep % 2 == 0 else (under, lines[::-1])
        for line in order:
            wanted = {x: _mean([at[n] for n in neighbours[x]], at[x]) for x in line}
            line.sort(key=wanted.__getitem__)
            at.update({point: float(i) for i, point in enumerate(line)})


def _middles(
    lines: list[list[int]], widths: Sequence[float], above: list[list[int]], under: list[list[int]]
) -> list[float]:
    middles = [0.0] * len(widths)
    for line in lines:
        _place(line, dict.fromkeys(line, 0.0), widths, middles)
    for sweep in range(_SWEEPS):
        for line in lines if sweep % 2 == 0 else lines[::-1]:
            wanted = {x: _mean([middles[n] for n in (*above[x], *under[x])], middles[x]) for x in line}
            _place(line, wanted, widths, middles)
    left = min((m - w / 2 for m, w in zip(middles, widths, strict=True)), default=0.0)
    return [m - left for m in middles]


def _place(
    line: Sequence[int], wanted: dict[int, float], widths: Sequence[float], middles: list[float]
) -> None:
    """Middles as near to the wanted ones as the order and the widths allow: pooling of adjacent violators."""
    offsets = [0.0]
    for a, b in pairwise(line):
        offsets.append(offsets[-1] + (widths[a] + widths[b]) / 2 + _APART)
    pools: list[
        tuple[float, int]
    ] = []  # the mean of what its members want, without offsets, and their number
    for point, offset in zip(line, offsets, strict=False):
        mean, count = wanted[point] - offset, 1
        while pools and pools[-1][0] >= mean:
            other, number = pools.pop()
            mean, count = (mean * count + other * number) / (count + number), count + number
        pools.append((mean, count))
    found = [mean for mean, count in pools for _ in range(count)]
    for point, place, offset in zip(line, found, offsets, strict=False):
        middles[point] = place + offset


def _mean(numbers: Sequence[float], otherwise: float) -> float:
    return sum(numbers) / len(numbers) if numbers else otherwise
