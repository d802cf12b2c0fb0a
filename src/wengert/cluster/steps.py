"""Steps with parts elsewhere: votes before any weight changes, the decision with the driver's weights, commits after.

Knows: that a part elsewhere stands among the driver's weights as its `Version`, whose delta is the calls of it that
deltas have gone back through; so the driver's commit changes it with all weights, in one call that nothing divides,
and that is the decision. A step is in the log before it is decided.
Refuses to know: how messages get there.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from functools import partial
from threading import Lock
from typing import Any
from uuid import uuid4

from wengert.arrays import Value
from wengert.cluster.links import NodeLink
from wengert.cluster.part import Staging
from wengert.cluster.protocol import JointStep
from wengert.control import Do, Run
from wengert.differentiable import Tape
from wengert.errors import CheckpointWriteError, NodeLostError, combine, raise_all
from wengert.graph.evidence import register
from wengert.graph.store import STORE
from wengert.graph.weights import DataWeight, Update, Weight
from wengert.plugins.optimizer import Optimizer


class RemoteCalls:
    """The delta of a part elsewhere: calls in the order in which their deltas add up."""

    __slots__ = ("calls", "run")

    def __init__(self, run: str, calls: tuple[int, ...]) -> None:
        self.run = run
        self.calls = calls

    def __add__(self, other: RemoteCalls) -> RemoteCalls:
        return RemoteCalls(self.run, self.calls + other.calls)


class Version:
    """The last step that a part elsewhere has taken, as the driver has decided."""

    __slots__ = ("link", "step")

    def __init__(self, link: NodeLink, step: int) -> None:
        self.link = link
        self.step = step

    def zero_delta(self) -> float:
        """No step."""
        return 0.0

    def stepped(self, step: float, /) -> Version:
        """The version so many steps further."""
        return Version(self.link, self.step - int(step))

    def to_array(self) -> float:
        """The step as a number."""
        return float(self.step)

    def from_array(self, array: Value, /) -> Version:
        """The version of such a number."""
        return Version(self.link, int(array))


@register(Version)
def _version(x: Version) -> Do[Tape[Version, RemoteCalls]]:
    raise AssertionError("a version stands in no expression")


class Voting(Optimizer["Steps"]):
    """The optimizer of a version: its part in a commit is to ask the nodes first and to tell them after."""

    def together(self, updates: Sequence[Update]) -> None:
        """All votes."""
        self.settings.vote([x for x in updates if x.optimizer.settings is self.settings])

    def step(self, delta: Value, weight: Weight) -> Value:
        """To the step that is voted on."""
        assert isinstance(weight, DataWeight), "a version"
        return float(weight.data.step - self.settings.voted)

    def committed(self, weights: Sequence[Weight]) -> None:
        """All commits."""
        self.settings.commit()


class Log:
    """The numbers of steps in the order of their decisions; in a file, if there is one, each before its decision."""

    def __init__(self, path: str | None = None, last: int = 0) -> None:
        self.path = path
        self.last = last

    def enter(self, step: int, nodes: Iterable[str]) -> None:
        """Write down a step. Raises CheckpointWriteError, and then it is not to be."""
        self._write({"step": step, "nodes": sorted(nodes)})
        self.last = step

    def withdraw(self, step: int) -> None:
        """Write down that a step has not been."""
        self.last = step - 1
        self._write({"withdrawn": step})

    def _write(self, entry: dict[str, object]) -> None:
        if self.path is None:
            return
        try:
            with open(self.path, "a", encoding="utf-8") as file:
                file.write(json.dumps(entry) + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise CheckpointWriteError(
                f"{self.path} could not be written: {error.strerror or error}; the step has not been taken"
            ) from error


def decided_in(path: str) -> int:
    """The last step that a log says was decided, 0 of one that is not there; its last line may be cut short."""
    last = 0
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            for line in file:
                if line.endswith("\n"):
                    entry = json.loads(line)
                    last = entry["step"] if "step" in entry else entry["withdrawn"] - 1
    return last


class Steps:
    """The steps of one driver: which is being voted on, and what has been decided."""

    def __init__(self) -> None:
        self.note = uuid4().hex  # of this training, in checkpoints
        self.log = Log()
        self.versions: dict[str, DataWeight[Version, float]] = {}
        self._step: JointStep | None = None
        self._run = ""
        self._voting = Lock()  # between the first vote and the last acknowledgement nobody else asks a node

    def version(self, link: NodeLink) -> DataWeight[Version, float]:
        """The weight that stands for a part elsewhere."""
        made = DataWeight(Version(link, link.journal.version), Voting(self), f"version of {link.name}")
        self.versions[link.name] = made
        return made

    @property
    def voted(self) -> int:
        """The step that is voted on."""
        assert self._step is not None, "votes come before steps"
        return self._step.number

    def vote(self, updates: Sequence[Update]) -> None:
        """Have all parts stage a step, and write it into the log. Raises what any of them does."""
        parts = {x.weight.data.link.name: x for x in updates if isinstance(x.weight, DataWeight)}
        step = JointStep(self.log.last + 1, frozenset(parts))
        self._voting.acquire()
        self._step, self._run = step, next(iter(parts.values())).delta.run
        asked = {
            name: self._of(name).vote(Staging(x.delta.run, x.delta.calls), step.number)
            for name, x in parts.items()
        }
        failures = _failures(asked.values())
        for name, future in asked.items():
            self._step = step = step.with_vote(name, future.exception() is None)
        try:
            raise_all(failures)
            self.log.enter(step.number, parts)
        except Exception:
            self._end()
            raise

    def _end(self) -> None:
        self._step, self._run = None, ""
        self._voting.release()

    def commit(self) -> None:
        """After the driver's own weights have changed: every part is told, until it knows."""
        if self._step is None or not self._step.ready or self._step.decided:
            return
        self._step = step = self._step.decide()
        for name in step.nodes:
            self._of(name).decided(self._run, step.number)
        told = {name: self._of(name).commit(self._run, step.number) for name in step.nodes}
        failures = _failures(told.values())
        saved = [self._of(name).save_if_due() for name in step.nodes if told[name].exception() is None]
        failures += _failures(x for x in saved if x is not None)
        raise_all(failures)

    def _of(self, name: str) -> NodeLink:
        return self.versions[name].data.link

    def resume(self, name: str) -> None:
        """Take the version of a node, which has got a checkpoint, for that of the driver."""
        weight = self.versions.get(name)
        if weight is not None:
            ref, now = weight.ref, Version(weight.data.link, weight.data.link.journal.version)
            STORE.alone(lambda: STORE.publish(STORE.version, [(ref, lambda data, in_place: (now, []))]))

    def run(self, run: Run) -> RemoteRun:
        """Questions of one of the driver's runs to parts elsewhere, begun with the first."""
        return run.local(self, partial(RemoteRun, self, run))

    def wait(self, run: RemoteRun) -> None:
        """Wait until no other run is between its votes and their end."""
        if self._run != run.name:
            with self._voting:
                pass

    def close(self, run: RemoteRun) -> None:
        """At the end of a run, however it ends: a step that has been decided is told, any other is dropped."""
        step = self._step if self._run == run.name else None
        shown: frozenset[str] = frozenset()
        if step is not None:
            try:
                if step.ready and all(self.versions[x].ref.data.step == step.number for x in step.nodes):
                    shown = step.nodes
                    self.commit()  # an interrupt came before it
                elif step.ready:
                    self.log.withdraw(step.number)
            except (NodeLostError, CheckpointWriteError):
                pass  # whoever trains next is told
            finally:
                self._end()
        for link in run.parts:
            if link.name not in shown:
                link.drop(run.name)


class RemoteRun:
    """One run of the driver's, for the nodes that it asks."""

    def __init__(self, steps: Steps, run: Run) -> None:
        self.name = uuid4().hex
        self.parts: dict[NodeLink, None] = {}
        self._calls = 0
        self._lock = Lock()
        self._early: dict[object, Any] = {}  # Any: calls that began before their turn
        self._run = run
        run.on_close(partial(steps.close, self))

    def call(self, link: NodeLink) -> int:
        """The number of another call of a part, which hears of the end of the run."""
        with self._lock:
            self.parts[link] = None
            self._run.elsewhere |= {link.name}
            self._calls += 1
            return self._calls

    def early(self, key: object, make: Callable[[], Any]) -> None:
        """Remember what was begun early."""
        self._early[key] = make()

    def begun(self, key: object) -> Any:
        """The answer that was begun early, once; None if none was."""
        return self._early.pop(key, None)


def _failures(futures: Iterable[Future[Any]]) -> list[Exception]:
    """The failures of all of these, once each is known."""
    found = [future.exception() for future in futures]
    failures = [x for x in found if isinstance(x, Exception)]
    return [combine(failures)] if failures else []
