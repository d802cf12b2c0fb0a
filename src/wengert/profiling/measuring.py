"""`profile`: a scope in which runs are timed, and its measurements as rows, as a table and as a trace.

Knows: that what was done on all threads is summed by operation and line, forward, backward and in updates; that a
weight's update is a step and a change, and that what a commit does besides is a row of its own; that a profile is a
scope of the whole process, restored at its end; the Trace Event Format: complete events (`X`), which nest on a thread
by their times, and pairs (`b`, `e`) for what may overlap.
Refuses to know: how time is taken.

Source: "Trace Event Format", the Chromium project.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from operator import attrgetter
from os import PathLike
from typing import Final, Literal, TypeAlias

from wengert.control import replace_executors
from wengert.graph.operation import CELL
from wengert.profiling.programs import ProgramTimes, near, plain
from wengert.profiling.record import Event, Part, ProfileRecord, Thread
from wengert.profiling.timed import Replacing
from wengert.site import position

_OF_BATCHES: Final = "Rows of `Batched` count launches, each of many nodes; a first launch makes its kernels."
_MOST_EVENTS: Final = 500_000  # the table counts what comes after them, too

Column: TypeAlias = Literal["forward", "backward", "update", "plan"]

_COLUMN_OF: Final[Mapping[Part, Column]] = {
    "forward": "forward",
    "bind": "forward",
    "backward": "backward",
    "step": "update",
    "change": "update",
    "commit": "update",
    "plan": "plan",
}
_seconds = attrgetter("seconds")


@dataclass(frozen=True)
class Cost:
    """Number of times something was done, and the time of its own that it took."""

    calls: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Row:
    """One operation on one line; `line` is `file:line`, or empty for what nobody wrote."""

    operation: str
    line: str
    forward: Cost = Cost()
    backward: Cost = Cost()
    update: Cost = Cost()
    plan: Cost = Cost()

    @property
    def seconds(self) -> float:
        """All of it."""
        return sum(cost.seconds for cost in self.costs.values())

    @property
    def costs(self) -> dict[Column, Cost]:
        """By column."""
        return {"forward": self.forward, "backward": self.backward, "update": self.update, "plan": self.plan}


def rows_of(record: ProfileRecord) -> tuple[Row, ...]:
    """All rows, the one that took longest first."""
    found: dict[tuple[str, str], dict[Column, Cost]] = {}
    for thread in tuple(record.threads):
        for (part, name, _, _), total in tuple(thread.sums.items()):
            if part not in _COLUMN_OF:
                continue
            line = position(*total.origin)
            costs = found.setdefault((plain(name), line), {})
            before = costs.get(_COLUMN_OF[part], Cost())
            calls = 0 if part == "change" else total.calls  # the second half of an update
            costs[_COLUMN_OF[part]] = Cost(before.calls + calls, before.seconds + total.nanoseconds / 1e9)
    rows = [Row(name, line, **costs) for (name, line), costs in found.items()]
    return tuple(sorted(rows, key=_seconds, reverse=True))


class Profile:
    """Measurements so far."""

    def __init__(self, record: ProfileRecord, replacing: Replacing) -> None:
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
        """Number of runs that were not timed, by the class of their executor: `Batched`, and those of others."""
        return dict(self._replacing.missed)

    def table(self, most: int | None = 30) -> str:
        """The first `most` rows as text, and the sums of all."""
        table = _table(
            self.rows, self.seconds, len(self._record.threads), self.missed, self._replacing.compiled, most
        )
        return f"{table}\n{_OF_BATCHES}" if self._record.batches else table

    @property
    def programs(self) -> tuple[ProgramTimes, ...]:
        """The programs that ran, with `program=True`: the one that took longest first; `str` of one is its page."""
        found = [x.times() for x in tuple(self._record.programs) if x.runs]
        found += [x.times() for x in tuple(self._record.batches) if x.runs]
        return tuple(sorted(found, key=_seconds, reverse=True))

    def trace(self, path: str | PathLike[str]) -> None:
        """Write the events as JSON that chrome://tracing and https://ui.perfetto.dev open.

        Operations nest in loops and cells on the thread that computed them; runs and binds, which may wait, are on
        lines of their own. Raises OSError where the file cannot be written.
        """
        _write(self._record, path)


_COLUMNS: Final[tuple[Column, ...]] = ("forward", "backward", "update", "plan")


def _table(
    rows: Sequence[Row],
    seconds: float,
    threads: int,
    missed: Mapping[str, int],
    compiled: bool,
    most: int | None,
) -> str:
    """The rows under their heads, longest first, and the sums."""
    total = sum(row.seconds for row in rows)
    columns = [c for c in _COLUMNS if any(row.costs[c].calls for row in rows)]
    shown = rows if most is None else rows[:most]
    lines = [_head(columns), *([_line(row.operation, row, columns, total) for row in shown])]
    cells = [list(column) for column in zip(*lines, strict=True)]
    widths = [max(map(len, column)) for column in cells]
    text = [_aligned(line, widths) for line in lines]
    if len(shown) < len(rows):
        rest = sum(row.seconds for row in rows[len(shown) :])
        text.append(f"... and {len(rows) - len(shown)} rows of {rest * 1e3:.3f} ms together")
    return "\n".join([*text, *_notes(rows, seconds, threads, missed, compiled)])


def _head(columns: Sequence[Column]) -> list[str]:
    return ["operation", "line", *(word for c in columns for word in (c, "ms")), "total ms", "share"]


def _line(operation: str, row: Row, columns: Sequence[Column], total: float) -> list[str]:
    numbers = []
    for column in columns:
        cost = row.costs[column]
        numbers += [f"{cost.calls:,}", f"{cost.seconds * 1e3:,.3f}"] if cost.calls else ["", ""]
    share = row.seconds / total if total else 0.0
    return [operation, near(row.line), *numbers, f"{row.seconds * 1e3:,.3f}", f"{share:.1%}"]


def _aligned(line: Sequence[str], widths: Sequence[int]) -> str:
    words = [
        f"{word:{width}}" if i < 2 else f"{word:>{width}}"
        for i, (word, width) in enumerate(zip(line, widths, strict=True))
    ]
    return "  ".join(words).rstrip()


def _notes(
    rows: Sequence[Row], seconds: float, threads: int, missed: Mapping[str, int], compiled: bool
) -> list[str]:
    total = sum(row.seconds for row in rows)
    share = f" ({total / seconds:.0%})" if threads <= 1 and seconds else f" on {threads} threads"
    notes = [
        f"{total * 1e3:,.3f} ms in these rows, of {seconds * 1e3:,.3f} ms{share}; the rest builds expressions, runs "
        "binds and the program, and measures.",
    ]
    if compiled and any(row.plan.calls for row in rows):
        notes.append("Structures that came back ran by their plans, a row for each; others ran node by node.")
    elif compiled and total:
        notes.append("No structure had a plan: it came back too seldom, or its operations have other rules.")
    elif total:
        notes.append(
            "Every run went node by node on the interpreter; without a profile a structure that comes back has a plan, "
            "unless its operations have other rules, as those of a `Backend`."
        )
    for executor, runs in missed.items():
        own = "; print its `report`" if executor == "Batched" else ""
        notes.append(f"{runs:,} runs by {executor} were not timed{own}.")
    return notes


@contextmanager
def profile(
    *, compiled: bool = False, program: bool = False, most_events: int = _MOST_EVENTS
) -> Generator[Profile]:
    """Time every run that begins in the block, in all threads; the profile can be read while it goes on and after.

    Runs go node by node on one thread each, whatever executor they name: a structure that comes back would else run
    by a plan, which is faster and knows no operations any more. `compiled=True` leaves it to plans, and a call of one
    is one row. With `program=True` a structure that comes back has a program from the third run on, whether that pays
    or not, and `programs` has the time of each of its equations; of `Batched` it has a page for each question on each
    line, with the equations of all launches, of the runs for which kernels were there. Without it `Batched`, which runs
    many nodes as one, and executors of others go on as they are and are not timed; the table says how many runs these
    were. Of profiles in each other the inner one records. The first `most_events` events are kept for a trace.

    >>> import wengert as wg
    >>> from wengert.plugins import SGD
    >>> w = SGD(learning_rate=0.1).double_weight(2.0)
    >>> with profile() as p:
    ...     for _ in range(3):
    ...         loss = wg.square(w * 3.0).train().run()
    >>> {row.operation: (row.forward.calls, row.backward.calls, row.update.calls) for row in p.rows}["square"]
    (3, 3, 0)
    """
    record = ProfileRecord(most_events)
    replacing = Replacing(record, compiled, program)
    before = replace_executors(replacing)
    try:
        yield Profile(record, replacing)
    finally:
        replace_executors(before)
        record.end()


_Json: TypeAlias = dict[str, object]
_Arguments: TypeAlias = dict[tuple[int, int, int], _Json]  # of the events with one signature and origin
_start, _seconds = attrgetter("start"), attrgetter("seconds")


def _write(record: ProfileRecord, path: str | os.PathLike[str]) -> None:
    """The trace as a file, an event a line; times are in microseconds."""
    with open(path, "w", encoding="utf-8") as file:
        file.write('{"displayTimeUnit": "ns", "traceEvents": [\n')
        for event in _events(record):
            file.write(json.dumps(event) + ",\n")
        file.write(json.dumps(_named("process_name", 0, "wengert")))
        file.write(f'\n], "otherData": {{"events left out": {record.dropped}}}}}\n')


def _events(record: ProfileRecord) -> Iterator[_Json]:
    for thread in tuple(record.threads):
        yield _named("thread_name", thread.number, thread.name)
        known: _Arguments = {}
        for event in sorted(thread.events, key=_start):
            key = (id(event.signature), id(event.origin[0]), event.origin[1])  # the events keep both alive
            if key not in known:
                known[key] = _arguments(event)
            yield from _written(event, thread, known[key])


def _named(what: str, thread: int, name: str) -> _Json:
    return {"ph": "M", "name": what, "pid": os.getpid(), "tid": thread, "args": {"name": name}}


def _written(event: Event, thread: Thread, arguments: _Json) -> Iterator[_Json]:
    common = {"name": plain(event.name), "cat": event.part, "pid": os.getpid(), "tid": thread.number}
    start, elapsed = event.start / 1e3, event.elapsed / 1e3
    if event.number is None:
        yield {**common, "ph": "X", "ts": start, "dur": elapsed, "args": arguments}
    else:
        yield {**common, "ph": "b", "id": event.number, "ts": start, "args": arguments}
        yield {**common, "ph": "e", "id": event.number, "ts": start + elapsed}


def _arguments(event: Event) -> _Json:
    arguments: _Json = {"line": event.line} if event.line else {}
    signature = event.signature
    if signature is not None:
        arguments["operands"] = [kind.text() for kind in signature.kinds]
        arguments["result"] = signature.kind.text()
        if signature.mode != CELL:  # whose arguments are a whole structure
            arguments |= {name: repr(value) for name, value in signature.attributes}
    return arguments
