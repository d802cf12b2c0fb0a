"""A picture as SVG, for notebooks and pages: no other program and no network is needed.

Knows: how boxes and arrows are painted, in light and in dark surroundings.
Refuses to know: where they go.
"""

from __future__ import annotations

from html import escape
from itertools import pairwise
from typing import Final

from wengert.drawing.layout import BoxPlacement, laid_out
from wengert.drawing.picture import Box, Drawable, Look, Picture, pictured
from wengert.errors import ArgumentError
from wengert.graph.node import Expression
from wengert.graph.weights import Weight

_MOST_SHOWN: Final = 120  # boxes that a notebook shows by itself
_LETTER, _LINE, _PAD, _GAP, _MARGIN = 6.7, 15.0, 8.0, 34.0, 8.0
_STYLE: Final = (
    "text{font:11px ui-monospace,Menlo,Consolas,monospace;fill:#111;text-anchor:middle}"
    ".o{stroke:#667;stroke-width:1}.r{stroke:#223;stroke-width:2.5}"
    "path{fill:none;stroke:#889;stroke-width:1.2}.h{fill:#889;stroke:none}"
)


def svg(x: Drawable, *, cells: bool = False, most: int = 300) -> str:
    """The graph as an SVG picture, operands above what is made of them, in their order from left to right.

    Weights have round ends, literals lean, binds are hexagons, cells have two walls, results a thick border; pointing
    at a box shows where it was built. `cells=True` shows what cells do, under their names.
    Raises ArgumentError for a graph of more boxes than `most`.

    >>> from wengert.plugins import SGD
    >>> w = SGD(learning_rate=0.1).double_weight(2.0, name="w")
    >>> svg(w * 3.0).count("<g ")
    3
    """
    return painted(pictured(x, "svg", cells, most))


def shown(x: Expression) -> str | None:
    """The picture of a layer in a notebook; None for a weight and for a graph that is too large."""
    if isinstance(x, Weight):
        return None
    try:
        return svg(x, most=_MOST_SHOWN)
    except ArgumentError:  # too many boxes: the text says what it is
        return None


def painted(picture: Picture) -> str:
    """The SVG text of a picture."""
    lines = [_lines(picture, box) for box in picture.boxes]
    widths = [max(map(len, text)) * _LETTER + 4 * _PAD for text in lines]
    heights = [len(text) * _LINE + _PAD for text in lines]
    layout = laid_out(widths, picture.arrows)
    tops = _tops(layout, heights)
    places = [
        (middle, (sum(tops[row]) - height) / 2, width, height)
        for middle, row, width, height in zip(layout.middles, layout.rows, widths, heights, strict=True)
    ]
    whole = max((m + w / 2 for m, _, w, _ in places), default=0.0), tops[-1][1] if tops else 0.0
    results = set(picture.results)
    boxes = [
        _box(box, text, place, i in results)
        for i, (box, text, place) in enumerate(zip(picture.boxes, lines, places, strict=True))
    ]
    arrows = [_arrow(way, ends, tops) for way, ends in zip(layout.ways, _ends(picture, places), strict=True)]
    width, height = (round(n + 2 * _MARGIN) for n in whole)
    box = f"{-_MARGIN} {-_MARGIN} {width} {height}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="{box}">'
        f"<style>{_STYLE}</style>{''.join(arrows)}{''.join(boxes)}</svg>"
    )


_Place = tuple[float, float, float, float]  # middle, top, width, height
_Point = tuple[float, float]


def _lines(picture: Picture, box: Box) -> tuple[str, ...]:
    return box.lines if box.frame is None else (*box.lines, f"in {picture.frames[box.frame].title}")


def _tops(layout: BoxPlacement, heights: list[float]) -> list[_Point]:
    """Top and bottom of each row."""
    rows = [0.0] * (max(layout.rows, default=-1) + 1)
    for row, height in zip(layout.rows, heights, strict=True):
        rows[row] = max(rows[row], height)
    found = []
    top = 0.0
    for height in rows:
        found.append((top, top + height))
        top += height + _GAP
    return found


def _ends(picture: Picture, places: list[_Place]) -> list[tuple[_Point, _Point]]:
    """The two ends of each arrow: side by side on the box, in the order of the operands."""
    into: dict[int, int] = {}
    for _, target in picture.arrows:
        into[target] = into.get(target, 0) + 1
    met: dict[int, int] = {}
    found = []
    for source, target in picture.arrows:
        number = met[target] = met.get(target, 0) + 1
        middle, top, width, _ = places[target]
        x = middle + (number / (into[target] + 1) - 0.5) * width * 0.8
        start = places[source]
        found.append(((start[0], start[1] + start[3]), (x, top)))
    return found


def _arrow(way: list[tuple[int, float]], ends: tuple[_Point, _Point], tops: list[_Point]) -> str:
    (x, y), (end, bottom) = ends
    points = [(x, y), *((at, tops[row][side]) for row, at in way for side in (0, 1)), (end, bottom - 5)]
    path = [f"M{x:.1f} {y:.1f}"]
    for i, ((a, b), (c, d)) in enumerate(pairwise(points)):
        half = (b + d) / 2
        path.append(f"V{d:.1f}" if i % 2 else f"C{a:.1f} {half:.1f} {c:.1f} {half:.1f} {c:.1f} {d:.1f}")
    head = f"M{end - 3:.1f} {bottom - 6:.1f}L{end:.1f} {bottom:.1f}L{end + 3:.1f} {bottom - 6:.1f}Z"
    return f'<path d="{"".join(path)}"/><path class="h" d="{head}"/>'


def _box(box: Box, lines: tuple[str, ...], place: _Place, result: bool) -> str:
    middle, top, width, height = place
    left, right, bottom = middle - width / 2, middle + width / 2, top + height
    kind = "r" if result else "o"
    text = "".join(
        f'<text x="{middle:.1f}" y="{top + _PAD / 2 + (i + 0.75) * _LINE:.1f}">{escape(line)}</text>'
        for i, line in enumerate(lines)
    )
    if box.look in (Look.LITERAL, Look.BIND):
        lean = _PAD
        corners = (
            [(left + lean, top), (right, top), (right - lean, bottom), (left, bottom)]
            if box.look is Look.LITERAL
            else [
                *((left + lean, top), (right - lean, top), (right, top + height / 2)),
                *((right - lean, bottom), (left + lean, bottom), (left, top + height / 2)),
            ]
        )
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
        outline = f'<polygon class="{kind}" fill="{box.look.value}" points="{points}"/>'
    else:
        corner = {Look.WEIGHT: height / 2, Look.OPERATION: 4.0}.get(box.look, 0.0)
        outline = (
            f'<rect class="{kind}" fill="{box.look.value}" x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" '
            f'height="{height:.1f}" rx="{corner:.1f}"/>'
        )
    walls = (
        f'<path d="M{left + 4:.1f} {top:.1f}V{bottom:.1f}M{right - 4:.1f} {top:.1f}V{bottom:.1f}"/>'
        if box.look is Look.CELL
        else ""
    )
    return f'<g class="{box.look.name.lower()}"><title>{escape(box.site)}</title>{outline}{walls}{text}</g>'
