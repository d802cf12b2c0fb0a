"""Where rows lie, and how each launch reads them: a schedule from groups of nodes.

Knows: that rows which are read together share a table; that neighbours are read as a view, and a row which all
rows of a launch read is read once.
Refuses to know: which nodes run together, and how deltas come back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

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
from wengert.arrays.rows import taken
from wengert.run.batching.columns import Columns
from wengert.run.batching.form import Form, Way, stackable
from wengert.run.batching.layout import Layout, Mode, Read, Step, Table
from wengert.run.batching.record import BITS, MASK, Entry, Record
from wengert.run.batching.returning import returned
from wengert.run.batching.reusing import InOrder, Reusing, Uses


def laid_out(record: Record, groups: Places, kept: Iterable[int] | None = None) -> Layout:
    """The layout of nodes whose groups are known; without a way back if the codes are given that are `kept`."""
    counts = flags(record.size, 0)
    for entry in record.entries:
        counts[entry.members] = len(entry.form.results)
    base = cumulated(counts)
    uses = None if kept is None else Uses(record, groups, base, kept)
    orders = [argsort(uses.turns[e.members]) if uses else _order(e, groups) for e in record.entries]
    launches: list[_Launch] = []
    within = flags(record.size, 0)
    for number, order in enumerate(orders):
        launches += _launches(record.entries[number], number, order, groups, base, within)
    launches.sort(key=lambda launch: launch.group)
    block_of, blocks = _blocks(launches, int(base[-1]))
    columns = _columns(launches, block_of, blocks)
    rows = InOrder() if uses is None else Reusing(uses)
    tables, table_of, first, trainable = _tables(launches, _together(launches, columns, blocks), rows)
    table_of_result = table_of[block_of]
    row_of = first[block_of] + spread(within, counts)
    columns.lie(table_of_result, row_of)
    firsts = [*zip(table_of.tolist(), first.tolist(), strict=True)]
    reads = [*_reads(launches, columns, firsts)]
    if uses is None:
        returned(columns, reads, trainable, firsts, tables)
    steps = [*_steps(launches, reads, firsts, rows.dropped())]
    starts: list[list[int]] = [[] for _ in tables]
    dead: set[tuple[int, int]] = set()
    for step in steps:
        dead.update(step.writes if step.dead else ())
        for table, row in step.writes:
            starts[table].append(row)
    lost = None if uses is None else uses.lost
    return Layout(orders, steps, tables, table_of_result, row_of, base, starts, dead, lost)


def _order(entry: Entry, groups: Places) -> Places:
    """In which order launches take the members: as they come, or, if there is one launch, as what they read lies.

    A loss of each node then reads all states as they are, and no copy of them in another order.
    """
    turns = groups[entry.members]
    if entry.counts is None and entry.refs.size and (turns == turns[0]).all():
        read = entry.refs[:, 0] >> BITS
        turns = groups[read] * len(groups) + read
    return argsort(turns)


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
    dead: bool
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
        matrix = taken(results, order).T
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
            entry.dead,
        )


def _goes_alone(form: Form, width: int) -> bool:
    """Whether rows go one by one: a single one of an operation does, for its own rules copy nothing."""
    if form.way is Way.GIVEN:
        return width == 1 or not stackable(form.results[0])
    return form.way is Way.ALONE or (form.way is Way.OPERATION and width == 1)


def _blocks(launches: Iterable[_Launch], results: int) -> tuple[Places, int]:
    """Number what launches bring, a block a result of each: the block of each result, and how many there are."""
    blocks = 0
    block_of = flags(results, 0)
    for launch in launches:
        launch.block = blocks
        for part in range(len(launch.form.results)):
            block_of[launch.results + part] = blocks + part
        blocks += len(launch.form.results)
    return block_of, blocks


def _columns(launches: Sequence[_Launch], block_of: Places, blocks: int) -> Columns:
    return Columns(
        [column for launch in launches for column in launch.columns],
        block_of,
        blocks,
        [sends and not launch.alone for launch in launches for sends in launch.form.sends],
        [launch.alone for launch in launches for _ in launch.columns],
        [launch.dead for launch in launches for _ in launch.columns],
    )


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
            several = next(read)
            if launch.alone or len(several) == 1:
                continue
            first = top(several[0])
            for block in several:
                if upper[block] != first:
                    upper[top(block)] = first
    return [top(block) for block in range(blocks)]


def _tables(
    launches: Iterable[_Launch], together: Sequence[int], rows: InOrder
) -> tuple[list[Table], Places, Places, Places]:
    """All tables, and for each block its table, its first row, and whether it wants deltas."""
    sizes = counted(places(together), len(together)).tolist()
    tables: list[Table] = []
    of: dict[int, int] = {}
    table_of, first, trainable = [], [], []
    for launch in launches:
        for part, kind in enumerate(launch.form.results):
            block, results = launch.block + part, launch.results + part
            name = together[block]
            if name not in of:
                of[name] = len(tables)
                lone = sizes[name] == 1
                loose = not stackable(kind) or (lone and launch.alone and len(launch.results) == 1)
                own = (
                    lone and not launch.alone and not rows.reused
                )  # or it might show rows that are used again
                tables.append(Table(kind, 0, own, loose))
            table = tables[of[name]]
            table.trainable |= kind.trainable
            trainable.append(kind.trainable)
            table_of.append(of[name])
            first.append(rows.first(of[name], table, launch.group, results))
    return tables, places(table_of), places(first), places(trainable)


def _reads(
    launches: Iterable[_Launch], columns: Columns, firsts: Sequence[tuple[int, int]]
) -> Iterator[Read]:
    """How each launch reads its columns."""
    column = 0
    for launch in launches:
        for _ in launch.columns:
            if launch.alone:
                yield Read(-1, columns.rows_of(column), tables=columns.tables_of(column))
            else:
                one = columns.one(column) if launch.counts is None else None
                table, _ = firsts[columns.read[column][0]]
                yield Read(table, columns.at(column)) if one is None else Read(table, one, Mode.ONE)
            column += 1


def _steps(
    launches: Iterable[_Launch],
    reads: Iterable[Read],
    firsts: Sequence[tuple[int, int]],
    drops: Mapping[int, list[int]],
) -> Iterator[Step]:
    read = iter(reads)
    for launch in launches:
        yield Step(
            launch.entry,
            launch.start,
            launch.start + len(launch.results),
            launch.alone,
            [*islice(read, len(launch.columns))],
            [*firsts[launch.block : launch.block + len(launch.form.results)]],
            launch.counts,
            None if launch.counts is None else cumulated(launch.counts)[:-1],
            launch.dead,
            drops.get(launch.group, ()),
        )
