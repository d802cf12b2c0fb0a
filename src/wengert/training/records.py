"""Records of a training: a step, an epoch, and the history of all.

Knows: which epoch was the best.
Refuses to know: how it came about, and how it is drawn.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, final

from wengert.training.plotting import draw


@final
@dataclass(frozen=True)
class Step:
    """One update: its number from 1 on, its epoch and the place of its batch in that, and the loss before it."""

    number: int
    epoch: int
    batch: int
    batches: int
    loss: float


@final
@dataclass(frozen=True)
class Epoch:
    """One pass over the data: its number from 0 on, the steps so far, and means over all examples.

    `validation` is the loss on the data that were given for that, None without; the metrics are of those data.
    Seconds are those of the steps, and do not take part in comparison.
    """

    number: int
    steps: int
    loss: float
    validation: float | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    seconds: float = field(default=0.0, compare=False)

    @property
    def watched(self) -> float:
        """Loss to make small: that of validation, or without one that of training."""
        return self.loss if self.validation is None else self.validation


Event: TypeAlias = Step | Epoch


def best_of(epochs: Sequence[Epoch]) -> Epoch | None:
    """The first of those with the least loss on the validation data, or without such data in training."""
    return min(epochs, key=lambda epoch: epoch.watched, default=None)


def stale(epochs: Sequence[Epoch], min_delta: float) -> int:
    """How many epochs have passed since one was better than all before it by more than `min_delta`.

    >>> stale([Epoch(i, i, loss) for i, loss in enumerate([1.0, 0.5, 0.45, 0.6])], 0.1)
    2
    """
    least, since = float("inf"), 0
    for epoch in epochs:
        better = epoch.watched < least - min_delta
        least, since = (epoch.watched, 0) if better else (least, since + 1)
    return since


@final
@dataclass(frozen=True)
class History:
    """All that a training has told: the epochs, and the losses of its last million steps.

    With `stopped_early` no epoch was better for as long as `patience` allows. `seconds` are those of all steps,
    also of those before it was resumed.
    """

    epochs: tuple[Epoch, ...]
    losses: tuple[float, ...]
    steps: int
    stopped_early: bool = False
    seconds: float = field(default=0.0, compare=False)

    @property
    def best(self) -> Epoch | None:
        """The epoch with the least validation loss, or without validation with the least loss."""
        return best_of(self.epochs)

    @property
    def steps_per_second(self) -> float:
        """How fast it went, without the time for measuring and saving; 0 before the first step."""
        return self.steps / self.seconds if self.seconds else 0.0

    def plot(self, path: str | os.PathLike[str]) -> None:
        """Draw the learning curves into a file, whose ending says which format.

        Raises PackageError without matplotlib, which is in the extra `plot`.
        """
        lines = {"loss": [(epoch.steps, epoch.loss) for epoch in self.epochs]}
        for epoch in self.epochs:
            if epoch.validation is not None:
                lines.setdefault("validation loss", []).append((epoch.steps, epoch.validation))
        first = self.steps - len(self.losses) + 1
        draw(path, list(enumerate(self.losses, first)), lines)
