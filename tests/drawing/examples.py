"""Graphs to be drawn, and what a drawing says read back."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np

import wengert as wg
from wengert.drawing import Drawable, dot, mermaid, svg
from wengert.plugins import SGD

F32 = np.float32
SETTINGS = SGD(learning_rate=0.1)


def weight(name: str, *shape: int) -> wg.ArrayWeight[Any]:
    return SETTINGS.array_weight(np.ones(shape, F32), name=name)


def chain() -> wg.ArrayLayer:
    """Three literals and weights, four operations."""
    hidden = wg.relu(wg.matmul(np.ones((4, 3), F32), weight("hidden", 3, 2)))
    return wg.softmax(wg.matmul(hidden, weight("top", 2, 5)), axis=1)


def diamond(depth: int) -> wg.DoubleLayer:
    """A weight, a literal and 3 operations a step, of which one is shared."""
    x = SETTINGS.double_weight(2.0, name="w") * 3.0
    for _ in range(depth):
        x = wg.sin(x) * wg.exp(x)
    return x


@wg.cell
def expert(x: wg.ArrayLayer) -> wg.ArrayLayer:
    return wg.tanh(x) * 2.0


@wg.cell
def gates(x: wg.ArrayLayer) -> tuple[wg.ArrayLayer, wg.ArrayLayer]:
    gate = wg.sigmoid(expert(x))
    return gate, 1.0 - gate


@wg.differentiable
async def chosen(x: wg.ArrayLayer) -> wg.ArrayLayer:
    return wg.exp(x)


def gated() -> wg.ArrayLayer:
    """Cells with one and with two results, one in the other, and a bind."""
    x = wg.matmul(np.ones((4, 3), F32), weight("w", 3, 2))
    left, right = gates(x)
    return left * expert(x) + right * chosen(x)


class Drawn(NamedTuple):
    """Boxes by name, with their text; arrows by the names of their ends."""

    boxes: dict[str, tuple[str, ...]]
    arrows: list[tuple[str, str]]

    @property
    def first(self) -> list[str]:
        """The first line of each box, sorted."""
        return sorted(lines[0] for lines in self.boxes.values())

    @property
    def spoken(self) -> list[tuple[str, str]]:
        """The arrows by first lines, sorted."""
        return sorted((self.boxes[a][0], self.boxes[b][0]) for a, b in self.arrows)


def of_mermaid(text: str) -> Drawn:
    boxes = re.findall(r'^ *(n\d+)[\[({/]+"(.*)"[\])}/]+$', text, re.MULTILINE)
    arrows = re.findall(r"^ *(n\d+) --(?: \d+ --)?> (n\d+)$", text, re.MULTILINE)
    read = {
        name: tuple(
            re.sub(r"#(\d+);", lambda found: chr(int(found[1])), line) for line in label.split("<br/>")
        )
        for name, label in boxes
    }
    return Drawn(read, arrows)


def of_dot(text: str) -> Drawn:
    boxes = re.findall(r'^ *(n\d+) \[label="((?:[^"\\]|\\.)*)", shape=', text, re.MULTILINE)
    arrows = re.findall(r"^ *(n\d+) -> (n\d+)$", text, re.MULTILINE)
    read = {
        name: tuple(re.sub(r"\\(.)", r"\1", line) for line in re.split(r"(?<!\\)\\n", label))
        for name, label in boxes
    }
    return Drawn(read, arrows)


def of_svg(text: str) -> list[tuple[str, ...]]:
    """The text of each box; what is wrong with the XML is an error."""
    space = "{http://www.w3.org/2000/svg}"
    root = ElementTree.fromstring(text)
    return [tuple(x.text or "" for x in box.iter(f"{space}text")) for box in root.iter(f"{space}g")]


def both(x: Drawable, *, cells: bool = False) -> list[Drawn]:
    """What the two texts say."""
    reading: list[tuple[Callable[..., str], Callable[[str], Drawn]]] = [(mermaid, of_mermaid), (dot, of_dot)]
    return [read(write(x, cells=cells)) for write, read in reading]


__all__ = [
    "F32",
    "Drawn",
    "both",
    "chain",
    "diamond",
    "gated",
    "of_dot",
    "of_mermaid",
    "of_svg",
    "svg",
    "weight",
]
