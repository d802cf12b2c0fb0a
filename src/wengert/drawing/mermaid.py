"""Mermaid text: what GitHub, GitLab and notebooks draw in Markdown.

Knows: Mermaid's shapes and what it wants escaped.
Refuses to know: graphs.

Source: "Flowcharts", the documentation of Mermaid.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from wengert.drawing.picture import Box, Boxed, Drawable, Look, Picture, nested, pictured

_SHAPES: Final = {
    Look.OPERATION: '["{}"]',
    Look.WEIGHT: '[("{}")]',
    Look.LITERAL: '[/"{}"/]',
    Look.BIND: '{{{{"{}"}}}}',
    Look.CELL: '[["{}"]]',
}
_SPECIAL: Final = re.compile(r"[^\w .,:()=?/*+-]")


def mermaid(x: Drawable, *, cells: bool = False, most: int = 500) -> str:
    """The graph as a Mermaid flowchart; a tuple of expressions is one graph.

    Weights are cylinders, literals leaning boxes, binds hexagons, cells boxes with two walls; `cells=True` opens
    them. Where a box has several operands the arrows have their numbers. What only a run tells, the inside of a bind,
    is not drawn. Raises ArgumentError for a graph of more boxes than `most`.

    >>> from wengert.plugins import SGD
    >>> w = SGD(learning_rate=0.1).double_weight(2.0, name="w")
    >>> print(mermaid(w * 3.0))
    flowchart TD
      n0[("w<br/>() float64")]
      n1[/"3.0"/]
      n2["multiply<br/>() float64"]
      n0 -- 0 --> n2
      n1 -- 1 --> n2
      classDef operation fill:#eef2f7,stroke:#667,color:#111
      class n2 operation
      classDef weight fill:#ffe2b8,stroke:#667,color:#111
      class n0 weight
      classDef literal fill:#e3f4e1,stroke:#667,color:#111
      class n1 literal
      style n2 stroke-width:3px
    """
    picture = pictured(x, "mermaid", cells, most)
    return "\n".join(["flowchart TD", *(f"  {line}" for line in _lines(picture))])


def _lines(picture: Picture) -> Iterator[str]:
    yield from nested(picture, _box, _opening, "end")
    several = _several(picture)
    place: dict[int, int] = {}
    for source, target in picture.arrows:
        number = place[target] = place.get(target, -1) + 1
        yield f"n{source} -- {number} --> n{target}" if target in several else f"n{source} --> n{target}"
    for look in Look:
        names = [f"n{i}" for i, box in enumerate(picture.boxes) if box.look is look]
        if names:
            yield f"classDef {look.name.lower()} fill:{look.value},stroke:#667,color:#111"
            yield f"class {','.join(names)} {look.name.lower()}"
    for result in dict.fromkeys(picture.results):
        yield f"style n{result} stroke-width:3px"


def _box(number: int, box: Box) -> str:
    return f"n{number}{_SHAPES[box.look].format('<br/>'.join(map(_escaped, box.lines)))}"


def _opening(number: int, frame: Boxed) -> str:
    return f'subgraph c{number}["{_escaped(frame.title)}"]'


def _several(picture: Picture) -> set[int]:
    met: set[int] = set()
    again: set[int] = set()
    for _, target in picture.arrows:
        (again if target in met else met).add(target)
    return again


def _escaped(text: str) -> str:
    return _SPECIAL.sub(lambda found: f"#{ord(found[0])};", text)
