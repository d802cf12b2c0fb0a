"""A plugin that writes every weight to a file after each commit: `directory/<counter>/<name>.npy`.

A part of an optimizer may do something after a commit. Its failure reaches whoever trains; the commit stays.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from wengert.extend import Optimizer, Weight
from wengert.plugins import SGD, Names, Plugin


class Writing(Optimizer["Dumping"]):
    """Writes what has changed."""

    def committed(self, weights: Sequence[Weight]) -> None:
        super().committed(weights)
        place = self.settings.next_place()
        for weight in weights:
            data: Any = weight  # Any: the three kinds of weights have data of three types
            np.save(place / weight.name, data.data)


class Dumping(Plugin):
    """Settings whose weights are written to `directory` after each commit."""

    directory: Path
    optimizer: ClassVar[type[Optimizer]] = Writing

    def next_place(self) -> Path:
        """A new folder, whose name is the next number."""
        place = self.directory / str(sum(1 for _ in self.directory.iterdir()))
        place.mkdir()
        return place


class Settings(Dumping, Names, SGD): ...


def main() -> list[float]:
    """Three steps; returns what the files say."""
    with tempfile.TemporaryDirectory() as folder:
        w = Settings(learning_rate=0.5, directory=Path(folder)).double_weight(4.0, name="w")
        for _ in range(3):
            (w * w * 0.5).train().run()
        found = [float(np.load(Path(folder) / str(i) / "w.npy")) for i in range(3)]
    print(f"w after each step: {found}")
    print("plugin_dumping.py: a plugin wrote a file at each commit, and no training loop knew of it")
    return found


if __name__ == "__main__":
    main()
