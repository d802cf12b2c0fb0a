"""A plugin that replaces the array functions: here by ones that count how often each is called.

An executor takes any object with the functions of `wengert.extend.Namespace`; its runs compute with these.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, cast

import numpy as np

import wengert as wg
from wengert.extend import HOST, Namespace
from wengert.plugins import SGD, Plugin


class Counting:
    """numpy's functions, counted."""

    def __init__(self) -> None:
        self.calls = Counter[str]()

    def __getattr__(self, name: str) -> Callable[..., Any]:  # Any: functions of every type
        function = getattr(HOST, name)

        def counted(*arguments: Any, **options: Any) -> Any:
            self.calls[name] += 1
            return function(*arguments, **options)

        return counted


class Counted(Plugin):
    """Settings whose executor counts."""

    def __post_init__(self) -> None:
        self.counting = Counting()

    def executor(self) -> wg.run.Sequential:
        """Runs by counted functions."""
        return wg.run.Sequential(arrays=cast(Namespace, self.counting))


class Settings(Counted, SGD): ...


def main() -> tuple[float, float, Counter[str]]:
    """The same loss by both, and the counts."""
    settings = Settings(learning_rate=0.0)
    w = settings.array_weight(np.full((2, 3), 0.5, np.float64), name="w")
    loss = wg.sum(wg.exp(wg.matmul(np.ones((4, 2)), w)))
    usual, counted = float(loss.train().run()), float(loss.train().run(settings.executor()))
    return usual, counted, settings.counting.calls


if __name__ == "__main__":
    print("loss by numpy {}, by counted functions {}, with {}; no operation was changed".format(*main()))
