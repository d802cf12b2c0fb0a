"""DOT text: what Graphviz draws.

Knows: DOT's shapes and what it wants escaped.
Refuses to know: graphs.

Source: "The DOT Language", the documentation of Graphviz.
"""

from __future__ import annotations

from typing import Final

from wengert.drawing.picture import Box, Boxed, Drawable, Look, nested, pictured

_SHAPES: Final = {
    Look.OPERATION: "box",
    Look.WEIGHT: "cylinder",
    Look.LITERAL: "parallelogram",
    Look.BIND: "hexagon",
    Look.CELL: "box3d",
}


def dot(x: Drawable, *, cells: bool = False, most: int = 500) -> str:
    """The graph as a digraph for Graphviz, as `mermaid`; operands stand from left to right.

    Raises ArgumentError for a graph of more boxes than `most`.

    >>> from wengert.plugins import SGD
    >>> w = SGD(learning_rate=0.1).double_weight(2.0, name="w")
    >>> print(dot(-w))
    digraph {
      graph [ordering=in, fontname="sans-serif", fontsize=11]
      node [style=filled, fontname="sans-serif", fontsize=11, color="#666677"]
      n0 [label="w\\n() float64", shape=cylinder, fillcolor="#ffe2b8"]
      n1 [label="negative\\n() float64", shape=box, fillcolor="#eef2f7", penwidth=3]
      n0 -> n1
    }
    """
    picture = pictured(x, "dot", cells, most)
    results = set(picture.results)
    lines = [
        'graph [ordering=in, fontname="sans-serif", fontsize=11]',
        'node [style=filled, fontname="sans-serif", fontsize=11, color="#666677"]',
        *nested(picture, lambda i, box: _box(i, box, i in results), _opening, "}"),
        *(f"n{source} -> n{target}" for source, target in picture.arrows),
    ]
    return "\n".join(["digraph {", *(f"  {line}" for line in lines), "}"])


def _box(number: int, box: Box, result: bool) -> str:
    label = "\\n".join(map(_escaped, box.lines))
    thick = ", penwidth=3" if result else ""
    return f'n{number} [label="{label}", shape={_SHAPES[box.look]}, fillcolor="{box.look.value}"{thick}]'


def _opening(number: int, frame: Boxed) -> str:
    return f'subgraph cluster{number} {{ label="{_escaped(frame.title)}"'


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
