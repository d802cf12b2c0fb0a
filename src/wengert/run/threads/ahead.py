"""What can be had before its turn: strands go on together, and branches of theirs, on the threads of a crew.

Knows: that a strand which asks for the values of branches goes on when the last of them has ended, and that what
is left when no strand can go on is left to its turn.
Refuses to know: whose turn it is, and how values are computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from threading import Lock
from typing import Any, Final

from wengert.control import Context, Do
from wengert.graph.node import Expression
from wengert.run.threads.crew import Crew
from wengert.run.threads.job import More
from wengert.run.threads.partition import Tasks
from wengert.run.threads.strand import Begun, Branches, Fork, Home, Strand, Wait, dropped

ONE: Final = Tasks(((0,),), (0,), ((),), (0,), 0.0)


class Ahead:
    """Strands that go on together until each has ended or needs its turn."""

    def __init__(self) -> None:
        self._lock = Lock()

    def run(self, crew: Crew, strands: Sequence[Strand]) -> bool:
        """All of them, as far as they go; whether that was over before somebody could help."""
        return crew.run([lambda: More(partial(self._go, strand) for strand in strands)], ONE, young=True)

    def _go(self, strand: Strand) -> More:
        works = More()
        while True:
            strand.go()
            asked = strand.asked
            if asked is None:
                self._ended(strand, works)
            elif isinstance(asked, Fork) and len(asked.parts) > 1:
                works += self._forked(strand, asked)
            elif isinstance(asked, Fork):
                strand.asked = Branches(asked.parts)
                continue
            elif isinstance(asked, Wait) and self._waited(strand, asked.root, works):
                strand.answered()
                continue
            return works

    def _forked(self, strand: Strand, fork: Fork) -> Iterable[Callable[[], More]]:
        branches = [Strand(part, strand.context, strand.home) for part in fork.parts]
        fork.begun = [Begun(branch) for branch in branches]
        strand.left = len(branches)
        for branch in branches:
            branch.parent = strand
        return [partial(self._go, branch) for branch in branches]

    def _ended(self, strand: Strand, works: More) -> None:
        parent = strand.parent
        if parent is None:
            return
        with self._lock:
            parent.left -= 1
            last = not parent.left
        if last and isinstance(parent.asked, Fork):
            parent.asked = Branches(parent.asked.begun)
            works.append(partial(self._go, parent))

    def _waited(self, strand: Strand, root: Expression, works: More) -> bool:
        """Whether the value of `root` is there now, or its failure; if not, the strand goes on when it is."""
        return False


def begun(
    parts: Sequence[Do[Any]], context: Context, ahead: Ahead, crew: Crew, home: Home | None = None
) -> tuple[list[Begun], bool]:
    """Branches that have gone ahead; whether they have ended alone."""
    strands = [Strand(part, context, home) for part in parts]
    made = [Begun(strand) for strand in strands]
    try:
        return made, ahead.run(crew, strands)
    except BaseException as stop:  # an interrupt, too, leaves nothing open
        dropped(made, stop)
        raise
