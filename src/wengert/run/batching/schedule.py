"""Schedules: tables of rows in the order of launches, and how each launch gathers its operands and scatters deltas.

Knows: that a schedule is numbers only, so all of its structure may share it; that rows which are read together share
a table, neighbours are read as a view, and a row which all rows of a launch read is read once; that where no delta
comes back a row is free once its last reader has run, beside others that are free from then on, because the rows of a
launch stand in the order of their last readers; that rows which a gather repeats are summed first, and those that many
repeat, such as the words of sentences, once for all.
Refuses to know: which nodes run together, values, and what a launch computes.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

from wengert.arrays.places import (
    Flags,
    Places,
    argsort,
    concatenate,
    counted,
    cumulated,
    distinct,
    flags,
    jumps,
    least_and_greatest,
    lengths,
    marked,
    occurring,
    places,
    ranges,
    repeating,
    runs_of,
    span,
    spread,
    starts_of_runs,
    sums,
    truths,
)
from wengert.arrays.rows import taken
from wengert.graph.kinds import Kind
from wengert.run.batching.region import BITS, MASK, Group, GroupForm, Region, RowSource, stackable

Place: TypeAlias = tuple[int, int]  # of a row: its table, and where in that
Runs: TypeAlias = tuple[Places, Places, Places]

_SEVERAL: Final = (
    3  # launches that repeat the rows of another one, so that their deltas are summed once for all
)


@dataclass(slots=True)
class Read:
    """One operand of a launch."""

    table: int
    at: Places | slice
    one: bool = False  # all rows of the launch are this one
    runs: Runs | None = None  # of rows that repeat, whose deltas are summed first
    tables: Places | None = None  # of rows that are read one by one, the table of each
    to: Places | slice | None = None  # the rows that deltas go to; None where none does
    feeds: tuple[Place, ...] = ()  # the writes that brought those rows
    some: Places | None = None  # which rows of the launch those are, if not all
    first: bool = False  # no other read has sent a delta to one of those rows before
    waiting: tuple[tuple[Place, Places, int], ...] = ()  # writes, the rows for them, and where these wait


@dataclass(slots=True)
class Launch:
    """One launch: so many rows of its group, in the group's own order."""

    group: int
    rows: slice
    width: int
    alone: bool  # row by row, by the ordinary rules
    counts: Places | None = None  # of sums: how many rows of the read belong to each
    starts: Places | None = None  # and where those of each begin
    reads: list[Read] = field(default_factory=list)
    writes: list[Place] = field(default_factory=list)  # of each result, its table and first row
    drops: Sequence[int] = ()  # tables that nobody reads after it


@dataclass(slots=True)
class Table:
    """Rows of one kind. `own`: of one launch alone, which brings it. `loose`: a list, of any values."""

    kind: Kind
    own: bool
    loose: bool
    rows: int = 0
    trainable: bool = False


@dataclass(slots=True)
class Schedule:
    """All launches of a structure, and where each result lies; nothing in it belongs to one expression."""

    orders: list[Places]  # of each group, the order in which launches take its members
    launches: list[Launch]
    tables: list[Table]
    table_of: Places  # of each result
    row_of: Places
    base: Places  # of each node, its first result
    starts: list[list[int]]  # of each table, the first rows of launches
    lost: Flags | None = (
        None  # of each node, whether others use its rows in the end; None: there is a way back
    )
    # by write, the deltas of all its readers that are summed once: how many, and how
    waiting: dict[Place, tuple[int, Runs]] = field(default_factory=dict)

    def write_of(self, place: Place) -> Place:
        """Table and first row of the launch that brought a row."""
        table, row = place
        starts = self.starts[table]
        return table, starts[bisect_right(starts, row) - 1]

    def place(self, code: int) -> Place | None:
        """Table and row of a result; None if its row is not its own in the end."""
        result = self.base.item(code >> BITS) + (code & MASK)
        if self.lost is not None and self.lost[result]:
            return None
        return self.table_of.item(result), self.row_of.item(result)


def scheduled(region: Region, launch_of: Places, kept: Iterable[int] | None = None) -> Schedule:
    """The schedule of nodes whose launches are known; without a way back if the codes are given that are `kept`."""
    counts = flags(region.size, 0)
    for group in region.groups:
        counts[group.members] = len(group.form.results)
    base = cumulated(counts)
    live = None if kept is None else Liveness(region, launch_of, base, kept)
    drafts, orders, within = _drafts(region, launch_of, base, live)
    parts = span(0, int(base[-1])) - spread(base[:-1], counts)
    output_of = spread(places([draft.output for draft in drafts])[launch_of], counts) + parts
    outputs = drafts[-1].output + len(drafts[-1].form.results)
    gathers = _Gathers(drafts, output_of, outputs)
    rows = RowPlaces(live)
    tables, table_of, first, trainable = _tables(drafts, _together(drafts, gathers, outputs), rows)
    table_of_result = table_of[output_of]
    row_of = first[output_of] + spread(within, counts)
    gathers.lie(table_of_result, row_of)
    firsts = [*zip(table_of.tolist(), first.tolist(), strict=True)]
    _lie(drafts, gathers, firsts, rows.dropped())
    launches = [draft.launch for draft in drafts]
    waiting = {}
    if live is None:
        reads = [read for launch in launches for read in launch.reads]
        waiting = _plan_scatters(gathers, reads, trainable, firsts, tables)
    starts: list[list[int]] = [[] for _ in tables]
    for launch in launches:
        for table, row in launch.writes:
            starts[table].append(row)
    lost = None if live is None else live.lost
    return Schedule(orders, launches, tables, table_of_result, row_of, base, starts, lost, waiting)


# -- launches and their tables ----------------------------------------------------------------------


@dataclass(slots=True)
class _Draft:
    """One launch while its rows are looked for; `turn`: its place in the order of launches."""

    turn: int
    form: GroupForm
    results: Places  # of each member, its first
    operands: list[Places]  # of each, the results that are read
    launch: Launch
    output: int  # the number of its first output


def _drafts(
    region: Region, launch_of: Places, base: Places, live: Liveness | None
) -> tuple[list[_Draft], list[Places], Places]:
    """All launches, the order of each group's members, and of each node its place in its launch."""
    groups = region.groups
    members = concatenate([group.members for group in groups])
    turns = (launch_of if live is None else live.turns)[members]
    order = argsort(turns)  # launch by launch; in what follows of the members of all groups
    members = members[order]
    starts = starts_of_runs(launch_of[members])
    widths = lengths(starts, len(members))
    sizes = places([len(group.members) for group in groups])
    group_of = spread(span(0, len(groups)), sizes)[order[starts]]
    within = flags(region.size, 0)
    within[members] = span(0, len(members)) - spread(starts, widths)
    launches = counted(group_of, len(groups)).tolist()
    drawn = _drawn(groups, turns, [live is not None or several > 1 for several in launches], base)
    results, output, drafts, begun = base[members], 0, [], [0] * len(groups)
    each = zip(group_of.tolist(), starts.tolist(), widths.tolist(), strict=True)
    for turn, (number, start, width) in enumerate(each):
        group, (_, operands, counts, bounds) = groups[number], drawn[number]
        form, begin = group.form, begun[number]
        stop = begun[number] = begin + width
        launch = Launch(number, slice(begin, stop), width, _goes_alone(form, width))
        if counts is None:
            read = launch.rows
        else:
            launch.counts, read = counts[begin:stop], slice(bounds[begin], bounds[stop])
            launch.starts = cumulated(launch.counts)[:-1]
        several = [operand[read] for operand in operands]
        drafts.append(_Draft(turn, form, results[start : start + width], several, launch, output))
        output += len(form.results)
    return drafts, [one.order for one in drawn], within


class _Drawn(NamedTuple):
    """One group in the order of its launches."""

    order: Places
    operands: Sequence[Places]  # of each, the results that are read
    counts: Places | None = None  # of sums and stacks, as in `Group`
    bounds: Sequence[int] = ()  # where the operands of each begin, and all end


def _drawn(groups: Sequence[Group], turns: Places, sorts: Sequence[bool], base: Places) -> list[_Drawn]:
    """All groups; `turns` are those of all members. `sorts`: whether those of a group are in any order."""
    codes = concatenate([group.refs.reshape(-1) for group in groups])
    results = base[codes >> BITS] + (codes & MASK)
    drawn = []
    member = read = 0
    for group, sort in zip(groups, sorts, strict=True):
        of, size = results[read : read + group.refs.size], len(group.members)
        order = argsort(turns[member : member + size]) if sort else span(0, size)
        if group.counts is not None:
            counts = group.counts[order]
            operands = of[ranges(cumulated(group.counts)[:-1][order], counts)]
            drawn.append(_Drawn(order, (operands,), counts, cumulated(counts).tolist()))
        elif len(of):
            matrix = of.reshape(size, -1)
            drawn.append(_Drawn(order, [*(taken(matrix, order) if sort else matrix).T]))
        else:
            drawn.append(_Drawn(order, ()))
        member, read = member + size, read + group.refs.size
    return drawn


def _goes_alone(form: GroupForm, width: int) -> bool:
    """True if rows go one by one: a single one of an operation does, for its own rules copy nothing."""
    if form.source is RowSource.GIVEN:
        return width == 1 or not stackable(form.results[0])
    if form.source in (RowSource.ALONE, RowSource.RAGGED):  # rows that are read one by one, from any table
        return True
    return form.source is RowSource.OPERATION and width == 1


class _Gathers:
    """The operands of all launches, one after the other: what each has to be asked is asked of all at once.

    `sends`: of each, whether it sends deltas back to many rows at once.
    """

    def __init__(self, drafts: Sequence[_Draft], output_of: Places, outputs: int) -> None:
        operands = [operand for draft in drafts for operand in draft.operands]
        self.sends = [sends and not draft.launch.alone for draft in drafts for sends in draft.form.sends]
        self.results = concatenate(operands)
        self.lengths = places([len(operand) for operand in operands])
        self.bounds = cumulated(self.lengths)
        self.starts = self.bounds[:-1]
        self.of = spread(span(0, len(operands)), self.lengths)  # of each element, its gather
        self.outputs = output_of[self.results]
        self.read: list[list[int]] = [[] for _ in operands]  # the outputs that each gather reads
        pairs = occurring(self.of * outputs + self.outputs, len(operands) * outputs)
        for pair in pairs.tolist():
            self.read[pair // outputs].append(pair % outputs)

    def lie(self, table_of: Places, row_of: Places) -> None:
        """Take tables and rows of results, which are known now."""
        self.tables, self.rows = table_of[self.results], row_of[self.results]
        low, high = least_and_greatest(self.rows, self.starts)
        self.low, self.high = low.tolist(), high.tolist()
        self.jumps = jumps(self.rows, self.starts).tolist()
        self.ends: list[int] = self.bounds.tolist()

    def slice_of(self, gather: int) -> slice:
        """The place of one gather among the elements of all."""
        return slice(self.ends[gather], self.ends[gather + 1])

    def read_of(self, gather: int, table: int, counts: bool) -> Read:
        """The rows that one gather reads of its table, as a slice if they are neighbours or, but for `counts`, one."""
        begin, end, low, high = self.ends[gather], self.ends[gather + 1], self.low[gather], self.high[gather]
        if not self.jumps[gather]:
            return Read(table, slice(low, high + 1))
        if low == high and not counts:
            return Read(table, slice(low, low + 1), True)
        return Read(table, self.rows[begin:end])


def _together(drafts: Iterable[_Draft], gathers: _Gathers, outputs: int) -> list[int]:
    """For each output the first of those that are read with it."""
    upper = list(range(outputs))

    def top(output: int) -> int:
        while upper[output] != output:
            upper[output] = output = upper[upper[output]]
        return output

    read = iter(gathers.read)
    for draft in drafts:
        for _ in draft.operands:
            several = next(read)
            if draft.launch.alone or len(several) == 1:
                continue
            first = top(several[0])
            for output in several:
                if upper[output] != first:
                    upper[top(output)] = first
    return [top(output) for output in range(outputs)]


def _tables(
    drafts: Sequence[_Draft], together: Sequence[int], rows: RowPlaces
) -> tuple[list[Table], Places, Places, Places]:
    """All tables, and for each output its table, its first row, and whether it wants deltas."""
    sizes = counted(places(together), len(together)).tolist()
    forms = {draft.launch.group: draft.form for draft in drafts}
    mixed = {group for group, form in forms.items() if not all(map(stackable, form.results))}
    apart = {  # with rows of any size, beside which those of one size stand in a list, too
        together[draft.output + part]
        for draft in (drafts if mixed else ())
        if draft.launch.group in mixed
        for part, kind in enumerate(draft.form.results)
        if not stackable(kind)
    }
    tables: list[Table] = []
    of: dict[int, int] = {}
    table_of, first, trainable = [], [], []
    for draft in drafts:
        alone = draft.launch.alone
        for part, kind in enumerate(draft.form.results):
            name = together[draft.output + part]
            number = of.get(name)
            if number is None:
                number = of[name] = len(tables)
                lone = sizes[name] == 1
                loose = name in apart or (lone and alone and draft.launch.width == 1)
                # or it might show rows that are used again
                own = lone and not alone and rows.live is None
                tables.append(Table(kind, own, loose))
            table = tables[number]
            if kind.trainable:
                table.trainable = True
            trainable.append(kind.trainable)
            table_of.append(number)
            first.append(rows.first(number, table.loose, draft.turn, draft.results, part))
    for number, table in enumerate(tables):
        table.rows = rows.sizes[number]
    return tables, places(table_of), places(first), places(trainable)


def _lie(
    drafts: Iterable[_Draft],
    gathers: _Gathers,
    firsts: Sequence[Place],
    drops: Mapping[int, list[int]],
) -> None:
    """Write into the launches what they read, operand by operand, and where their results lie."""
    gather = 0
    for draft in drafts:
        launch = draft.launch
        for _ in draft.operands:
            if launch.alone:
                here = gathers.slice_of(gather)
                read = Read(-1, gathers.rows[here], tables=gathers.tables[here])
            else:
                table, _ = firsts[gathers.read[gather][0]]
                read = gathers.read_of(gather, table, launch.counts is not None)
            launch.reads.append(read)
            gather += 1
        launch.writes += firsts[draft.output : draft.output + len(draft.form.results)]
        launch.drops = drops.get(draft.turn, ())


# -- deltas -----------------------------------------------------------------------------------------


def _plan_scatters(
    gathers: _Gathers,
    reads: Sequence[Read],
    trainable: Places,
    firsts: Sequence[Place],
    tables: Sequence[Table],
) -> dict[Place, tuple[int, Runs]]:
    """Plan how the deltas of all gathers are scattered, and write it into what reads them; those that wait.

    `trainable`: of each output, whether it wants deltas; `firsts`: its table, and its first row there.
    """
    wants = trainable[gathers.outputs] > 0  # of each element, whether what it reads wants a delta
    wanted = sums(wants, gathers.starts).tolist()
    gets: list[bool] = trainable.tolist()
    sending = [sends and several > 0 for sends, several in zip(gathers.sends, wanted, strict=True)]
    for gather, read in enumerate(reads):
        if not sending[gather]:
            continue
        here = gathers.slice_of(gather)
        read.feeds = tuple([firsts[output] for output in gathers.read[gather] if gets[output]])
        if wanted[gather] == here.stop - here.start:
            read.to = read.at
        else:  # not to literals that lie among values of nodes
            read.some = marked(wants[here])
            read.to = gathers.rows[here][read.some]
    first = cumulated(places([table.rows for table in tables]))
    rows = first[gathers.tables] + gathers.rows
    apart = [not (read.to is None or read.one or tables[read.table].loose) for read in reads]
    looked = marked(wants & truths(apart)[gathers.of])
    again = repeating(rows.take(looked), gathers.of.take(looked), int(first[-1]))
    newest = _first_to_send(rows, gathers, marked(wants), int(first[-1]))
    inside = flags(len(reads))
    inside[[*again]] = True
    elements = looked[inside[gathers.of[looked]]]  # of gathers that repeat rows
    found = _plan_waiting(gathers, reads, elements, firsts) if len(again) >= _SEVERAL else {}
    for gather in newest:
        reads[gather].first = apart[gather] and gather not in again
    for gather in again:
        read = reads[gather]
        if read.to is None:
            continue
        assert not isinstance(read.to, slice), "neighbours are different rows"
        if not read.waiting or len(distinct(read.to)[0]) < len(read.to):
            read.runs = runs_of(read.to)
    return found


def _first_to_send(rows: Places, gathers: _Gathers, elements: Places, size: int) -> list[int]:
    """The gathers to none of whose rows a later one sends deltas, which on the way back comes first."""
    of = gathers.of[elements]
    last = flags(size, -1)
    last[rows[elements]] = of  # of several the last one
    behind = flags(len(gathers.starts))
    behind[of[last[rows[elements]] != of]] = True
    found: list[int] = marked(~behind).tolist()
    return found


def _plan_waiting(
    gathers: _Gathers, reads: Sequence[Read], elements: Places, firsts: Sequence[Place]
) -> dict[Place, tuple[int, Runs]]:
    """Have the deltas of rows that several gathers repeat wait until all have come; `elements` are those of gathers
    that repeat rows.
    """
    outputs, of = gathers.outputs[elements], gathers.of[elements]
    size = len(firsts)
    readers = counted(occurring(of * size + outputs, len(reads) * size) % size, size)
    different = counted(distinct(gathers.results[elements] * size + outputs)[0] % size, size)
    often = (readers >= _SEVERAL) & (counted(outputs, size) >= 2 * different)
    late = often[outputs]
    elements, outputs, of = elements[late], outputs[late], of[late]
    found: dict[Place, tuple[int, Runs]] = {}
    order = argsort(outputs)
    starts = starts_of_runs(outputs[order])
    parts: dict[int, list[tuple[Place, Places, int]]] = {}
    for start, count in zip(starts.tolist(), lengths(starts, len(order)).tolist(), strict=True):
        those = order[start : start + count]
        write = firsts[int(outputs[those[0]])]
        found[write] = count, runs_of(gathers.rows[elements[those]])
        each = starts_of_runs(of[those])
        for begin, many in zip(each.tolist(), lengths(each, count).tolist(), strict=True):
            gather = int(of[those[begin]])
            at = elements[those[begin : begin + many]] - gathers.ends[gather]
            parts.setdefault(gather, []).append((write, at, begin))
    for gather, waiting in parts.items():
        read, here = reads[gather], gathers.slice_of(gather)
        read.waiting = (*waiting,)
        rest = flags(here.stop - here.start, read.some is None)
        if read.some is not None:
            rest[read.some] = True
        for _, at, _ in waiting:
            rest[at] = False
        some = marked(rest)
        read.some, read.to = (some, gathers.rows[here][some]) if len(some) else (None, None)
    return found


# -- rows that are free again -------------------------------------------------------------------------


class Liveness:
    """The last launch that reads, or brings, each result; those at the codes `kept` are read after all.

    `base`: of each node, its first result.
    """

    def __init__(self, region: Region, launch_of: Places, base: Places, kept: Iterable[int]) -> None:
        self.end = int(launch_of.max()) + 1  # no launch
        codes = concatenate([*[group.refs.reshape(-1) for group in region.groups], places(kept)])
        read = base[codes >> BITS] + (codes & MASK)
        _, readers = region.edges()
        at = flags(len(read), self.end)
        at[: len(readers)] = launch_of[readers]
        order = argsort(at)
        self.last = spread(launch_of, base[1:] - base[:-1])
        self.last[read[order]] = at[order]  # of several the greatest, which comes last
        alone = flags(region.size)
        widths = counted(launch_of[launch_of >= 0], self.end)
        for group in region.groups:
            if group.form.source in (RowSource.ALONE, RowSource.RAGGED):
                alone[group.members] = True
            elif group.form.source is RowSource.OPERATION:
                alone[group.members] = widths[launch_of[group.members]] == 1
        self.free = self.last.copy()  # the last launch before others may write there
        self.free[read[: len(readers)][alone[readers]]] = self.end
        self.lost = self.last < self.end  # whether its value is not there in the end
        total = cumulated(self.free)
        turns = total[base[1:]] - total[base[:-1]]
        # of each node, where it stands: launch by launch, and in one those first whose rows are free first
        self.turns = launch_of * (int(turns.max()) + 1) + turns


class FreeRows:
    """The rows of one table, given out and taken back.

    >>> free = FreeRows()
    >>> [free.take(count) for count in (4, 2)]
    [0, 4]
    >>> free.give(0, 1), free.give(2, 2), free.give(1, 1)
    (None, None, None)
    >>> free.take(3), free.take(2), free.rows
    (0, 6, 8)
    """

    def __init__(self) -> None:
        self.rows = 0
        self._free: list[tuple[int, int]] = []  # from where to where, ascending, with something between them

    def take(self, count: int) -> int:
        """Take so many neighbours that are free; the first of them."""
        fitting = [(stop - start, at) for at, (start, stop) in enumerate(self._free) if stop - start >= count]
        if fitting:
            _, at = min(fitting)
            start, stop = self._free[at]
            self._free[at : at + 1] = [(start + count, stop)] if start + count < stop else []
            return start
        start = self.rows
        if self._free and self._free[-1][1] == self.rows:
            start, _ = self._free.pop()
        self.rows = start + count
        return start

    def give(self, start: int, count: int) -> None:
        """Take rows back: they are free from now on."""
        stop = start + count
        at = bisect_left(self._free, (start, stop))
        if at < len(self._free) and self._free[at][0] == stop:
            _, stop = self._free.pop(at)
        if at and self._free[at - 1][1] == start:
            at -= 1
            start, _ = self._free.pop(at)
        self._free.insert(at, (start, stop))


class RowPlaces:
    """Rows for results of launches, in order: behind all others of a table, or where nobody reads any more."""

    def __init__(self, live: Liveness | None) -> None:
        self.live = live
        self.sizes: dict[int, int] = {}  # rows of each table, by number
        self._free: dict[int, FreeRows] = {}  # of each table
        self._due: dict[int, list[tuple[int, int, int]]] = {}  # by launch, the rows that are free after it
        self._begun = 0
        self._last: dict[int, int] = {}  # reader of each table

    def first(self, table: int, loose: bool, launch: int, wholes: Places, part: int) -> int:
        """The first of the rows in a table for one part of the results of a launch; `loose`: the table is a list.

        `wholes`: of each node its first result, as far as possible in the order in which their rows become free.
        """
        if self.live is None:
            return self._appended(table, len(wholes))
        live, results = self.live, wholes + part
        self._last[table] = max(self._last.get(table, 0), int(live.last[results].max()))
        if loose:
            return self._appended(table, len(wholes))
        while self._begun < launch:
            for number, start, count in self._due.pop(self._begun, ()):
                self._free[number].give(start, count)
            self._begun += 1
        rows = self._free.setdefault(table, FreeRows())
        first = rows.take(len(results))
        self.sizes[table] = rows.rows
        free = live.free[results]
        starts = starts_of_runs(free)
        counts = lengths(starts, len(free))
        for after, start, count in zip(free[starts].tolist(), starts.tolist(), counts.tolist(), strict=True):
            self._due.setdefault(after, []).append((table, first + start, count))
        return first

    def _appended(self, table: int, count: int) -> int:
        first = self.sizes.get(table, 0)
        self.sizes[table] = first + count
        return first

    def dropped(self) -> dict[int, list[int]]:
        """By launch the tables that nobody reads after it."""
        found: dict[int, list[int]] = {}
        for table, launch in self._last.items():
            found.setdefault(launch, []).append(table)
        return found
