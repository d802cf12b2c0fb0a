"""What the tests of effects count with. Knows: openings and closings. Refuses to know: how they are run."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any

from wengert.control import Context, Do, Run, Steps


class Boom(Exception):
    """A failure that only these tests raise."""


class Other(Exception):
    """Another one."""


class Opening:
    """One opened instance; `seen` is the failure that its `__exit__` saw."""

    def __init__(self, ledger: Ledger, name: str) -> None:
        self.ledger = ledger
        self.name = name
        self.seen: BaseException | None = None
        self.is_open = False

    def __enter__(self) -> Opening:
        self.ledger.events.append(f"open {self.name}")
        self.is_open = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, failure: BaseException | None, trace: TracebackType | None
    ) -> bool:
        assert self.is_open, f"{self.name} was closed twice"
        self.is_open = False
        self.seen = failure
        self.ledger.events.append(f"close {self.name}")
        if self.name in self.ledger.failing:
            raise self.ledger.failing[self.name]
        return True  # asks to swallow the failure, which a run must ignore


class Ledger:
    """Everything that was opened and closed, in order."""

    def __init__(self, **failing: BaseException) -> None:
        self.events: list[str] = []
        self.openings: list[Opening] = []
        self.failing = failing

    def resource(self, name: str) -> Do[Opening]:
        def make() -> Opening:
            self.openings.append(Opening(self, name))
            return self.openings[-1]

        return Do.resource(make)

    def numbered(self) -> Do[Opening]:
        """Named "0", "1", ... in the order of opening."""
        return Do.defer(lambda: self.resource(str(len(self.openings))))

    def note(self, event: str) -> None:
        self.events.append(event)

    @property
    def open(self) -> list[str]:
        return [opening.name for opening in self.openings if opening.is_open]


def raising(failure: BaseException) -> object:
    try:
        raise failure
    finally:
        del failure  # or this frame and the exception would hold each other


def in_run(act: Callable[[Run], object]) -> Do[Any]:  # Any: whatever the test does with the run
    def steps(context: Context) -> Steps[object]:
        return act(context.run)
        yield  # makes it a generator

    return Do.program(steps)
