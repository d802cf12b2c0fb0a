"""`profile`: a scope in which runs are timed, and what is known of them afterwards.

Knows: that a profile is a scope of the whole process, restored at its end.
Refuses to know: how time is taken, and how a table and a trace are written.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from typing import Final

from wengert.control import replace_executors
from wengert.profiling.record import Record
from wengert.profiling.rows import Row, rows_of
from wengert.profiling.table import table
from wengert.profiling.timed import Replacing
from wengert.profiling.trace import write

_MOST_EVENTS: Final = 500_000  # the table counts what comes after them, too


class Profile:
    """Measurements so far."""

    def __init__(self, record: Record, replacing: Replacing) -> None:
        self._record = record
        self._replacing = replacing

    @property
    def rows(self) -> tuple[Row, ...]:
        """A row for each operation on each line, the one that took longest first; times of one are in no other."""
        return rows_of(self._record)

    @property
    def seconds(self) -> float:
        """The time from the beginning of the block to its end, or to now."""
        return self._record.elapsed / 1e9

    @property
    def missed(self) -> dict[str, int]:
        """How many runs were not timed, by the class of their executor: `Batched`, and those of others."""
        return dict(self._replacing.missed)

    def table(self, most: int | None = 30) -> str:
        """The first `most` rows as text, and the sums of all."""
        return table(
            self.rows, self.seconds, len(self._record.threads), self.missed, self._replacing.compiled, most
        )

    def trace(self, path: str | PathLike[str]) -> None:
        """Write the events as JSON that chrome://tracing and https://ui.perfetto.dev open.

        Operations nest in loops and cells on the thread that computed them; runs and binds, which may wait, are on
        lines of their own. Raises OSError where the file cannot be written.
        """
        write(self._record, path)


@contextmanager
def profile(*, compiled: bool = False, most_events: int = _MOST_EVENTS) -> Iterator[Profile]:
    """Time every run that begins in the block, in all threads; the profile can be read while it goes on and after.

    Runs go node by node on one thread each, whatever executor they name: a structure that comes back would else run
    by a plan, which is faster and knows no operations any more. `compiled=True` leaves it to plans, and a call of one
    is one row. `Batched`, which runs many nodes as one, and executors of others go on as they are and are not timed;
    the table says how many runs these were. Of profiles in each other the inner one records. The first `most_events`
    events are kept for a trace.

    >>> import wengert as wg
    >>> from wengert.plugins import SGD
    >>> w = SGD(learning_rate=0.1).double_weight(2.0)
    >>> with profile() as p:
    ...     for _ in range(3):
    ...         loss = wg.square(w * 3.0).train().run()
    >>> {row.operation: (row.forward.calls, row.backward.calls, row.update.calls) for row in p.rows}["square"]
    (3, 3, 0)
    """
    record = Record(most_events)
    replacing = Replacing(record, compiled)
    before = replace_executors(replacing)
    try:
        yield Profile(record, replacing)
    finally:
        replace_executors(before)
        record.end()
