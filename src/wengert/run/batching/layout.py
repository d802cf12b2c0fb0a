"""Where rows lie: tables of rows in the order of launches, and how each launch reads, writes and sends back.

Knows: that rows which are read together share a table; that neighbours are read as a view, and a row which all
rows of a launch read is read once; that the last reader of a row is the first to send it a delta, and may put it
there where all others add.
Refuses to know: values, and what a launch computes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias

from wengert.arrays.places import (
    Places,
    argsort,
    consecutive,
    counted,
    cumulated,
    distinct,
    flags,
    marked,
    places,
    ranges,
    repeats,
    runs_of,
    span,
)
from wengert.graph.kinds import Kind
from wengert.run.batching.form import Form, Way, stackable
from wengert.run.batching.record import BITS, MASK, Record

Runs: TypeAlias = tuple[Places, Places, Places]


class Mode(IntEnum):
    """How the deltas of an operand's rows reach their places."""

    PUT = 0  # nobody else has been there
    ADD = 1
    SUM = 2  # rows repeat: `runs`
    ONE = 3  # all rows are one


@dataclass(slots=True)
class Read:
    """One operand of a launch."""

    table: int
    at: Places | slice
    mode: Mode = Mode.ADD
    runs: Runs | None = None
    tables: Places | None = None  # of rows that are read one by one, the table of each
    to: Places | slice | None = None  # the rows that deltas go to; None where none does
    feeds: tuple[tuple[int, int], ...] = ()  # the writes that brought those rows
    some: Places | None = None  # which rows of the launch those are, if not all

    def places(self) -> Iterator[tuple[int, int]]:
        """Table and row of each row that is read by itself."""
        assert self.tables is not None and not isinstance(self.at, slice)
        return zip(self.tables.tolist(), self.at.tolist(), strict=True)

    @property
    def one(self) -> bool:
        """Whether all rows of the launch read the same one."""
        return self.mode is Mode.ONE


@dataclass(slots=True)
class Step:
    """One launch: rows `start` to `stop` of its entry, in the entry's own order."""

    entry: int
    start: int
    stop: int
    alone: bool  # row by row, by the ordinary rules
    reads: list[Read]
    writes: list[tuple[int, int]]  # of each result, its table and first row
    counts: Places | None = None  # of sums: how many rows of the read belong to each
    starts: Places | None = None  # and where those of each begin
    dead: bool = False  # no delta comes from the roots

    @property
    def width(self) -> int:
        return self.stop - self.start


@dataclass(slots=True)
class Table:
    """Rows of one kind. `own`: of one launch alone, which brings it. `loose`: a list, of any values."""

    kind: Kind
    rows: int
    own: bool
    loose: bool
    trainable: bool = False
    clear: Places | slice | None = None  # rows of the deltas that nobody puts before others add

    def waits(self, row: int) -> bool:
        """Whether a delta that is there before all others is lost, because a launch puts its own."""
        if isinstance(self.clear, slice) or self.loose:
            return False
        return self.clear is None or row not in self.clear


@dataclass(slots=True)
class Layout:
    """A schedule: nothing in it belongs to one expression, so all of its structure may share it."""

    orders: list[Places]  # of each entry, its members in the order of launches
    steps: list[Step]
    tables: list[Table]
    table_of: Places  # of each result
    row_of: Places
    base: Places  # of each node, its first result
    starts: list[list[int]]  # of each table, the first rows of launches
    dead: set[tuple[int, int]]  # writes to which no delta comes from the roots

    def write_of(self, place: tuple[int, int]) -> tuple[int, int]:
        """Table and first row of the launch that brought a row."""
        table, row = place
        starts = self.starts[table]
        return table, starts[bisect_right(starts, row) - 1]

    def surprised(self, place: tuple[int, int]) -> bool:
        """Whether a delta that is at a row before all others is not planned for, so that all have to add."""
        return self.tables[place[0]].waits(place[1]) or self.write_of(place) in self.dead

    def place(self, code: int) -> tuple[int, int]:
        """Table and row of a result."""
        result = int(self.base[code >> BITS]) + (code & MASK)
        return int(self.table_of[result]), int(self.row_of[result])


def laid_out(record: Record, groups: Places) -> Layout:
    """The layout of nodes whose groups are known."""
    forms = [entry.form for entry in record.entries]
    counts = flags(len(record.nodes), 0)
    for entry in record.entries:
        counts[entry.members] = len(entry.form.results)
    base = cumulated(counts)
    orders = [argsort(groups[entry.members]) for entry in record.entries]
    launches = sorted(_launches(record, groups, orders, base), key=lambda launch: launch.group)
    block_of, within = flags(int(base[-1]), 0), flags(int(base[-1]), 0)
    blocks = 0
    for launch in launches:
        launch.block = blocks
        for part in range(len(forms[launch.entry].results)):
            results = base[launch.members] + part
            block_of[results], within[results] = blocks + part, span(0, len(results))
        blocks += len(forms[launch.entry].results)
    tables, table_of, first, trainable = _tables(launches, forms, _together(launches, block_of, blocks))
    table_of_result, row_of = table_of[block_of], first[block_of] + within
    steps = [_step(launch, forms, table_of_result, row_of, table_of, first) for launch in launches]
    for launch, step in zip(launches, steps, strict=True):
        step.dead = record.entries[step.entry].dead
        for column, read, sends in zip(launch.columns, step.reads, forms[step.entry].sends, strict=True):
            if sends:
                _send(read, block_of[column], trainable, table_of, first)
    members = [entry.members[order] for entry, order in zip(record.entries, orders, strict=True)]
    _plan_deltas(steps, tables)
    starts: list[list[int]] = [[] for _ in tables]
    dead: set[tuple[int, int]] = set()
    for step in steps:
        dead.update(step.writes if step.dead else ())
        for table, row in step.writes:
            starts[table].append(row)
    return Layout(members, steps, tables, table_of_result, row_of, base, starts, dead)


@dataclass(slots=True)
class _Launch:
    """One group while its place is looked for."""

    group: int
    entry: int
    start: int
    members: Places
    columns: list[Places]  # of each operand, the results that are read
    counts: Places | None
    alone: bool
    block: int = 0  # of its first result


def _launches(record: Record, groups: Places, orders: Sequence[Places], base: Places) -> Iterator[_Launch]:
    for number, (entry, order) in enumerate(zip(record.entries, orders, strict=True)):
        members, form = entry.members[order], entry.form
        names, widths = distinct(groups[members])
        results = base[entry.refs >> BITS] + (entry.refs & MASK)
        if entry.counts is None:
            results = results[order]
        else:
            first = cumulated(entry.counts)[:-1]
            results = results[ranges(first[order], entry.counts[order])]
        start = taken = 0
        for group, width in zip(names.tolist(), widths.tolist(), strict=True):
            counts = None
            if entry.counts is None:
                columns = [results[start : start + width, i] for i in range(len(form.rows))]
            else:
                counts = entry.counts[order][start : start + width]
                columns = [results[taken : taken + int(counts.sum())]]
                taken += int(counts.sum())
            alone = _goes_alone(form, width)
            yield _Launch(group, number, start, members[start : start + width], columns, counts, alone)
            start += width


def _goes_alone(form: Form, width: int) -> bool:
    """Whether rows go one by one: a single one of an operation does, for its own rules copy nothing."""
    if form.way is Way.GIVEN:
        return width == 1 or not stackable(form.results[0])
    return form.way is Way.ALONE or (form.way is Way.OPERATION and width == 1)


def _together(launches: Iterable[_Launch], block_of: Places, blocks: int) -> list[int]:
    """For each block the first of those that are read with it."""
    upper = list(range(blocks))

    def top(block: int) -> int:
        while upper[block] != block:
            upper[block] = block = upper[upper[block]]
        return block

    for launch in launches:
        for column in () if launch.alone else launch.columns:
            read = block_of[column]
            if len(read) > 1 and (read != read[0]).any():
                first = top(int(read[0]))
                for block in distinct(read)[0].tolist():
                    upper[top(block)] = first
    return [top(block) for block in range(blocks)]


def _tables(
    launches: Iterable[_Launch], forms: Sequence[Form], together: Sequence[int]
) -> tuple[list[Table], Places, Places, Places]:
    """All tables, and for each block its table, its first row, and whether it wants deltas."""
    sizes = counted(places(together), len(together)).tolist()
    tables: list[Table] = []
    of: dict[int, int] = {}
    table_of, first = flags(len(together), 0), flags(len(together), 0)
    trainable = flags(len(together))
    for launch in launches:
        for part, kind in enumerate(forms[launch.entry].results):
            block = launch.block + part
            name = together[block]
            if name not in of:
                of[name] = len(tables)
                lone = sizes[name] == 1
                loose = not stackable(kind) or (lone and launch.alone and len(launch.members) == 1)
                tables.append(Table(kind, 0, lone and not launch.alone, loose))
            table = tables[of[name]]
            table.trainable |= kind.trainable
            trainable[block] = kind.trainable
            table_of[block], first[block] = of[name], table.rows
            table.rows += len(launch.members)
    return tables, table_of, first, trainable


def _step(
    launch: _Launch, forms: Sequence[Form], table_of: Places, row_of: Places, of_block: Places, first: Places
) -> Step:
    reads = []
    for column in launch.columns:
        rows = row_of[column]
        one = len(rows) > 1 and launch.counts is None and bool((rows == rows[0]).all())
        at: Places | slice = rows
        if one or (not launch.alone and consecutive(rows)):
            at = slice(int(rows[0]), int(rows[0] if one else rows[-1]) + 1)
        reads.append(Read(int(table_of[column[0]]) if len(column) else -1, at, Mode.ONE if one else Mode.ADD))
        if launch.alone:
            reads[-1] = Read(-1, rows)
            reads[-1].tables = table_of[column]
    width, results = len(launch.members), len(forms[launch.entry].results)
    writes = [(int(of_block[b]), int(first[b])) for b in range(launch.block, launch.block + results)]
    starts = None if launch.counts is None else cumulated(launch.counts)[:-1]
    return Step(
        launch.entry, launch.start, launch.start + width, launch.alone, reads, writes, launch.counts, starts
    )


def _send(read: Read, blocks: Places, trainable: Places, table_of: Places, first: Places) -> None:
    """Where deltas go: not to literals that lie among values of nodes."""
    wants = trainable[blocks]
    if wants.all():
        read.to = read.at
    elif wants.any():
        read.some = marked(wants)
        rows = span(read.at.start, read.at.stop) if isinstance(read.at, slice) else read.at
        read.to = rows[read.some]
    names, _ = distinct(blocks)
    read.feeds = tuple((int(table_of[b]), int(first[b])) for b in names.tolist() if trainable[b])


def _plan_deltas(steps: Sequence[Step], tables: Sequence[Table]) -> None:
    """How deltas reach each table: the last reader of a row is the first to send it one."""
    last = [flags(table.rows, -1) for table in tables]
    put = [flags(table.rows) for table in tables]
    batched = [step for step in steps if not step.alone]
    sending = [(read, read.to, step.dead) for step in batched for read in step.reads if read.to is not None]
    for code, (read, to, dead) in enumerate(sending):
        if not dead:
            last[read.table][to] = code
    for step in steps:
        for read in step.reads if step.alone else ():
            for number, row in read.places():
                last[number][row] = -2  # by itself it only adds
    scratch = flags(max((table.rows for table in tables), default=0), 0)
    for code, (read, to, _) in enumerate(sending):
        if read.mode is Mode.ONE or tables[read.table].loose:
            continue
        if not isinstance(to, slice) and repeats(to, scratch):
            read.mode, read.runs = Mode.SUM, runs_of(to)
        elif (last[read.table][to] == code).all():
            read.mode = Mode.PUT
            put[read.table][to] = True
    for table, done in zip(tables, put, strict=True):
        rest = marked(~done)
        if len(rest):
            table.clear = slice(0, table.rows) if len(rest) == table.rows else rest
