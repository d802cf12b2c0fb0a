"""The calls of kernels that launches are: all of them that every run of a bound schedule does alike, looked up once.

Knows: where the operands of a launch lie, which of them are views, where results go, and which deltas are written or
added at rows of a table.
Refuses to know: values of a run, and how a kernel computes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from wengert.arrays import Value
from wengert.arrays.places import Places
from wengert.run.batching.kernel import BatchedKernel
from wengert.run.batching.region import GroupForm
from wengert.run.batching.schedule import Launch, Place, Read, Table


class Scatter(NamedTuple):
    """The deltas of an operand that go to rows of a table, none of them twice."""

    operand: int
    table: int
    to: Places | slice
    first: bool  # as in `Read`
    feeds: tuple[Place, ...]
    read: Read | None  # of all others, which are gone through one by one


class KernelCall:
    """One launch by a kernel."""

    __slots__ = (
        *("back", "gathers", "kernel", "literals", "others", "out", "room", "views", "width", "writes"),
    )

    def __init__(
        self,
        launch: Launch,
        form: GroupForm,
        literals: Mapping[int, tuple[bool, Value]],
        kernel: BatchedKernel,
        tables: Sequence[Table],
    ) -> None:
        self.kernel, self.width, self.writes = kernel, launch.width, launch.writes
        self.room = launch.group, kernel  # what launches with one workspace have in common
        self.literals = [(i, x[launch.rows]) for i, (one, x) in literals.items() if not one]
        self.gathers: list[tuple[int, int, Places]] = []  # operand, table and rows
        self.views: list[tuple[int, int, slice]] = []
        self.others: list[tuple[int, Read]] = []  # single rows, and lists
        self.back: list[Scatter] = []  # in the order of the way back
        for i, read in zip(form.rows, launch.reads, strict=True):
            if read.one or tables[read.table].loose:
                self.others.append((i, read))
            elif isinstance(read.at, slice):
                self.views.append((i, read.table, read.at))
            else:
                self.gathers.append((i, read.table, read.at))
            if read.feeds:
                self.back.insert(0, _scatter(i, read, tables[read.table]))
        # the rows for a result; None where it is the table, or the table is a list
        self.out = [
            (
                None
                if tables[table].own or tables[table].loose
                else (table, slice(first, first + launch.width))
            )
            for table, first in launch.writes
        ]


def _scatter(operand: int, read: Read, of: Table) -> Scatter:
    several = read.waiting or read.some is not None or read.runs is not None
    if of.kind.device != "cpu" or several or read.one or of.loose or read.to is None:
        return Scatter(operand, read.table, slice(0), False, read.feeds, read)
    return Scatter(operand, read.table, read.to, read.first, read.feeds, None)
