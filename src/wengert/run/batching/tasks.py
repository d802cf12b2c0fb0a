"""One example that may wait: a machine that is put aside where it asks for a value, and goes on from there.

Knows: what each waits for, and what its parts have opened.
Refuses to know: who else waits, and when anybody goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert.control import Context, Do
from wengert.control.machine import Instruction, Machine
from wengert.control.resources import Finalizer, SharedValue
from wengert.errors import combine
from wengert.graph.node import Expression, Node


class Parked(BaseException):
    """Leaves a machine as it is, until somebody goes on with it; no `except Exception` on the way sees it."""


class Park(Do[None]):
    """Wait here: for an expression, or for other tasks."""

    __slots__ = ("expression", "tasks")

    def __init__(self, expression: Expression | None = None, tasks: Sequence[Task] = ()) -> None:
        self.expression = expression
        self.tasks = tasks

    def _begin(self, machine: Machine) -> Do[Any] | None:  # Any: the stack mixes all types
        assert isinstance(machine, Task), "only tasks are put aside"
        machine.value = None
        machine.wanted, machine.left = self.expression, len(self.tasks)
        for task in self.tasks:
            task.parent = machine
        raise Parked


class Adopt(Do[None]):
    """What tasks have opened is let go when this machine's part of the run ends."""

    __slots__ = ("opened",)

    def __init__(self, opened: list[Finalizer]) -> None:
        self.opened = opened

    def _begin(self, machine: Machine) -> None:
        machine.finalizers += self.opened
        self.opened.clear()
        machine.value = None


class Task(Machine):
    """The machine of one bind, or of one branch."""

    __slots__ = ("cell", "done", "left", "node", "parent", "source", "wanted")

    def __init__(self, source: Do[Any], context: Context, node: Node | None = None) -> None:
        super().__init__(context.run)
        self.context = context
        self.node = node
        self.source: Instruction | None = source  # where it goes on; None: where it was put aside
        self.wanted: Expression | None = None
        self.cell: SharedValue | None = None  # of a shared `Do` that another task computes
        self.parent: Task | None = None  # who waits for this branch
        self.left = 0  # branches that have not ended
        self.done = False

    def go(self) -> bool:
        """On to the next place where it waits; whether it has ended."""
        source, self.source = self.source, None
        self.wanted = self.cell = None
        try:
            self.evaluate(source)  # type: ignore[arg-type] # None goes on where it was put aside
        except Parked:
            return False
        finally:
            del source
        self.done = True
        if self.failure is not None:
            self.release(0)
        return True

    def wait_for(self, shared: Instruction, cell: SharedValue) -> Instruction:
        self.source, self.cell = shared, cell
        raise Parked


def outcome(tasks: Sequence[Task]) -> tuple[Any, ...]:
    """The values of branches that have ended, or all their failures as one."""
    failures = [task.failure for task in tasks if task.failure is not None]
    for task in tasks:
        task.failure = None
    if failures:
        try:
            raise combine(failures)
        finally:
            failures.clear()  # their tracebacks hold this frame (S13)
    return tuple(task.value for task in tasks)
