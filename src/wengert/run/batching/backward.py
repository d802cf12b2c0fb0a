"""Deltas of a region: launches in the opposite order, each sending its operands' deltas to their rows.

Knows: tables of deltas beside those of values, and what a layout says about who comes first; never `add.at`.
Refuses to know: values, and what an optimizer makes of a weight's delta.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from time import perf_counter
from typing import Any

from wengert.arrays import Value, is_array
from wengert.arrays.rows import add_rows, add_runs, new_rows, repeated, taken
from wengert.graph.node import Expression
from wengert.graph.weights import Weight
from wengert.lazy import dense
from wengert.run.batching.bound import Binding
from wengert.run.batching.form import Way
from wengert.run.batching.joining import joined
from wengert.run.batching.layout import Mode, Read, Step
from wengert.run.batching.region import Region
from wengert.run.batching.rules import row_of

Place = tuple[int, int]


class Backward:
    """The deltas of one run; `adding`: rows that launches read have got deltas before."""

    def __init__(self, region: Region, seeds: Iterable[tuple[Place, Value]], adding: bool) -> None:
        self.region = region
        self.adding = adding
        self.tables: list[Any] = []  # Any: arrays of rows, and lists
        for table in region.bound.layout.tables:
            made: Any = None
            if table.loose:
                made = [None] * table.rows
            elif table.trainable:
                made = new_rows(table.rows, table.kind.shape or (), table.kind.dtype)
                clear = slice(None) if adding else table.clear
                if clear is not None:
                    made[clear] = 0
            self.tables.append(made)
        self._reached: set[Place] = set()  # the writes that deltas have come to
        for place, delta in seeds:
            self._add(place, delta)
            self._reached.add(region.bound.layout.write_of(place))
        self._sent: dict[Expression, list[Value]] = {}

    def run(self, check: Callable[[], object]) -> dict[Expression, Value]:
        """The deltas of weights, and of what was given: a weight may be given as a row, too."""
        bound = self.region.bound
        for number in range(len(bound.layout.steps) - 1, -1, -1):
            step = bound.layout.steps[number]
            binding = bound.bindings[step.entry]
            if binding.form.way is Way.GIVEN or not any(k.trainable for k in binding.form.results):
                continue
            if not any(place in self._reached for place in step.writes):
                for read in step.reads if not step.alone else ():
                    self._send(read, None)
                continue
            check()
            begun = perf_counter()
            if step.alone:
                self._alone(step, binding)
            elif binding.form.way is Way.SUM:
                assert step.counts is not None
                g = self._arrived(step, 0)
                assert g is not None, "a delta has reached it"
                self._send(step.reads[0], repeated(g, step.counts))
            else:
                self._launch(number, step, binding)
            if binding.line is not None:
                binding.line.seconds += perf_counter() - begun
        self._take_products()
        for x, delta in self._given():
            self._sent.setdefault(x, []).append(delta)
        return {x: joined(deltas) for x, deltas in self._sent.items()}

    def _take_products(self) -> None:
        """What lies in rooms for all launches of an entry."""
        for (entry, launch), room in self.region.rooms.items():
            deltas = room.deltas(len(launch.shared))
            room.products.clear()
            for i, weight in self.region.bound.bindings[entry].weights:
                if deltas[i] is not None:
                    self._sent.setdefault(weight, []).append(deltas[i])

    def delta(self, place: Place) -> Value | None:
        """What has arrived at one row."""
        table, row = place
        of = self.region.bound.layout.tables[table]
        if self.tables[table] is None:
            return None
        return self.tables[table][row] if of.loose else row_of(self.tables[table], row, of.kind)

    def _given(self) -> Iterator[tuple[Expression, Value]]:
        bound = self.region.bound
        for step in bound.layout.steps:
            binding = bound.bindings[step.entry]
            if binding.form.way is Way.GIVEN and binding.form.results[0].trainable:
                table, first = step.writes[0]
                for row in range(step.width):
                    x, delta = binding.given[step.start + row], self.delta((table, first + row))
                    if isinstance(x, Expression) and delta is not None:
                        yield x, delta

    def _arrived(self, step: Step, result: int) -> Value | None:
        table, first = step.writes[result]
        if (table, first) not in self._reached:
            return None
        return self.tables[table][first : first + step.width]

    def _launch(self, number: int, step: Step, binding: Binding) -> None:
        launch = self.region.bound.launches[number]
        assert launch is not None
        deltas = [self._arrived(step, i) for i in range(len(step.writes))]
        found = launch.backward(step.width, self.region.kept[number], deltas)
        self.region.kept[number] = None
        for i, weight in binding.weights:
            if found[i] is not None:
                self._sent.setdefault(weight, []).append(found[i])
        for i, read in reversed(list(zip(binding.form.rows, step.reads, strict=True))):
            self._send(read, found[i])

    def _send(self, read: Read, g: Value | None) -> None:
        """The deltas of one operand to the rows that it was read from."""
        to, table = read.to, self.tables[read.table]
        if to is None:
            return
        of = self.region.bound.layout.tables[read.table]
        if g is None:
            if read.mode is Mode.PUT and not self.adding:
                table[to] = 0
            return
        self._reached.update(read.feeds)
        if read.some is not None:
            g = taken(g, read.some)
        if read.one:
            assert isinstance(to, slice)
            self._add((read.table, to.start), _own(g))
        elif of.loose:
            rows = range(*to.indices(of.rows)) if isinstance(to, slice) else to.tolist()
            for place, row in enumerate(rows):
                self._add((read.table, row), _own(row_of(g, place, of.kind)))
        elif read.mode is Mode.PUT and not self.adding:
            table[to] = g
        elif read.mode is Mode.SUM:
            assert read.runs is not None
            add_runs(table, read.runs, g)
        else:
            add_rows(table, to, g)

    def _add(self, place: Place, delta: Value) -> None:
        table, row = place
        of, deltas = self.region.bound.layout.tables[table], self.tables[table]
        if not of.trainable:
            return
        if not of.loose:
            deltas[row] += dense(delta)
        else:
            deltas[row] = delta if deltas[row] is None else deltas[row] + delta

    def _alone(self, step: Step, binding: Binding) -> None:
        ((table, first),) = step.writes
        layout = self.region.bound.layout
        for row in range(step.width - 1, -1, -1):
            g = self.delta((table, first + row))
            if g is None:
                continue
            for to, delta in self.region.alone.backward(self.region, step, binding, row, g):
                if isinstance(to, Weight):
                    self._sent.setdefault(to, []).append(delta)
                elif delta is not None:
                    self._add(to, delta)
                    self._reached.add(layout.write_of(to))


def _own(delta: Value) -> Value:
    """A copy of what lies where the next launch writes."""
    return delta.copy() if is_array(delta) else delta
