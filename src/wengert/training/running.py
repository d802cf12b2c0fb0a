"""Epoch after epoch, until it is enough.

Knows: when an epoch is over, when the training is, who is told, and when files are written.
Refuses to know: how a step is done, and what is in a file.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Protocol, TypeAlias, final, runtime_checkable

from wengert.errors import ArgumentError
from wengert.graph.paths import Path
from wengert.site import user_position
from wengert.training.given import whole
from wengert.training.keeping import Keeper
from wengert.training.looping import Fitting
from wengert.training.records import (
    WATCH,
    Epoch,
    Event,
    History,
    Watch,
    progress,
    stale,
    tensorboard_curves,
)
from wengert.training.state import State


@runtime_checkable
class Resumable(Protocol):
    """A callback that is told which epochs there have been, before the first step of each call of `fit`."""

    def resumed(self, epochs: Sequence[Epoch], /) -> object:
        """Called once, with no epochs unless the training goes on from a checkpoint."""
        ...


Told: TypeAlias = Sequence[Callable[[Event], object]]


@final
@dataclass(frozen=True)
class Ending:
    """End of a training: after so many epochs or steps, or when so many epochs have brought nothing."""

    epochs: int | None
    steps: int | None
    patience: int | None = None
    min_delta: float = 0.0
    watch: Watch = WATCH

    def __post_init__(self) -> None:
        for what in ("epochs", "steps", "patience"):
            if getattr(self, what) is not None:
                whole(what, getattr(self, what), 1)
        if not isinstance(self.min_delta, Real):
            raise ArgumentError(
                f"fit: min_delta is a number; got {self.min_delta!r:.60}\n  at {user_position()}"
            )
        if self.watch.mode not in ("min", "max"):
            raise ArgumentError(
                f"fit: mode is 'min' or 'max'; got {self.watch.mode!r:.60}\n  at {user_position()}"
            )
        if (self.epochs is None) == (self.steps is None):
            raise ArgumentError(f"fit: give either epochs= or steps=\n  at {user_position()}")

    @property
    def until(self) -> float:
        """The step after which no other comes."""
        return math.inf if self.steps is None else self.steps

    def early(self, state: State) -> bool:
        """Tell whether patience is at its end."""
        return self.patience is not None and stale(state.epochs, self.min_delta, self.watch) >= self.patience

    def over(self, state: State) -> bool:
        """Tell whether there is nothing left to do."""
        last = math.inf if self.epochs is None else self.epochs
        return state.step >= self.until or state.epoch >= last or self.early(state)


# Any: of whatever class the batches are
def run(
    loop: Fitting[Any],
    ending: Ending,
    keeper: Keeper,
    state: State,
    callbacks: Iterable[Callable[[Event], object]] = (),
    tensorboard: Path | None = None,
    show: bool = False,
) -> History:
    """From where `state` is to the end."""
    if callable(callbacks):
        raise ArgumentError(
            f"fit: callbacks are functions in a list, as in callbacks=[tell]; got {callbacks!r:.60}\n"
            f"  at {user_position()}"
        )
    with ExitStack() as scopes:
        told = list(callbacks)
        if tensorboard is not None:
            told.append(scopes.enter_context(tensorboard_curves(tensorboard, state.step)))
        if show:
            if state.step:
                print(f"resumed after step {state.step}", file=sys.stderr, flush=True)
            told.append(scopes.enter_context(progress(ending.epochs, ending.steps, loop.workers)))
        for callback in told:
            if isinstance(callback, Resumable):
                callback.resumed(state.epochs)
        while not ending.over(state):
            _epoch(loop, keeper, state, ending.until, told)
        history = state.history(stopped_early=ending.early(state), watch=ending.watch, stale=loop.stale)
        if state.done == 0:
            return history
        unfinished = loop.measured(state)  # all steps are done within an epoch
        _tell(told, unfinished)
    return replace(history, epochs=(*history.epochs, unfinished))


def _epoch(loop: Fitting[Any], keeper: Keeper, state: State, until: float, told: Told) -> None:
    """The rest of an epoch, its measures, and its files; where `until` comes first, the steps until then."""
    for step in loop.steps(state, until):
        _tell(told, step)
        if state.done < state.count and (keeper.due(step) or step.number == until):
            loop.settled()
            keeper.keep(state)
    if state.done == state.count:
        epoch = loop.measured(state)
        if keeper.watch.monitor is not None and keeper.watch.monitor not in epoch.metrics:
            raise ArgumentError(
                f"fit: monitor is {keeper.watch.monitor!r:.60}, and the metrics of an epoch are "
                f"{', '.join(epoch.metrics) or 'none'}\n  at {user_position()}"
            )
        state.ended(epoch)
        keeper.keep_best(state)
        keeper.keep(state)
        _tell(told, epoch)


def _tell(told: Told, event: Event) -> None:
    for callback in told:
        callback(event)
