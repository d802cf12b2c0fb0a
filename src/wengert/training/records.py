"""Records of a training, a step, an epoch, the history of all; and their pictures: a plot, a bar, TensorBoard.

Knows: which epoch was the best; matplotlib, rich and tensorboardX, which are imported when they are used; that a bar
is for a terminal only.
Refuses to know: how the numbers came about.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import Final, TypeAlias, final

from wengert.packages import optional


@final
@dataclass(frozen=True)
class Step:
    """One update: its number from 1 on, its epoch and the place of its batch in that, and the loss before it.

    The metrics are of its batch, before the update, where the loss gives results besides.
    """

    number: int
    epoch: int
    batch: int
    batches: int
    loss: float
    metrics: Mapping[str, float] = field(default_factory=dict)


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
    """Number of epochs since one was better than all before it by more than `min_delta`.

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
        """Speed without the time for measuring and saving; 0 before the first step."""
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
        _draw(path, list(enumerate(self.losses, first)), lines)


Points: TypeAlias = Sequence[tuple[int, float]]


def _draw(path: str | os.PathLike[str], steps: Points, lines: Mapping[str, Points]) -> None:
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


Tell: TypeAlias = Callable[[Event], object]
_OFTEN: Final = 0.1  # seconds between two pictures of the bar: 1 ms each, so 1 % of the time


@contextmanager
def progress(epochs: int | None, steps: int | None) -> Generator[Tell | None]:
    """A bar on the terminal to which errors go; None where there is no terminal, or no rich to draw it."""
    if not sys.stderr.isatty() or find_spec("rich") is None:
        yield None
        return
    console = import_module("rich.console").Console(stderr=True)
    made = import_module("rich.progress").Progress(console=console, auto_refresh=False)
    with made:
        task = made.add_task("training", total=epochs if steps is None else steps)
        due, line = 0.0, ""

        def tell(event: Event) -> None:
            nonlocal due, line
            if isinstance(event, Epoch):
                line = _line(event)
            elif time.monotonic() < due:
                return
            done = _epochs(event) if steps is None else _steps(event)
            now = [_line(event)] if isinstance(event, Step) and (event.metrics or not line) else []
            made.update(task, completed=done, description=" | ".join([*[line] * bool(line), *now]))
            made.refresh()
            due = time.monotonic() + _OFTEN

        yield tell


def _epochs(event: Event) -> float:
    """Number of epochs that are done, with a fraction."""
    return event.number + 1 if isinstance(event, Epoch) else event.epoch + (event.batch + 1) / event.batches


def _steps(event: Event) -> int:
    return event.steps if isinstance(event, Epoch) else event.number


def _line(event: Event) -> str:
    said = [f"loss {event.loss:.4f}"]
    if isinstance(event, Epoch):
        said = [f"epoch {event.number}: {said[0]}"]
        if event.validation is not None:
            said.append(f"validation {event.validation:.4f}")
    return ", ".join([*said, *(f"{name} {value:.4f}" for name, value in event.metrics.items())])


@contextmanager
def tensorboard_curves(folder: str | os.PathLike[str], after: int) -> Generator[Tell]:
    """Curves that TensorBoard shows, from step `after` on; those of later steps in the folder are not shown again."""
    package = optional("tensorboardX", "tensorboardX", "fit(..., tensorboard=)", "tensorboard")
    writer = package.SummaryWriter(os.fspath(folder), purge_step=after + 1)

    def tell(event: Event) -> None:
        if isinstance(event, Step):
            writer.add_scalar("loss/step", event.loss, event.number)
            for name, value in event.metrics.items():
                writer.add_scalar(f"metrics of a step/{name}", value, event.number)
            return
        writer.add_scalar("loss/epoch", event.loss, event.steps)
        if event.validation is not None:
            writer.add_scalar("loss/validation", event.validation, event.steps)
        for name, value in event.metrics.items():
            writer.add_scalar(f"metrics/{name}", value, event.steps)

    try:
        yield tell
    finally:
        writer.close()
