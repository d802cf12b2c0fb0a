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

    The metrics are of its batch, before the update, where the loss gives results besides. `batches` is None where the
    data do not say how many there are. `rates` has the learning rate of the step by the name of the settings' class,
    for all weights that are below the first loss of the epoch.
    """

    number: int
    epoch: int
    batch: int
    batches: int | None
    loss: float
    metrics: Mapping[str, float] = field(default_factory=dict)
    rates: Mapping[str, float] = field(default_factory=dict)


@final
@dataclass(frozen=True)
class Epoch:
    """One pass over the data: its number from 0 on, the steps so far, and means over all examples.

    `validation` is the loss on the data that were given for that, None without; the metrics are of those data.
    Seconds are those of the steps, and do not take part in comparison. `rates` are those of the last step.
    """

    number: int
    steps: int
    loss: float
    validation: float | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    seconds: float = field(default=0.0, compare=False)
    rates: Mapping[str, float] = field(default_factory=dict)

    @property
    def watched(self) -> float:
        """Loss to make small: that of validation, or without one that of training."""
        return self.loss if self.validation is None else self.validation


Event: TypeAlias = Step | Epoch


@final
@dataclass(frozen=True)
class Watch:
    """Number of an epoch that says how good it is: a loss, or the metric `monitor`, to be small or, "max", great."""

    monitor: str | None = None
    mode: str = "min"

    def of(self, epoch: Epoch) -> float:
        """The number, as one that is better when it is less; KeyError for a metric that the epoch lacks."""
        value = epoch.watched if self.monitor is None else epoch.metrics[self.monitor]
        return value if self.mode == "min" else -value

    def best(self, epochs: Sequence[Epoch]) -> Epoch | None:
        """The first of the best ones."""
        return min(epochs, key=self.of, default=None)


WATCH: Final = Watch()


def stale(epochs: Sequence[Epoch], min_delta: float, watch: Watch = WATCH) -> int:
    """Number of epochs since one was better than all before it by more than `min_delta`.

    >>> stale([Epoch(i, i, loss) for i, loss in enumerate([1.0, 0.5, 0.45, 0.6])], 0.1)
    2
    """
    of = watch.of
    least, since = float("inf"), 0
    for epoch in epochs:
        better = of(epoch) < least - min_delta
        least, since = (of(epoch), 0) if better else (least, since + 1)
    return since


@final
@dataclass(frozen=True)
class History:
    """All that a training has told: the epochs, and the losses of its last million steps.

    With `stopped_early` no epoch was better for as long as `patience` allows. `seconds` are those of all steps,
    also of those before it was resumed. Where `stale` is not 0, deltas were of weights up to so many steps older than
    those that they changed, so another run of the same has other numbers.
    """

    epochs: tuple[Epoch, ...]
    losses: tuple[float, ...]
    steps: int
    stopped_early: bool = False
    seconds: float = field(default=0.0, compare=False)
    watch: Watch = field(default=WATCH, compare=False)
    stale: int = 0

    def __repr__(self) -> str:
        """One line, however long the training was.

        >>> History((Epoch(0, 9, 0.5), Epoch(1, 18, 0.25)), (0.5,) * 18, 18)
        <History of 18 steps; epoch 1: loss 0.2500>
        """
        last = f"; {_line(self.epochs[-1])}" if self.epochs else ""
        early = ", stopped early" if self.stopped_early else ""
        stale = f", at most {self.stale} stale" if self.stale else ""
        return f"<History of {self.steps} steps{stale}{early}{last}>"

    @property
    def best(self) -> Epoch | None:
        """The best epoch by what `fit` has monitored: the validation loss, or without validation the loss."""
        return self.watch.best(self.epochs)

    def columns(self) -> dict[str, list[float | None]]:
        """The epochs as columns of equal lengths, for a frame: `pandas.DataFrame(history.columns())`.

        Metrics are under their names, learning rates under `rate` and the name of the settings' class; None where an
        epoch has none.

        >>> found = History((Epoch(0, 9, 0.5, metrics={"f1": 0.25}), Epoch(1, 18, 0.25)), (), 18).columns()
        >>> list(found), found["loss"], found["f1"]
        (['epoch', 'steps', 'loss', 'validation', 'seconds', 'f1'], [0.5, 0.25], [0.25, None])
        """
        names = ("number", "steps", "loss", "validation", "seconds")
        found: dict[str, list[float | None]] = {
            "epoch" if name == "number" else name: [getattr(epoch, name) for epoch in self.epochs]
            for name in names
        }
        for epoch_names, prefix in (("metrics", ""), ("rates", "rate ")):
            known = dict.fromkeys(name for epoch in self.epochs for name in getattr(epoch, epoch_names))
            for name in known:
                found[f"{prefix}{name}"] = [getattr(epoch, epoch_names).get(name) for epoch in self.epochs]
        return found

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
def progress(
    epochs: int | None, steps: int | None, workers: Callable[[], int | None] = lambda: None
) -> Generator[Tell]:
    """A bar on the terminal to which errors go, or in a notebook; without these or rich a line an epoch."""
    notebook = "ipykernel" in sys.modules and find_spec("ipywidgets") is not None
    if not (sys.stderr.isatty() or notebook) or find_spec("rich") is None:
        yield _tell_epochs
        return
    console = import_module("rich.console").Console(stderr=not notebook)
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
            count = workers()
            who = [] if count is None else [f"{count} worker{'s' * (count != 1)}"]
            made.update(task, completed=done, description=" | ".join([*[line] * bool(line), *now, *who]))
            made.refresh()
            due = time.monotonic() + _OFTEN

        yield tell


def _tell_epochs(event: Event) -> None:
    if isinstance(event, Epoch):
        print(_line(event), file=sys.stderr, flush=True)


def _epochs(event: Event) -> float:
    """Number of epochs that are done, with a fraction, where the number of batches is known."""
    if isinstance(event, Epoch):
        return event.number + 1
    return event.epoch + (0.0 if event.batches is None else (event.batch + 1) / event.batches)


def _steps(event: Event) -> int:
    return event.steps if isinstance(event, Epoch) else event.number


def _line(event: Event) -> str:
    said = [f"loss {event.loss:.4f}"]
    if isinstance(event, Epoch):
        said = [f"epoch {event.number}: {said[0]}"]
        if event.validation is not None:
            said.append(f"validation {event.validation:.4f}")
    said += [f"{name} {value:.4f}" for name, value in event.metrics.items()]
    if isinstance(event, Epoch):
        said += [f"rate {rate:.3g}" for rate in dict.fromkeys(event.rates.values())]
    return ", ".join(said)


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
            for name, value in event.rates.items():
                writer.add_scalar(f"rate/{name}", value, event.number)
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
