"""One run of a bound layout: launches forward, and backward in the opposite order.

Knows: tables of values and of deltas, and that a launch gets views of them where it can; that the delta of a weight
is put together from those of all launches at the end.
Refuses to know: which graph this is, what a launch computes, and what becomes of the results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from time import perf_counter
from typing import Any, Protocol

from wengert.arrays import Value, is_array
from wengert.arrays.rows import new_rows, run_sums, stacked, taken
from wengert.graph.node import Expression
from wengert.run.batching.alone import Alone
from wengert.run.batching.bound import Binding, Bound
from wengert.run.batching.form import Way
from wengert.run.batching.launch import Launch
from wengert.run.batching.layout import Read, Step
from wengert.run.batching.rooms import Room
from wengert.run.batching.rules import row_of


class Values(Protocol):
    """Where values of weights and of what is given are looked up."""

    def __getitem__(self, x: Expression, /) -> Value: ...

    def stacked(self, given: Sequence[Any], /) -> Value:  # Any: as in `Binding`
        """The values of what is given as one table."""
        ...


class Region:
    """The values, and later the deltas, of one run."""

    def __init__(self, bound: Bound, values: Values, keeps: bool) -> None:
        self.bound = bound
        self.values = values  # of weights, and of what is given
        self.keeps = keeps
        self.tables: list[Any] = [None] * len(bound.layout.tables)  # Any: arrays of rows, and lists
        self.kept: list[Any] = [None] * len(bound.layout.steps)  # Any: what a launch needs for its backward
        self.rooms: dict[tuple[int, Launch], Room] = {}  # by entry and launch
        self.alone = Alone()

    # -- forward ------------------------------------------------------------------------------------

    def forward(self, check: Callable[[], object]) -> None:
        """All launches, in order; `check` raises if the run is to end."""
        self.bound.begin()
        for number, step in enumerate(self.bound.layout.steps):
            check()
            begun = perf_counter()
            binding = self.bound.bindings[step.entry]
            if step.alone:
                self.alone.forward(self, step, binding)
            elif binding.form.way is Way.GIVEN:
                self._write(step, (self.values.stacked(binding.given[step.start : step.stop]),))
            elif binding.form.way is Way.SUM:
                self._write(step, (self._summed(step),))
            else:
                self._launch(number, step, binding)
            for table in step.drops:
                self.tables[table] = None
            if binding.line is not None:
                binding.line.add(step)
                binding.line.seconds += perf_counter() - begun

    def _summed(self, step: Step) -> Value:
        assert step.starts is not None
        return run_sums(self._read(step.reads[0]), step.starts)

    def _launch(self, number: int, step: Step, binding: Binding) -> None:
        launch = self.bound.launches[number]
        assert launch is not None and binding.signature is not None
        room = self.rooms.get((step.entry, launch))
        if room is None:
            room = self.rooms[step.entry, launch] = launch.room(self.bound.rows[step.entry, launch])
        homes = launch.homes(step.width, room) if self.keeps else {}
        operands: list[Value] = [None] * len(binding.signature.kinds)
        for i, read in zip(binding.form.rows, step.reads, strict=True):
            operands[i] = self._read(read, homes.get(i))
        for i, weight in binding.weights:
            operands[i] = self.values[weight]
        for i, (one, literals) in binding.columns.items():
            operands[i] = literals if one else literals[step.start : step.stop]
        out = [self.place(step, at) for at in step.writes]
        results, kept = launch.forward(step.width, operands, out, room, self.keeps)
        for (table, _), buffer, result in zip(step.writes, out, results, strict=True):
            if buffer is None:
                self.tables[table] = result
        if self.keeps:
            self.kept[number] = kept

    def _read(self, read: Read, into: Value | None = None) -> Value:
        """An operand of all rows of a launch, or the one row that they share; gathered rows may lie in `into`."""
        table = self.tables[read.table]
        if read.one:
            return self.row(read.table, read.at.start)  # type: ignore[union-attr] # one row is a slice
        if self.bound.layout.tables[read.table].loose:
            at = read.at
            return stacked(table[at] if isinstance(at, slice) else [table[i] for i in at.tolist()])
        return table[read.at] if isinstance(read.at, slice) else taken(table, read.at, into)

    def row(self, table: int, row: int) -> Value:
        """One value, as a node by itself has it."""
        of = self.bound.layout.tables[table]
        return self.tables[table][row] if of.loose else row_of(self.tables[table], row, of.kind)

    def place(self, step: Step, at: tuple[int, int]) -> Value | None:
        """Where a launch writes a result; None where what it gives is the table."""
        table, first = at
        of = self.bound.layout.tables[table]
        if of.own:
            return None
        if self.tables[table] is None:
            self.tables[table] = (
                [None] * of.rows if of.loose else new_rows(of.rows, of.kind.shape or (), of.kind.dtype)
            )
        return self.tables[table][first : first + step.width]

    def _write(self, step: Step, results: Iterable[Value]) -> None:
        for (table, first), result in zip(step.writes, results, strict=True):
            if self.place(step, (table, first)) is None:
                self.tables[table] = result
            else:
                self.tables[table][first : first + step.width] = result

    def release(self) -> None:
        """The run is over: deltas that lie in rooms have been used."""
        while self.rooms:
            (_, launch), room = self.rooms.popitem()
            launch.give_back(room)

    def value(self, place: tuple[int, int]) -> Value:
        """The value of a node, which no later run changes."""
        value = self.row(*place)
        return value.copy() if is_array(value) else value
