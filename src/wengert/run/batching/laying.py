"""Where rows lie, and how each launch reads them: a schedule from groups of nodes.

Knows: that rows which are read together share a table; that neighbours are read as a view, and a row which all
rows of a launch read is read once.
Refuses to know: which nodes run together, and how deltas come back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from wengert.arrays.places import (
    Places,
    argsort,
    counted,
    cumulated,
    flags,
    lengths,
    places,
    ranges,
    span,
    spread,
    starts_of_runs,
)
from wengert.run.batching.columns import Columns
from wengert.run.batching.form import Form, Way, stackable
from wengert.run.batching.layout import Layout, Mode, Read, Step, Table
from wengert.run.batching.record import BITS, MASK, Entry, Record
from wengert.run.batching.returning import Returning


def laid_out(record: Record, groups: Places) -> Layout:
    """The layout of nodes whose groups are known."""
    counts = flags(record.size, 0)
    for entry in record.entries:
        counts[entry.members] = len(entry.form.results)
    base = cumulated(counts)
    orders = [argsort(groups[entry.members]) for entry in record.entries]
    launches: list[_Launch] = []
    within = flags(record.size, 0)
    for number, order in enumerate(orders):
        launches += _launches(record.entries[number], number, order, groups, base, within)
    launches.sort(key=lambda launch: launch.group)
    blocks = 0
    block_of = flags(int(base[-1]), 0)
    for launch in launches:
        launch.block = blocks
        for part in range(len(launch.form.results)):
            block_of[launch.results + part] = blocks + part
        blocks += len(launch.form.results)
    columns = Columns([column for launch in launches for column in launch.columns], block_of, blocks)
    tables, table_of, first, trainable = _tables(launches, _together(launches, columns, blocks))
    table_of_result = table_of[block_of]
    row_of = first[block_of] + spread(within, counts)
    columns.lie(table_of_result, row_of)
    returning = Returning(columns, trainable, table_of, first, tables)
    steps = [_step(launch, record, columns, returning, table_of, first) for launch in launches]
    returning.plan()
    starts: list[list[int]] = [[] for _ in tables]
    dead: set[tuple[int, int]] = set()
    for step in steps:
        dead.update(step.writes if step.dead else ())
        for table, row in step.writes:
            starts[table].append(row)
    return Layout(orders, steps, tables, table_of_result, row_of, base, starts, dead)


@dataclass(slots=True)
class _Launch:
    """One group while its place is looked for."""

    group: int
    entry: int
    form: Form
    start: int
    results: Places  # of each member, its first
    columns: list[Places]  # of each operand, the results that are read
    counts: Places | None
    alone: bool
    block: int = 0  # of its first result


def _launches(
    entry: Entry, number: int, order: Places, groups: Places, base: Places, within: Places
) -> Iterator[_Launch]:
    """Those of one entry; `within` gets the place of each member in its launch."""
    form, members = entry.form, entry.members[order]
    names = groups[members]
    starts = starts_of_runs(names)
    widths = lengths(starts, len(members))
    within[members] = span(0, len(members)) - spread(starts, widths)
    results = base[entry.refs >> BITS] + (entry.refs & MASK)
    first = base[members]
    counts, bounds = None, None
    if entry.counts is None:
        matrix = results[order].T
    else:
        counts = entry.counts[order]
        matrix = results[ranges(cumulated(entry.counts)[:-1][order], counts)][None]
        bounds = cumulated(counts)
    for group, start, width in zip(names[starts].tolist(), starts.tolist(), widths.tolist(), strict=True):
        stop = start + width
        read = slice(start, stop) if bounds is None else slice(int(bounds[start]), int(bounds[stop]))
        yield _Launch(
            group,
            number,
            form,
            start,
            first[start:stop],
            [column[read] for column in matrix],
            None if counts is None else counts[start:stop],
            _goes_alone(form, width),
        )


def _goes_alone(form: Form, width: int) -> bool:
    """Whether rows go one by one: a single one of an operation does, for its own rules copy nothing."""
    if form.way is Way.GIVEN:
        return width == 1 or not stackable(form.results[0])
    return form.way is Way.ALONE or (form.way is Way.OPERATION and width == 1)


def _together(launches: Iterable[_Launch], columns: Columns, blocks: int) -> list[int]:
    """For each block the first of those that are read with it."""
    upper = list(range(blocks))

    def top(block: int) -> int:
        while upper[block] != block:
            upper[block] = block = upper[upper[block]]
        return block

    read = iter(columns.read)
    for launch in launches:
        for _ in launch.columns:
            first, *others = next(read)
            for block in () if launch.alone else others:
                upper[top(block)] = top(first)
    return [top(block) for block in range(blocks)]


def _tables(
    launches: Iterable[_Launch], together: Sequence[int]
) -> tuple[list[Table], Places, Places, Places]:
    """All tables, and for each block its table, its first row, and whether it wants deltas."""
    sizes = counted(places(together), len(together)).tolist()
    tables: list[Table] = []
    of: dict[int, int] = {}
    table_of, first, trainable = [], [], []
    for launch in launches:
        for block, kind in enumerate(launch.form.results, launch.block):
            name = together[block]
            if name not in of:
                of[name] = len(tables)
                lone = sizes[name] == 1
                loose = not stackable(kind) or (lone and launch.alone and len(launch.results) == 1)
                tables.append(Table(kind, 0, lone and not launch.alone, loose))
            table = tables[of[name]]
            table.trainable |= kind.trainable
            trainable.append(kind.trainable)
            table_of.append(of[name])
            first.append(table.rows)
            table.rows += len(launch.results)
    return tables, places(table_of), places(first), places(trainable)


def _step(
    launch: _Launch, record: Record, columns: Columns, returning: Returning, table_of: Places, first: Places
) -> Step:
    dead = record.entries[launch.entry].dead
    reads = []
    for sends in launch.form.sends:
        column = len(returning.reads)
        if launch.alone:
            read = Read(-1, columns.rows_of(column), tables=columns.tables_of(column))
        else:
            one = columns.one(column) if launch.counts is None else None
            table = int(table_of[columns.read[column][0]])
            read = Read(table, columns.at(column)) if one is None else Read(table, one, Mode.ONE)
        reads.append(read)
        returning.add(read, sends, launch.alone, dead)
    width, results = len(launch.results), len(launch.form.results)
    writes = [(int(table_of[b]), int(first[b])) for b in range(launch.block, launch.block + results)]
    starts = None if launch.counts is None else cumulated(launch.counts)[:-1]
    stop = launch.start + width
    return Step(launch.entry, launch.start, stop, launch.alone, reads, writes, launch.counts, starts, dead)
