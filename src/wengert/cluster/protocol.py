"""One step on several machines, or on none: the two-phase commit of a driver and its nodes, as pure transitions.

Knows: what a node answers to a message that it has had, or that is not of its life; when a step is decided, and who
has still to be told; what a node that has died has to be given.
Refuses to know: what is in messages, time, weights. Nothing here does anything: the driver and a node ask what is to
be done, and the tests ask the same in every order in which messages can arrive, be lost and be doubled.

Source: J. Gray, "Notes on Data Base Operating Systems", 1978; numbers of messages are those of K. Bartlett et al., "A
Note on Reliable Full-Duplex Transmission over Half-Duplex Links", 1969, of more than one bit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import NamedTuple


class Request(Enum):
    """Purpose of a message."""

    RESTORE = auto()  # begin a life: build, load the last checkpoint, take the steps that were decided since
    WORK = auto()  # compute something; what a step needs of it is kept
    VOTE = auto()  # stage the step: everything that can fail, so that commit cannot
    COMMIT = auto()  # show the step
    DROP = auto()  # forget what was kept and staged
    SAVE = auto()  # write a checkpoint


class Ask(NamedTuple):
    """A message to a node: in which life, the how many-th, for what; `base` is the step on which `step` builds."""

    life: int
    number: int
    kind: Request
    step: int = 0
    base: int = 0


class Verdict(Enum):
    """Decision of a node on a message."""

    PERFORM = auto()
    REPEAT = auto()  # it has just been carried out: the same answer
    STALE = auto()  # a late copy, of which nobody waits for the answer
    UNKNOWN = auto()  # of a life that this node has not begun


@dataclass(frozen=True, slots=True)
class Participant:
    """A node: the life that it was given, the last message carried out, the step shown and the one staged."""

    life: int = 0
    number: int = 0
    version: int = 0
    staged: int | None = None

    def verdict(self, ask: Ask) -> Verdict:
        """Decide on a message, which may be late or come twice."""
        if ask.life < self.life:
            return Verdict.STALE
        if ask.life > self.life:
            return Verdict.PERFORM if ask.kind is Request.RESTORE else Verdict.UNKNOWN
        if ask.number == self.number:
            return Verdict.REPEAT
        return Verdict.PERFORM if ask.number > self.number else Verdict.STALE

    def can_vote(self, ask: Ask) -> bool:
        """True if a step builds on the version that this node shows."""
        return self.version == ask.base

    def applies(self, ask: Ask) -> bool:
        """True if a commit has to be carried out: False where the step is shown already, as after a restart."""
        return self.version < ask.step

    def can_commit(self, ask: Ask) -> bool:
        """True if a commit can be carried out: the step is staged, or shown."""
        return not self.applies(ask) or self.staged == ask.step

    def after(self, ask: Ask, done: bool = True) -> Participant:
        """The state once a message is carried out, or once that has failed, which changes nothing but the number."""
        life, number, version, staged = ask.life, ask.number, self.version, self.staged
        if ask.kind is Request.RESTORE:
            version, staged = ask.step, None
        elif ask.kind is Request.VOTE:
            staged = ask.step if done else None
        elif ask.kind is Request.COMMIT and done:
            version, staged = max(version, ask.step), None
        elif ask.kind is Request.DROP:
            staged = None
        return Participant(life, number, version, staged)


@dataclass(frozen=True, slots=True)
class Link:
    """The driver's end: the node's life, the number of the last message, and that message while it is unanswered."""

    life: int = 1
    number: int = 0
    pending: Ask | None = None

    def asked(self, kind: Request, step: int = 0, base: int = 0) -> Link:
        """The link with a new message on it."""
        ask = Ask(self.life, self.number + 1, kind, step, base)
        return Link(self.life, ask.number, ask)

    def accepts(self, life: int, number: int) -> bool:
        """True if an answer is to the message that is waited for, and not a late one."""
        ask = self.pending
        return ask is not None and ask.life == life and ask.number == number

    def answered(self) -> Link:
        """The link with nothing on it."""
        return replace(self, pending=None)

    def restarted(self, step: int) -> Link:
        """The link to a node that begins another life at the last step decided for it."""
        return Link(self.life + 1, self.number).asked(Request.RESTORE, step)


@dataclass(frozen=True, slots=True)
class JointStep:
    """One step as the driver sees it: who takes part, who has voted, whether it is decided, and who has been told."""

    number: int
    nodes: frozenset[str]
    voted: frozenset[str] = frozenset()
    told: frozenset[str] = frozenset()
    decided: bool = False
    dropped: bool = False

    def with_vote(self, node: str, yes: bool) -> JointStep:
        """The step after a vote: one no is enough to drop it."""
        if not yes:
            return replace(self, dropped=True)
        return replace(self, voted=self.voted | {node})

    @property
    def ready(self) -> bool:
        """True if the step can be decided."""
        return self.voted == self.nodes and not self.dropped

    def decide(self) -> JointStep:
        """The decided step. Nothing takes this back."""
        assert self.ready, "all have voted for what is decided"
        return replace(self, decided=True)

    def drop(self) -> JointStep:
        """The step that will not be; for one that is decided it is too late."""
        assert not self.decided, "what is decided is never dropped"
        return replace(self, dropped=True)

    def with_told(self, node: str) -> JointStep:
        """The step after a node has acknowledged how it ended."""
        return replace(self, told=self.told | {node})

    @property
    def over(self) -> bool:
        """True if every node knows."""
        return (self.decided or self.dropped) and self.told == self.nodes

    def next(self, node: str) -> Request | None:
        """The next question to a node; None while it has to wait for others, or knows all."""
        if node in self.told:
            return None
        if self.decided:
            return Request.COMMIT
        if self.dropped:
            return Request.DROP
        return None if node in self.voted else Request.VOTE


@dataclass(frozen=True, slots=True)
class Journal:
    """The steps decided for one node since its last checkpoint: what another life of it has to take."""

    saved: int = 0
    steps: tuple[int, ...] = ()

    @property
    def version(self) -> int:
        """The last step that was decided for this node."""
        return self.steps[-1] if self.steps else self.saved

    def with_step(self, step: int) -> Journal:
        """The journal with another step; one that it has stays one."""
        return self if step <= self.version else Journal(self.saved, (*self.steps, step))

    def with_save(self, step: int) -> Journal:
        """The journal after a checkpoint: what is in that need not be taken again."""
        return Journal(step, tuple(x for x in self.steps if x > step))

    def since(self, loaded: int) -> tuple[int, ...]:
        """The steps to take after a checkpoint of a step, in order."""
        return tuple(x for x in self.steps if x > loaded)

    def holds(self, loaded: int) -> bool:
        """True if a checkpoint is one of these steps, or the one that the journal begins with."""
        return loaded == self.saved or loaded in self.steps
