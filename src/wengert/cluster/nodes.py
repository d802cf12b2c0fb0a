"""Nodes: processes that have parts of a model, run what they are given, and keep what they are told to.

Knows: how a node is begun, what a user asks of one; checkpoints of all of them and of the driver as one folder.
Refuses to know: how messages get there, and what a step is.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final, ParamSpec, TypeVar

from wengert.cluster.engine import Engine
from wengert.cluster.links import Handle, NodeLink
from wengert.cluster.remote import Remote
from wengert.cluster.steps import Log, Steps, decided_in
from wengert.control import Do
from wengert.errors import ArgumentError, CheckpointError, raise_all
from wengert.saving import Checkpoint, load, save
from wengert.saving.files import replace
from wengert.site import user_position

A = TypeVar("A")
L = TypeVar("L")
P = ParamSpec("P")
Q = ParamSpec("Q")
MANIFEST: Final = "manifest.json"
DRIVER: Final = "driver"
LOG: Final = "decided.jsonl"


class Node:
    """A process, by name, that has one part of a model at most. Made by `cluster.node`."""

    def __init__(self, link: NodeLink, steps: Steps) -> None:
        self._link = link
        self._steps = steps
        self._placed: str | None = None

    @property
    def name(self) -> str:
        """Its name."""
        return self._link.name

    def place(self, make: Callable[Q, Callable[P, L]], /, *args: Q.args, **kwargs: Q.kwargs) -> Remote[P, L]:
        """Make `make(*args, **kwargs)` there, once; its weights and their optimizers live and stay there.

        `make` is a class with a `__call__`, or a function that gives a model; what it is given crosses as it is, so
        give seeds and sizes rather than weights. Raises what it raises; ArgumentError for a node that has a part, and
        for a model whose `__call__` does not state layers.
        """
        if self._placed is not None:
            raise ArgumentError(
                f"node {self.name!r} has {self._placed} already, and one part of a model lives on a node; write "
                f"cluster.node(...) for another\n  at {user_position()}"
            )
        described = self._link.begin(make, args, kwargs)
        assert described is not None, "the description of what was placed"
        self._placed = getattr(make, "__qualname__", repr(make))
        return Remote(self._link, self._steps, described)

    def __call__(self, do: Do[A]) -> Do[A]:
        """Run a description there and bring its value: once for each use, and again if the process dies meanwhile."""
        return self._link.brought(do)

    def keep(self, do: Do[A]) -> Do[Handle[A]]:
        """Run a description there and leave its value there; it goes with the scope that holds the handle.

        If the process dies, the description is run again in its next life.
        """
        return self._link.keeping(do)

    def close(self) -> None:
        """End the process: what it has is gone, and the layers of its part raise NodeLostError when they are run."""
        self._link.close()

    def __repr__(self) -> str:
        return f"<Node {self.name!r}>"


class Nodes:
    """All nodes of one driver, and the steps that they take together."""

    def __init__(self, engine: Engine, *, patience: float = 10.0) -> None:
        self._engine, self._patience = engine, patience
        self._steps = Steps()
        self._links: dict[str, NodeLink] = {}

    def node(
        self, name: str, *, restarts: int = 0, checkpoint: str | None = None, checkpoint_every: int = 100
    ) -> Node:
        """Begin a process with a name.

        If it dies, or does not answer, it is begun anew, `restarts` times: it loads what `checkpoint`, a folder, has
        of it, and takes the steps that were decided since; the driver keeps their arguments and deltas until the next
        checkpoint, every `checkpoint_every` steps, or to the end where no folder is given. With neither `restarts` nor
        `checkpoint` nothing is kept, and a node that dies is lost.
        """
        if name in self._links or name == DRIVER or not name or os.path.basename(name) != name:
            raise ArgumentError(
                f"a node needs a name of its own, that of a file, other than {DRIVER!r}; got {name!r}\n"
                f"  at {user_position()}"
            )
        for what, number, least in (("restarts", restarts, 0), ("checkpoint_every", checkpoint_every, 1)):
            if number < least:
                raise ArgumentError(f"{what} is at least {least}; got {number}\n  at {user_position()}")
        path = None if checkpoint is None else os.path.join(checkpoint, f"{name}.safetensors")
        link = NodeLink(
            self._engine,
            name,
            self._steps.note,
            restarts=restarts,
            patience=self._patience,
            path=path,
            save_every=checkpoint_every,
        )
        link.begin(None, (), {})
        self._links[name] = link
        return Node(link, self._steps)

    def recover(self) -> None:
        """Begin every lost node anew, and bring it to the last step that was decided.

        Raises NodeLostError where that fails again, and for one that was begun without `restarts` and `checkpoint`.
        """
        for link in self._open():
            link.recover()

    def folder(self, path: str) -> CheckpointFolder:
        """A folder for `checkpoint=` of `wengert.training.fit`: weights here and on every node, all of one step."""
        return CheckpointFolder(self, path)

    def save(
        self,
        folder: str,
        weights: object,
        *,
        step: int | None = None,
        seed: int | None = None,
        note: str | None = None,
    ) -> None:
        """Write a checkpoint of everything: a file for the driver's weights, one for each node, and a manifest.

        The manifest, which names the files, their digests and the last step decided, is replaced last: a reader finds
        the checkpoint before or this one, whole. Files that it does not name go. Raises as `wengert.saving.save`.
        """
        os.makedirs(folder, exist_ok=True)
        decided = self._steps.log.last
        mark = f"{decided}-{self._steps.note[:8]}"
        links = {link.name: link for link in self._open()}
        names = {name: f"{name}-{mark}.safetensors" for name in (DRIVER, *links)}
        asked = [
            link.save_to(os.path.abspath(os.path.join(folder, names[name]))) for name, link in links.items()
        ]
        save(os.path.join(folder, names[DRIVER]), weights, step=step, seed=seed, note=note)
        raise_all([x for x in (future.exception() for future in asked) if isinstance(x, Exception)])
        files = {
            name: {"file": file, "sha256": _digest(path), "step": self._version(name)}
            for name, file in names.items()
            if os.path.exists(path := os.path.join(folder, file))
        }
        manifest = {"decided": decided, "files": files}
        replace(os.path.join(folder, MANIFEST), json.dumps(manifest, indent=1).encode())
        for file in os.listdir(folder):
            if file.endswith(".safetensors") and file not in names.values():
                with suppress(OSError):  # it stays, and the next one removes it
                    os.unlink(os.path.join(folder, file))
        log = os.path.join(folder, LOG)
        replace(log, b"")  # what it had is in the manifest
        self._steps.log = Log(log, decided)

    def _open(self) -> list[NodeLink]:
        return [link for link in self._links.values() if not link.closed]

    def _version(self, name: str) -> int:
        return self._links[name].journal.version if name in self._links else self._steps.log.last

    def load(
        self, folder: str, weights: object, *, check: Callable[[Checkpoint], object] | None = None
    ) -> Checkpoint:
        """Give the driver's weights, and every node, what a checkpoint has; training goes on from there.

        `check` is told what the driver's file says, and may refuse it by raising, before anything has changed.

        Raises CheckpointError for a folder without a manifest, for a file that is not the one that the manifest names,
        and for a node that has none.
        """
        path = os.path.join(folder, MANIFEST)
        try:
            with open(path, encoding="utf-8") as file:
                manifest: dict[str, Any] = json.load(file)  # Any: as JSON has it
            files = {name: (os.path.join(folder, x["file"]), x) for name, x in manifest["files"].items()}
            for name, (part, entry) in files.items():
                if _digest(part) != entry["sha256"]:
                    raise CheckpointError(f"{part} is not the file that {path} names for {name!r}")
            decided = int(manifest["decided"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            if isinstance(error, CheckpointError):
                raise
            raise CheckpointError(
                f"{path} is no manifest of a checkpoint: {error}\n  at {user_position()}"
            ) from error
        links = {link.name: link for link in self._open()}
        lacking = sorted(name for name, link in links.items() if link.placed and name not in files)
        if lacking:
            raise CheckpointError(
                f"{path} has nothing for {', '.join(map(repr, lacking))}\n  at {user_position()}"
            )
        found = load(files[DRIVER][0], weights, check=check)
        for name, link in links.items():
            if name in files:
                part, entry = files[name]
                link.resume(os.path.abspath(part), entry["step"])
                self._steps.resume(name)
        log = os.path.join(folder, LOG)
        self._steps.log = Log(log, max(decided, decided_in(log)))  # a number is given to one step only
        return found

    def close(self) -> None:
        """End all processes."""
        for link in self._links.values():
            link.close()
        self._links.clear()


@dataclass(frozen=True)
class CheckpointFolder:
    """A checkpoint of a training with parts on nodes, for `wengert.training.fit`. Made by `cluster.folder`."""

    nodes: Nodes
    path: str

    def begin(self) -> bool:
        """True if the folder has a checkpoint, whole. Raises CheckpointError for a file of this name."""
        if os.path.exists(self.path) and not os.path.isdir(self.path):
            raise CheckpointError(f"{self.path} is a file; name a folder\n  at {user_position()}")
        return os.path.exists(os.path.join(self.path, MANIFEST))

    def save(self, weights: object, *, step: int, seed: int, note: str) -> None:
        """Write it: see `Nodes.save`."""
        self.nodes.save(self.path, weights, step=step, seed=seed, note=note)

    def load(self, weights: object, *, check: Callable[[Checkpoint], object]) -> None:
        """Read it: see `Nodes.load`."""
        self.nodes.load(self.path, weights, check=check)


def _digest(path: str) -> str:
    with open(path, "rb") as file:
        return sha256(file.read()).hexdigest()
