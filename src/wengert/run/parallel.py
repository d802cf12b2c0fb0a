"""The parallel interpreter: what does not depend on each other runs on several threads, with the same results.

Knows: that it is the sequential one, with loops and plans that a crew of threads shares, and BLAS kept to one
thread meanwhile.
Refuses to know: what is worth a thread; `trial` measures that, and `overlap` has the rules of others.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from typing import Any

from wengert.arrays.pools import on_one_blas_thread
from wengert.control import Context, Do, Steps
from wengert.differentiable import Tape
from wengert.errors import ArgumentError
from wengert.graph.node import Node
from wengert.graph.site import user_position
from wengert.run.beginnings import Begun, Branches, dropped
from wengert.run.crew import Crew
from wengert.run.overlap import Overlapping
from wengert.run.plans import WORTH, Mode, Plans
from wengert.run.sequential import Sequential
from wengert.run.trial import TERMS, Divided, Terms


class Parallel:
    """Several threads: independent parts of an expression overlap, forward, backward and in the update.

    Results are those of `Sequential`, bit for bit where BLAS has one thread. A structure that comes back often
    is timed, and divided where that is faster; operations of others overlap from the first run on. So do binds that
    one expression has, and the branches of a `gather`, up to the first value that each asks for; from there on they
    take turns.
    `stacked` is as in `Sequential`.
    BLAS has one thread as long as a run goes on, lest its threads fight with these, and then as many as before.
    >>> from wengert import lift, run
    >>> (lift(2.0) * 3.0 + lift(4.0) * 5.0).predict().run(run.Parallel(threads=2))
    26.0
    """

    def __init__(self, threads: int | None = None, compiled: bool = True, *, stacked: bool = True) -> None:
        count = _cores() if threads is None else threads
        if not isinstance(count, int) or count < 1:
            raise ArgumentError(
                f"Parallel: `threads` is a number of threads from 1 on; got {threads!r:.60}\n  at {user_position()}"
            )
        crew = Crew(count)
        self.threads = count
        self._inner = Sequential(compiled, stacked=stacked)
        self._inner._loops = loops = Overlapping(crew)
        if compiled and count > 1:
            self._inner._plans = _Plans(loops, crew, stacked=stacked)

    # Any in the answers: an expression's Data is known to its own type, not here

    def forward(self, expression: object, context: Context, /) -> Steps[Tape[Any, Any]]:
        """As `Sequential`."""
        return on_one_blas_thread(self._inner.forward(expression, context))

    def value(self, expression: object, context: Context, /) -> Steps[Any]:
        """As `Sequential`."""
        return on_one_blas_thread(self._inner.value(expression, context))

    def predict(self, expression: object, context: Context, /) -> Steps[Any]:
        """As `Sequential`."""
        return on_one_blas_thread(self._inner.predict(expression, context))

    def train(self, loss: object, context: Context, /) -> Steps[Any]:
        """As `Sequential`."""
        return on_one_blas_thread(self._inner.train(loss, context))

    def gradients(self, loss: object, wrt: object, context: Context, /) -> Steps[Any]:
        """As `Sequential`."""
        return on_one_blas_thread(self._inner.gradients(loss, wrt, context))

    def gather(self, parts: Sequence[Do[Any]], context: Context, /) -> Steps[tuple[Any, ...]] | None:
        """The values of branches that begin together; None where they have to go one after the other."""
        begun = self._inner._loops.begin(parts, context)
        return _branches(begun) if begun else None


def _branches(begun: list[Begun]) -> Steps[tuple[Any, ...]]:
    try:
        values: tuple[Any, ...] = yield Branches(begun)
        return values
    finally:
        dropped(begun)


def _cores() -> int:
    """The cores that this process may use."""
    allowed = getattr(os, "sched_getaffinity", None)  # only Linux has it
    return len(allowed(0)) if allowed is not None else os.cpu_count() or 1


class _Plans(Plans):
    """Plans whose programs a crew runs; a structure in which rules may wait for each other gets none."""

    def __init__(
        self,
        loops: Overlapping,
        crew: Crew,
        worth: int = WORTH,
        terms: Terms = TERMS,
        stacked: bool = True,
    ) -> None:
        super().__init__(worth, partial(Divided, crew, terms), stacked)
        self._loops = loops

    def earned(self, nodes: Sequence[Node], mode: Mode) -> bool:
        """As `Plans`."""
        return not self._loops.overlap(nodes) and super().earned(nodes, mode)
