"""Who else is told of steps and epochs: a progress bar, TensorBoard.

Knows: rich and tensorboardX, which are imported when they are used; that a bar is for a terminal only.
Refuses to know: what a step is.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Final, TypeAlias

from wengert.data.packages import optional
from wengert.training.records import Epoch, Event, Step

Told: TypeAlias = Callable[[Event], object]
_OFTEN: Final = 0.1  # seconds between two pictures of the bar: 1 ms each, so 1 % of the time


@contextmanager
def progress(epochs: int | None, steps: int | None) -> Generator[Told | None]:
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
            made.update(task, completed=done, description=line or f"loss {event.loss:.4f}")
            made.refresh()
            due = time.monotonic() + _OFTEN

        yield tell


def _epochs(event: Event) -> float:
    """How many epochs are done, with a fraction."""
    return event.number + 1 if isinstance(event, Epoch) else event.epoch + (event.batch + 1) / event.batches


def _steps(event: Event) -> int:
    return event.steps if isinstance(event, Epoch) else event.number


def _line(epoch: Epoch) -> str:
    said = [f"epoch {epoch.number}: loss {epoch.loss:.4f}"]
    if epoch.validation is not None:
        said.append(f"validation {epoch.validation:.4f}")
    return ", ".join([*said, *(f"{name} {value:.4f}" for name, value in epoch.metrics.items())])


@contextmanager
def tensorboard(folder: str | os.PathLike[str], after: int) -> Generator[Told]:
    """Curves that TensorBoard shows, from step `after` on; those of later steps in the folder are not shown again."""
    package = optional("tensorboardX", "tensorboardX", "fit(..., tensorboard=)", "tensorboard")
    writer = package.SummaryWriter(os.fspath(folder), purge_step=after + 1)

    def tell(event: Event) -> None:
        if isinstance(event, Step):
            writer.add_scalar("loss/step", event.loss, event.number)
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
