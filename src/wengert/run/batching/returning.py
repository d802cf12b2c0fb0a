"""How deltas come back to the rows that launches have read.

Knows: that the last reader of a row is the first to send it a delta, and may put it there where all others add; that
rows which a column repeats are summed first; that literals among values of nodes get none.
Refuses to know: deltas.
"""

from __future__ import annotations

from collections.abc import Sequence

from wengert.arrays.places import (
    Flags,
    Places,
    chosen,
    cumulated,
    flags,
    marked,
    places,
    repeating,
    runs_of,
    sums,
    truths,
)
from wengert.run.batching.columns import Columns
from wengert.run.batching.layout import Mode, Read, Table


def returned(
    columns: Columns,
    reads: Sequence[Read],
    trainable: Places,
    firsts: Sequence[tuple[int, int]],
    tables: Sequence[Table],
) -> None:
    """Plan the way back of all columns, and write it into what reads them.

    `trainable`: of each block, whether it wants deltas; `firsts`: its table, and its first row there.
    """
    wants = trainable[columns.blocks] > 0  # of each element, whether what it reads wants a delta
    wanted = sums(wants, columns.starts).tolist()
    gets: list[bool] = trainable.tolist()
    sending = [sends and several > 0 for sends, several in zip(columns.sends, wanted, strict=True)]
    for column, read in enumerate(reads):
        if not sending[column]:
            continue
        begin, end = columns.ends[column], columns.ends[column + 1]
        read.feeds = tuple([firsts[block] for block in columns.read[column] if gets[block]])
        if wanted[column] == end - begin:
            read.to = read.at
        else:  # not to literals that lie among values of nodes
            read.some = marked(wants[begin:end])
            read.to = columns.rows[begin:end][read.some]
    first = cumulated(places([table.rows for table in tables]))
    put = _planned(columns, reads, wants & truths(sending)[columns.of], first, tables)
    for number, table in enumerate(tables):
        rest = marked(~put[first[number] : first[number + 1]])
        if len(rest):
            table.clear = slice(0, table.rows) if len(rest) == table.rows else rest


def _planned(
    columns: Columns, reads: Sequence[Read], sends: Flags, first: Places, tables: Sequence[Table]
) -> Places:
    """How deltas reach each table: of all rows, whether the first delta is put there. `sends` is of each element."""
    size = int(first[-1])
    rows, of = first[columns.tables] + columns.rows, columns.of
    last = flags(size + 1, -1)  # one more, for those that are left out
    last[chosen(sends & ~columns.dead[of] if columns.dead.any() else sends, rows, size)] = of
    for column in marked(columns.alone).tolist():  # by itself a row only adds
        last[rows[columns.ends[column] : columns.ends[column + 1]]] = -2
    others = sums(sends & (last[rows] != of), columns.starts).tolist()
    apart = [not (read.to is None or read.mode is Mode.ONE or tables[read.table].loose) for read in reads]
    looked = marked(sends & truths(apart)[of])
    again = repeating(rows.take(looked), of.take(looked), size)
    put = flags(size)
    for column in marked(truths(apart)).tolist():
        read = reads[column]
        if column in again:
            assert read.to is not None and not isinstance(read.to, slice), "neighbours are different rows"
            read.mode, read.runs = Mode.SUM, runs_of(read.to)
        elif not others[column]:
            read.mode = Mode.PUT
            put[first[read.table] : first[read.table + 1]][read.to] = True
    return put
