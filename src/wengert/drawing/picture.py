"""The drawing of a graph: boxes, the arrows between them, and a cluster for each opened cell.

Knows: what is said of each node, weight and literal; that a shared node is one box; that the inside of a cell is
drawn anew for each call, and of a bind not at all, because only the run tells it.
Refuses to know: text formats and places on paper.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeAlias

from wengert.control import Do
from wengert.errors import ArgumentError
from wengert.graph.answers import Structure
from wengert.graph.kinds import Kind
from wengert.graph.node import Expression, Node
from wengert.graph.operand import lift_any, value_kind
from wengert.graph.operation import CELL, EXTERNAL
from wengert.graph.order import below
from wengert.graph.products import leaves_of
from wengert.graph.template import template_of
from wengert.graph.weights import Weight

Drawable: TypeAlias = Expression | tuple[object, ...] | Structure


class Look(Enum):
    """The kind of thing that a box stands for; the value is its fill."""

    OPERATION = "#eef2f7"
    WEIGHT = "#ffe2b8"
    LITERAL = "#e3f4e1"
    BIND = "#f6d9ee"
    CELL = "#d9e8fb"


@dataclass(frozen=True, slots=True)
class Box:
    """One node, weight or literal: what is written in it, where it was built, the cluster that it is in."""

    look: Look
    lines: tuple[str, ...]
    site: str
    frame: int | None


@dataclass(frozen=True, slots=True)
class Boxed:
    """An opened cell, perhaps in the cluster of another."""

    title: str
    outer: int | None


@dataclass(slots=True)
class Picture:
    """Operands come before what is made of them; the arrows into a box are in the order of its operands."""

    boxes: list[Box] = field(default_factory=list)
    arrows: list[tuple[int, int]] = field(default_factory=list)
    frames: list[Boxed] = field(default_factory=list)
    results: list[int] = field(default_factory=list)


def pictured(x: Drawable, who: str, cells: bool, most: int) -> Picture:
    """The picture of an expression, or of several that share nodes, with no more boxes than `most`."""
    leaves, _ = leaves_of(x)
    roots = [lift_any(leaf, who) for leaf in leaves]
    known: dict[Expression, None] = {}
    for root in roots:
        nodes, weights = below(root, known)
        known |= dict.fromkeys((*weights, *nodes))
    nodes = sorted((x for x in known if isinstance(x, Node)), key=lambda node: node.serial)
    work = _Drawing(who, cells, most, len(nodes))
    found = work.draw(nodes)
    for root in roots:
        work.picture.results += found[root] if root in found else (work.weight(root, found, None),)
    return work.picture


def nested(
    picture: Picture, box: Callable[[int, Box], str], opening: Callable[[int, Boxed], str], closing: str
) -> list[str]:
    """A line a box, those of a cluster between its two lines."""
    inside: dict[int | None, list[str]] = {}
    for number, each in enumerate(picture.boxes):
        inside.setdefault(each.frame, []).append(box(number, each))
    for number in reversed(range(len(picture.frames))):  # what is within has the greater number
        frame = picture.frames[number]
        lines = [opening(number, frame), *inside.get(number, []), closing]
        inside.setdefault(frame.outer, []).extend(lines)
    return inside.get(None, [])


_Places: TypeAlias = dict[Expression, tuple[int, ...]]  # boxes; several for a cell with several results


@dataclass(slots=True)
class _Level:
    """Nodes that are being drawn, and the call of the cell that they are the inside of."""

    nodes: Iterator[Node]
    places: _Places
    frame: int | None
    call: Node | None = None


class _Drawing:
    """A picture in the making."""

    def __init__(self, who: str, cells: bool, most: int, nodes: int) -> None:
        self.picture = Picture()
        self._who = who
        self._cells = cells
        self._most = most
        self._nodes = nodes

    def draw(self, nodes: list[Node]) -> _Places:
        """All of them; what is open is on a stack, not in recursion."""
        outermost = _Level(iter(nodes), {}, None)
        levels = [outermost]
        while levels:
            level = levels[-1]
            node = next(level.nodes, None)
            if node is None:
                levels.pop()
                if level.call is not None:
                    results = template_of(level.call.signature).results
                    levels[-1].places[level.call] = tuple(level.places[x][0] for x in results)
            elif node.signature.mode == CELL and self._cells:
                levels.append(self._opened(node, level))
            else:
                level.places[node] = (self._node(node, level),)
        return outermost.places

    def weight(self, x: Expression, places: _Places, frame: int | None) -> int:
        """The box of a weight, made when it is first met."""
        if x not in places:
            assert isinstance(x, Weight), "nodes are drawn before what is made of them"
            name = _short(x.site) if x.name == x.site else x.name
            places[x] = (self._box(Look.WEIGHT, (name, x.kind.text()), x.site, frame),)
        return places[x][0]

    def _opened(self, node: Node, level: _Level) -> _Level:
        template = template_of(node.signature)
        operands = self._operands(node, level)
        self.picture.frames.append(Boxed(_plain(node), level.frame))
        places: _Places = {x: (place,) for x, place in zip(template.inputs, operands, strict=True)}
        return _Level(iter(template.nodes), places, len(self.picture.frames) - 1, node)

    def _node(self, node: Node, level: _Level) -> int:
        signature = node.signature
        attributes = dict(signature.attributes)
        if signature.operation.name == "part" and self._is_opened(node.operands[0]):
            index: int = attributes["index"]  # one of several results
            return level.places[node.operands[0]][index]
        if signature.mode == EXTERNAL:
            (source,) = node.operands
            what = "bind" if isinstance(source, Do) else type(source).__name__
            return self._box(Look.BIND, (what, _short(node.site), *_known(node.kind)), node.site, level.frame)
        operands = self._operands(node, level)
        if signature.mode == CELL:
            place = self._box(Look.CELL, (_plain(node), *_known(node.kind)), node.site, level.frame)
        else:
            options = [f"{k}={v}" for k, v in attributes.items() if not isinstance(v, Kind)]
            lines = (signature.operation.name, *map(_cut, options), *_known(node.kind))
            place = self._box(Look.OPERATION, lines, node.site, level.frame)
        self.picture.arrows += [(operand, place) for operand in operands]
        return place

    def _is_opened(self, x: object) -> bool:
        return self._cells and isinstance(x, Node) and x.signature.mode == CELL

    def _operands(self, node: Node, level: _Level) -> list[int]:
        nodes = node.signature.nodes
        return [
            self.weight(x, level.places, level.frame) if i in nodes else self._literal(x, node, level)
            for i, x in enumerate(node.operands)
        ]

    def _literal(self, value: Any, node: Node, level: _Level) -> int:  # Any: a literal of any type
        if isinstance(value, float | int):
            lines: tuple[str, ...] = (_cut(repr(value)),)
        else:
            lines = ("literal", value_kind(value).text())
        return self._box(Look.LITERAL, lines, node.site, level.frame)

    def _box(self, look: Look, lines: tuple[str, ...], site: str, frame: int | None) -> int:
        boxes = self.picture.boxes
        if len(boxes) >= self._most:
            raise ArgumentError(
                f"{self._who}: a graph of {self._nodes:,} nodes has more than {self._most:,} boxes, weights and "
                "literals included, and nobody would read that; draw a part of it, make a @cell of what repeats, or "
                f"say how many, as in {self._who}(x, most={max(2 * self._nodes, 2 * self._most)})"
            )
        boxes.append(Box(look, lines, site, frame))
        return len(boxes) - 1


def _plain(node: Node) -> str:
    """The name of a cell without the function that it was written in."""
    return node.signature.operation.name.rpartition("<locals>.")[2]


def _known(kind: Kind) -> tuple[str, ...]:
    """Shape and dtype; nothing where only the run tells both."""
    text = kind.text()
    return () if text == "? ?" else (text,)


def _short(site: str) -> str:
    return os.path.basename(site)


def _cut(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}..."
