"""The picture of a training's losses.

Knows: matplotlib, which it imports when it draws.
Refuses to know: where the numbers are from.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from wengert.data.packages import optional

Points: TypeAlias = Sequence[tuple[int, float]]


def draw(path: str | os.PathLike[str], steps: Points, lines: Mapping[str, Points]) -> None:
    """Losses of single steps as a pale line behind named ones; a file whose ending says which format."""
    figure = optional("matplotlib.figure", "matplotlib", "History.plot", "plot").Figure(layout="constrained")
    axes = figure.add_subplot()
    if steps:
        axes.plot(*zip(*steps, strict=True), color="0.8", linewidth=0.8, label="loss of a step")
    for name, points in lines.items():
        if points:
            axes.plot(*zip(*points, strict=True), marker=".", label=name)
    axes.set_xlabel("step")
    axes.set_ylabel("loss")
    if steps or any(lines.values()):
        axes.legend()
    figure.savefig(os.fspath(path))
