"""A program to be profiled, with a line for each thing that a profile tells apart."""

from __future__ import annotations

from pathlib import Path

SCRIPT = """\
import sys
import wengert as wg
from wengert.plugins import SGD

w = SGD(learning_rate=0.1).double_weight(2.0, name="w")

@wg.cell
def doubled(x: wg.DoubleLayer) -> wg.DoubleLayer:
    return wg.tanh(x) * 2.0

@wg.differentiable
async def chosen(x: wg.DoubleLayer) -> wg.DoubleLayer:
    return wg.exp(x) if await x < 100.0 else x

for _ in range(12):
    loss = wg.square(doubled(w * 3.0) - chosen(wg.sin(w)))
    loss.train().run()
print("arguments", sys.argv[1:], __name__)
if sys.argv[1:] == ["fail"]:
    raise ValueError("the script's own")
if sys.argv[1:] == ["exit"]:
    sys.exit(7)
"""
LINES = {"tanh": 9, "exp": 13, "sin": 16, "square": 16}
WEIGHT = 5


def written(folder: Path) -> Path:
    """The program as a file."""
    path = folder / "program.py"
    path.write_text(SCRIPT)
    return path
