"""The files of a training: the checkpoint from which it can go on, and the weights of the best epoch.

Knows: when a file that is there is gone on with, and when it is refused.
Refuses to know: how a file is written and read, and nodes of a cluster.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, final, runtime_checkable

from wengert.errors import ArgumentError, CheckpointError
from wengert.graph.paths import Path, path_of
from wengert.saving import Checkpoint, load, save
from wengert.saving.files import remove_partial
from wengert.site import user_position
from wengert.training.given import whole
from wengert.training.records import WATCH, Step, Watch
from wengert.training.state import State, read


@runtime_checkable
class CheckpointStore(Protocol):
    """The place of a training's checkpoints: a file, or what a cluster has for the weights of its nodes, too."""

    @property
    def path(self) -> str:
        """Its name in errors."""
        ...

    def begin(self) -> bool:
        """True if there is a checkpoint. Raises CheckpointError where none could be written."""
        ...

    def save(self, weights: object, *, step: int, seed: int, note: str) -> None:
        """Write a checkpoint in place of the one before: see `wengert.saving.save`."""
        ...

    def load(self, weights: object, *, check: Callable[[Checkpoint], object]) -> object:
        """Give all weights what it has: see `wengert.saving.load`."""
        ...


@final
@dataclass(frozen=True)
class CheckpointFile:
    """A file for a training whose weights are all in this process."""

    path: str

    def begin(self) -> bool:
        """True if the file is there: see `CheckpointStore`."""
        remove_partial(self.path)
        folder = os.path.dirname(os.path.realpath(self.path))
        if not os.path.isdir(folder):  # an hour later it would be too late
            raise CheckpointError(
                f"fit: {self.path} cannot be written: {folder} is no folder; make it first\n  at {user_position()}"
            )
        if os.path.isdir(self.path):
            raise CheckpointError(
                f"fit: {self.path} is a folder; name a file in it, as in "
                f"{os.path.join(self.path, 'model.safetensors')!r}\n  at {user_position()}"
            )
        return os.path.exists(self.path)

    def save(self, weights: object, *, step: int, seed: int, note: str) -> None:
        """Write it: see `CheckpointStore`."""
        save(self.path, weights, step=step, seed=seed, note=note)

    def load(self, weights: object, *, check: Callable[[Checkpoint], object]) -> None:
        """Read it: see `CheckpointStore`."""
        load(self.path, weights, check=check)


def store_at(given: Path | CheckpointStore | None) -> CheckpointStore | None:
    """The store of a path, or the one that is given."""
    if given is None or isinstance(given, CheckpointStore):
        return given
    return CheckpointFile(path_of("fit: checkpoint", given, CheckpointError))


@final
@dataclass(frozen=True)
class Keeper:
    """Writes the files, those that have a path."""

    weights: object
    seed: int
    checkpoint: CheckpointStore | None = None
    every: int | None = None
    best: Path | None = None
    watch: Watch = WATCH

    def __post_init__(self) -> None:
        if self.weights is None and (self.checkpoint is not None or self.best is not None):
            raise _wrong("checkpoint= and best= are files of weights; give weights= too, as in weights=model")
        if self.best is not None and not isinstance(self.checkpoint, CheckpointFile | None):
            raise _wrong(
                "best= is a file of the weights here, and checkpoint= is for a training that has others, too"
            )
        if self.every is not None and self.checkpoint is None:
            raise _wrong("every= is how often a checkpoint is written; give checkpoint= too")
        if self.every is not None:
            whole("every", self.every, 1)

    @property
    def file(self) -> str | None:
        """A file that has the weights of this process alone, if there is one."""
        given = self.checkpoint.path if isinstance(self.checkpoint, CheckpointFile) else self.best
        return None if given is None else os.fspath(given)

    def due(self, step: Step) -> bool:
        """Tell whether a checkpoint is due now; it is after the first step, lest a full disk be found late."""
        return step.number == 1 or (self.every is not None and step.number % self.every == 0)

    def begin(self, resume: bool) -> State:
        """First state: that of the checkpoint, if there is one and it is wanted, else the start."""
        if self.best is not None:
            remove_partial(path_of("fit: best", self.best, CheckpointError))
        if self.checkpoint is None:
            if resume:
                raise _wrong("resume= is about a checkpoint; give checkpoint= too")
            return State()
        if not self.checkpoint.begin():
            return State()
        if not resume:
            raise CheckpointError(
                f"fit: {self.checkpoint.path} is there already; write resume=True to go on from it, or delete it\n"
                f"  at {user_position()}"
            )
        return self._resumed(self.checkpoint)

    def _resumed(self, store: CheckpointStore) -> State:
        path, states = store.path, list[State]()

        def check(found: Checkpoint) -> None:
            states.append(read(found.note, path))
            if found.seed != self.seed:
                raise CheckpointError(
                    f"{path} cannot be resumed, and no weight has changed: its seed is {found.seed}, and that of fit "
                    f"{self.seed}; with another seed it would be another training\n  at {user_position()}"
                )

        store.load(self.weights, check=check)
        return states[0]

    def keep(self, state: State) -> None:
        """Write the checkpoint."""
        if self.checkpoint is not None:
            self.checkpoint.save(self.weights, step=state.step, seed=self.seed, note=state.text())

    def keep_best(self, state: State) -> None:
        """Write the best weights, if the last epoch is better than all before it."""
        if self.best is not None and self.watch.best(state.epochs) is state.epochs[-1]:
            save(self.best, self.weights, step=state.step, seed=self.seed)


def _wrong(text: str) -> ArgumentError:
    return ArgumentError(f"fit: {text}\n  at {user_position()}")
