"""One run of a schedule that is bound to weights and literals: launches forward, and backward in the opposite order.

Knows: tables of values and of deltas, of which a launch gets views where it can; that single rows, and those that no
table can hold, run node by node by the ordinary rules; that the delta of a weight is put together from those of all
launches at the end; that a value is a row of a run until somebody asks for it by itself.
Refuses to know: which graph this is, what a launch computes, and what becomes of the results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial, reduce
from itertools import chain
from operator import add, itemgetter
from typing import Any, NamedTuple, TypeVar

from wengert.arrays import FLOAT32, Value, copied, is_array, is_out_of_memory, without_memory
from wengert.arrays.places import argsort, places
from wengert.arrays.rows import (
    add_rows,
    add_runs,
    filled,
    joined_rows,
    new_rows,
    put_rows,
    repeated,
    run_sums,
    stacked,
    taken,
)
from wengert.errors import DeviceError, combine, raise_all
from wengert.graph.apply import resolve
from wengert.graph.kinds import Column, Kind
from wengert.graph.node import Expression, Node, new_node
from wengert.graph.operation import UNRESOLVED, Signature
from wengert.graph.template import PART, Parts
from wengert.graph.weights import Weight
from wengert.lazy import dense
from wengert.run.batching.bound import Binding, BoundSchedule
from wengert.run.batching.kernel import BatchedKernel, Workspace
from wengert.run.batching.ragged import JoinedExamples, in_rows
from wengert.run.batching.region import Region, RowSource
from wengert.run.batching.schedule import Launch, Place, Read, Table
from wengert.run.loops import Failure, Values, backward, forward, total

A = TypeVar("A")
_launched = itemgetter(0)


class BatchRun:
    """One run of a schedule: the values of its launches, and on the way back their deltas.

    `graph` is that of its nodes, where these may be asked for.
    """

    def __init__(
        self, bound: BoundSchedule, values: Known, keeps: bool, region: Region | None = None
    ) -> None:
        self.bound = bound
        self.region = region
        self._launches, self._forms = bound.schedule.launches, bound.schedule.tables
        self._values = values  # of weights, and of what is given
        self._keeps = keeps
        self.tables: list[Any] = [None] * len(self._forms)  # Any: arrays of rows, and lists
        self._kept: list[Any] = [None] * len(self._launches)  # Any: what a launch needs for its backward
        # by group and kernel
        self._rooms: dict[tuple[int, BatchedKernel], tuple[Workspace, list[Value]]] = {}
        self._seconds = [0.0] * len(self._launches)  # of each launch
        self._deltas: list[Any] = []  # Any: as `tables`
        self._reached: set[Place] = set()  # the writes that deltas have come to
        self._seeded: frozenset[Place] = frozenset()  # and those that they came to from outside
        self._sent: list[tuple[int, Expression, Value]] = []  # by which launch, to which weight, what
        self._waiting: dict[Place, Value] = {}  # the deltas that are summed once all have come

    def place(self, x: Expression) -> Place | None:
        """The row of the value of `x`; None if it is not in this batch."""
        code = None if self.region is None else self.region.code(x)
        return None if code is None else self.bound.schedule.place(code)

    def explain(self, failure: Exception) -> None:
        """DeviceError for a device without memory, or without a compiler: nodes by themselves would need more."""
        if isinstance(failure, DeviceError):
            raise failure
        if is_out_of_memory(failure):
            raise without_memory("a device", "a batch", [(x, "a table") for x in self.tables]) from failure

    def release(self) -> None:
        """Give the workspaces back, in which deltas lie that have been used when the run is over."""
        while self._rooms:
            (_, kernel), (workspace, _) = self._rooms.popitem()
            kernel.give_back(workspace)

    def value(self, place: Place) -> Value:
        """The value of a node, which no later run changes."""
        return _own(self._row(self.tables, place))

    # -- forward --------------------------------------------------------------------------------------

    def forward(self, check: Callable[[], object]) -> None:
        """All launches, in order; `check` raises if the run is to end."""
        bound = self.bound
        begun = bound.source.clock()
        if bound.passes is None:
            for number in range(len(self._launches)):
                self._launch(number, check)
        else:
            bound.passes[0].run(partial(self._launch, check=check))
        bound.ran("forward", self._seconds, bound.source.clock() - begun)

    def _launch(self, number: int, check: Callable[[], object]) -> None:
        check()
        begun = self.bound.source.clock()
        launch, kernel = self._launches[number], self.bound.kernels[number]
        binding = self.bound.bindings[launch.group]
        source = binding.form.source
        if kernel is not None:
            self._by_kernel(number, launch, binding, kernel)
        elif source is RowSource.RAGGED:
            self._ragged(number, launch, binding)
        elif source is RowSource.GIVEN and not launch.alone:
            self._write(launch, launch.writes[0], self._values.stacked(binding.given[launch.rows]))
        elif source is RowSource.SUM:
            assert launch.starts is not None
            self._write(launch, launch.writes[0], run_sums(self._read(launch.reads[0]), launch.starts))
        elif source is RowSource.STACK:
            rows = self._read(launch.reads[0])
            self._write(launch, launch.writes[0], rows.reshape(launch.width, -1, *rows.shape[1:]))
        else:
            self._by_rows(number, launch, binding)
        for table in launch.drops:
            self.tables[table] = None
        self._seconds[number] = self.bound.source.clock() - begun

    def _by_kernel(self, number: int, launch: Launch, binding: Binding, kernel: BatchedKernel) -> None:
        workspace, shared = self._rooms.get((launch.group, kernel)) or self._room(launch, binding, kernel)
        operands, tables, forms = shared.copy(), self.tables, self._forms
        for i, read in zip(binding.form.rows, launch.reads, strict=True):
            at = read.at
            if read.one or forms[read.table].loose:
                operands[i] = self._read(read)
            else:
                table = tables[read.table]
                operands[i] = table[at] if type(at) is slice else taken(table, at)
        for i, (one, literals) in binding.literals.items():
            if not one:
                operands[i] = literals[launch.rows]
        out = [  # the rows for a result; None where it is the table, or the table is a list
            None if (of := forms[table]).own or of.loose else self._table(table)[first : first + launch.width]
            for table, first in launch.writes
        ]
        results, kept = kernel.forward(launch.width, operands, out, workspace, self._keeps)
        for place, buffer, result in zip(launch.writes, out, results, strict=True):
            if buffer is None:
                self._write(launch, place, result)
        if self._keeps:
            self._kept[number] = kept

    def _room(self, launch: Launch, binding: Binding, kernel: BatchedKernel) -> tuple[Workspace, list[Value]]:
        """The workspace of a kernel for the launches of one group, and the operands that all of these have."""
        operands: list[Value] = [None] * len(kernel.shared)
        for i, weight in binding.weights:
            operands[i] = self._values[weight]
        for i, (one, literals) in binding.literals.items():
            operands[i] = literals if one else None
        key = launch.group, kernel
        found = self._rooms[key] = kernel.workspace(self.bound.rows[key]), operands
        return found

    def _read(self, read: Read) -> Value:
        """Gather an operand of all rows of a launch, or the one row that they share."""
        table = self.tables[read.table]
        if read.one:
            return self._row(self.tables, (read.table, read.at.start))  # type: ignore[union-attr] # it is a slice
        if self._forms[read.table].loose:
            at = read.at
            return stacked(table[at] if isinstance(at, slice) else [table[i] for i in at.tolist()])
        return table[read.at] if isinstance(read.at, slice) else taken(table, read.at)

    def _row(self, tables: Sequence[Any], place: Place) -> Value:  # Any: as `tables`
        """One value or delta, as a node by itself has it."""
        table, row = place
        of = self._forms[table]
        return tables[table][row] if of.loose else row_of(tables[table], row, of.kind)

    def _table(self, number: int) -> Any:  # Any: as `tables`
        """The table with a number, made when a launch first writes into it."""
        if self.tables[number] is None:
            of, kind = self._forms[number], self._forms[number].kind
            made = None if of.loose else new_rows(of.rows, kind.shape or (), kind.dtype, kind.device)
            self.tables[number] = [None] * of.rows if of.loose else made
        return self.tables[number]

    def _write(self, launch: Launch, at: Place, rows: Sequence[Value]) -> None:
        """Put the rows of a result where they lie, or have their array be the table."""
        (number, first), of = at, self._forms[at[0]]
        if of.own and is_array(rows):
            self.tables[number] = rows
        elif of.loose or is_array(rows):
            self._table(number)[first : first + launch.width] = rows
        else:
            table = self._table(number)
            for row, x in enumerate(rows, first):
                table[row] = x

    def _by_rows(self, number: int, launch: Launch, binding: Binding) -> None:
        """Each row by itself, by the ordinary rules."""
        if binding.form.source is RowSource.GIVEN:
            given = binding.given[launch.rows]
            found = [self._values[x] if isinstance(x, Expression) else x for x in given]
            self._write(launch, launch.writes[0], found)
            return
        places = rows_read(launch, binding)
        done = self.bound.each(launch, lambda row: self._computed(launch, binding, row, places))
        values = [row.value for row in done]
        for part, at in enumerate(launch.writes):
            self._write(launch, at, [x[part] for x in values] if binding.several else values)
        if self._keeps:
            self._kept[number] = done, places

    def _computed(
        self, launch: Launch, binding: Binding, row: int, places: Mapping[int, Sequence[Place]]
    ) -> ComputedRow:
        signature, at = binding.signature, launch.rows.start + row
        assert signature is not None
        found: list[Value] = [None] * len(signature.kinds)
        for i, read in places.items():
            found[i] = self._row(self.tables, read[row])
        for i, weight in binding.weights:
            found[i] = self._values[weight]
        for i, (one, literals) in binding.literals.items():
            if binding.nodes is not None:  # literals as they were given, node by node
                found[i] = literals[at]
            else:  # a row of numbers is an array of float64, and an element of that is not weak, as a number is
                found[i] = literals if one else row_of(literals, at, signature.kinds[i])
        if signature.mode == UNRESOLVED:
            assert binding.nodes is not None
            signature = resolve(binding.nodes[at], tuple(found))
        return ComputedRow.of(signature, found)

    def _ragged(self, number: int, launch: Launch, binding: Binding) -> None:
        """Examples of unlike sizes."""
        members = binding.signatures[launch.rows]
        operands: dict[int, Sequence[Value]] = {
            i: literals[launch.rows] for i, (_, literals) in binding.literals.items()
        }
        places = rows_read(launch, binding)
        operands |= {i: [self._row(self.tables, at) for at in read] for i, read in places.items()}
        weights = {i: self._values[weight] for i, weight in binding.weights}
        joined = JoinedExamples(members, operands, weights)
        for at, result in zip(launch.writes, joined.forward(self._keeps), strict=True):
            self._write(launch, at, result)
        if self._keeps:
            self._kept[number] = joined, places

    # -- backward -------------------------------------------------------------------------------------

    def backward(
        self, seeds: Iterable[tuple[Place, Value]], check: Callable[[], object], wanted: Sequence[Place] = ()
    ) -> tuple[dict[Expression, Value], list[Value | None]]:
        """All launches in opposite order: the deltas of weights and of what was given, and those at `wanted` rows.

        A weight may be given as a row, too.
        """
        bound = self.bound
        begun = bound.source.clock()
        self._seconds = [0.0] * len(self._launches)
        self._deltas = [_zeros(of) for of in self._forms]
        for place, delta in seeds:
            self._add(place, delta)
        self._seeded = frozenset(self._reached)
        for at, (count, _) in self.bound.schedule.waiting.items():
            of = self._forms[at[0]].kind
            self._waiting[at] = filled(count, of.shape or (), of.dtype, of.device)
        if bound.passes is None:
            for number in range(len(self._launches) - 1, -1, -1):
                self._send_back(number, check)
        else:
            bound.passes[1].run(partial(self._send_back, check=check))
            self._sent.sort(key=_launched, reverse=True)  # the order of one thread: sorting is stable
        sent: dict[Expression, list[Value]] = {}
        for x, delta in chain(((x, delta) for _, x, delta in self._sent), self._products(), self._given()):
            sent.setdefault(x, []).append(delta)
        leaving = {x: reduce(add, deltas) for x, deltas in sent.items()}
        found = [self._delta(place) for place in wanted]
        self._deltas, self._sent = [], []
        bound.ran("backward", self._seconds, bound.source.clock() - begun)
        return leaving, found

    def _send_back(self, number: int, check: Callable[[], object]) -> None:
        launch, kernel = self._launches[number], self.bound.kernels[number]
        binding = self.bound.bindings[launch.group]
        source = binding.form.source
        for at in launch.writes if self._waiting else ():
            late = self._waiting.pop(at, None)
            if late is not None and at in self._reached:
                add_runs(self._deltas[at[0]], self.bound.schedule.waiting[at][1], late)
        if source is RowSource.GIVEN or not any(k.trainable for k in binding.form.results):
            return
        if self._reached.isdisjoint(launch.writes):
            return
        check()
        begun = self.bound.source.clock()
        if source is RowSource.RAGGED:
            self._ragged_back(number, launch, binding)
        elif kernel is None and source not in (RowSource.SUM, RowSource.STACK):
            self._rows_back(number, launch, binding)
        else:
            deltas = [self._arrived(launch, at) for at in launch.writes]
            forms = zip(deltas, binding.form.results, strict=True)
            deltas = [
                in_rows(x, of.shape or (), of.dtype, of.device) if type(x) is list else x for x, of in forms
            ]
            if kernel is not None:
                found = kernel.backward(launch.width, self._kept[number], deltas)
                self._kept[number] = None
                self._sent += [(number, w, found[i]) for i, w in binding.weights if found[i] is not None]
                for i, read in reversed(list(zip(binding.form.rows, launch.reads, strict=True))):
                    self._scatter(read, found[i])
            elif launch.counts is not None and source is RowSource.SUM:
                self._scatter(launch.reads[0], repeated(deltas[0], launch.counts))
            elif (g := deltas[0]) is not None:
                self._scatter(launch.reads[0], g.reshape(-1, *g.shape[2:]))
        self._seconds[number] = self.bound.source.clock() - begun

    def _products(self) -> Iterator[tuple[Weight, Value]]:
        """Products that lie in workspaces for all launches of a group."""
        for group, kernel in self.bound.rows:
            if (group, kernel) not in self._rooms:
                continue
            workspace, _ = self._rooms[group, kernel]
            deltas = workspace.deltas(len(kernel.shared))
            workspace.products.clear()
            for i, weight in self.bound.bindings[group].weights:
                if deltas[i] is not None:
                    yield weight, deltas[i]

    def _given(self) -> Iterator[tuple[Expression, Value]]:
        for launch in self._launches:
            binding = self.bound.bindings[launch.group]
            if binding.form.source is RowSource.GIVEN and binding.form.results[0].trainable:
                table, first = launch.writes[0]
                for row, x in enumerate(binding.given[launch.rows], first):
                    if isinstance(x, Expression) and (delta := self._delta((table, row))) is not None:
                        yield x, delta

    def _delta(self, place: Place) -> Value | None:
        """The delta that has arrived at one row."""
        return None if self._deltas[place[0]] is None else self._row(self._deltas, place)

    def _arrived(self, launch: Launch, at: Place) -> Value | None:
        """The deltas of a result; None where none has come."""
        table, first = at
        return self._deltas[table][first : first + launch.width] if at in self._reached else None

    def _scatter(self, read: Read, g: Value | None) -> None:
        """Send the deltas of one operand to the rows that it was gathered from."""
        feeds = read.feeds
        if g is None or not feeds:
            return
        self._reached.update(feeds)
        to, table, of = read.to, self._deltas[read.table], self._forms[read.table]
        for write, at, first in read.waiting:
            self._waiting[write][first : first + len(at)] = taken(g, at)
        if to is None:
            return
        if read.some is not None:
            g = taken(g, read.some)
        if read.first and self._seeded.isdisjoint(feeds):
            put_rows(table, to, g)
        elif read.one:
            assert isinstance(to, slice)
            self._add((read.table, to.start), _own(g))
        elif of.loose:
            rows = range(*to.indices(of.rows)) if isinstance(to, slice) else to.tolist()
            for place, row in enumerate(rows):
                self._add((read.table, row), _own(row_of(g, place, of.kind)))
        elif read.runs is not None:
            add_runs(table, read.runs, g)
        else:
            add_rows(table, to, g)

    def _add(self, place: Place, delta: Value) -> None:
        """Add to the delta of one row, and say that one has come there."""
        table, row = place
        of, deltas = self._forms[table], self._deltas[table]
        self._reached.add(self.bound.schedule.write_of(place))
        if not of.trainable:
            return
        if not of.loose:
            deltas[row] += dense(delta)
        else:
            deltas[row] = total(deltas[row], delta)

    def _rows_back(self, number: int, launch: Launch, binding: Binding) -> None:
        weights, (done, places) = dict(binding.weights), self._kept[number]
        self._kept[number] = None

        def sent(row: int) -> Values:
            found = {}
            for part, (table, first) in enumerate(launch.writes):
                if (table, first) in self._reached and (d := self._delta((table, first + row))) is not None:
                    found[part] = d
            return done[row].sent(Parts(found) if binding.several else found[0]) if found else {}

        for row, deltas in reversed([*enumerate(self.bound.each(launch, sent))]):
            for i, delta in deltas.items():
                if i in weights:
                    self._sent.append((number, weights[i], delta))
                elif i in places:
                    self._add(places[i][row], delta)

    def _ragged_back(self, number: int, launch: Launch, binding: Binding) -> None:
        joined, places = self._kept[number]
        arrived: list[Value | None] = []
        for result, at in enumerate(launch.writes):
            deltas = self._arrived(launch, at)
            loose = deltas is not None and self._forms[at[0]].loose
            arrived.append(joined.arrived(result, deltas) if loose else deltas)
        sent = joined.backward(arrived)
        self._sent += [(number, weight, sent[i]) for i, weight in binding.weights if i in sent]
        for i in reversed(binding.form.rows):
            for place, delta in zip(places[i], sent.get(i, ()), strict=False):
                self._add(place, delta)


def rows_read(launch: Launch, binding: Binding) -> dict[int, Sequence[Place]]:
    """For each operand that is a value of nodes, the place that each row reads."""
    return {
        i: places_read(read, launch.width) for i, read in zip(binding.form.rows, launch.reads, strict=True)
    }


def places_read(read: Read, width: int) -> Sequence[Place]:
    """The place that each row of a launch reads."""
    at = range(read.at.start, read.at.stop) if isinstance(read.at, slice) else read.at.tolist()
    if read.tables is not None:
        return [*zip(read.tables.tolist(), at, strict=True)]
    return [(read.table, row) for row in at] * (width if read.one else 1)


def _zeros(of: Table) -> Any:  # Any: as in `BatchRun.tables`
    if of.loose:
        return [None] * of.rows
    return filled(of.rows, of.kind.shape or (), of.kind.dtype, of.kind.device) if of.trainable else None


def _own(x: Value) -> Value:
    """A copy of what lies where the next launch writes."""
    return copied(x) if is_array(x) else x


# -- values of several runs --------------------------------------------------------------------------


class Known:
    """The values of an evaluation, each by itself or as a row of a round."""

    def __init__(self, values: dict[Expression, Value]) -> None:
        self._values = values  # of those by itself
        self._rounds: dict[Expression, BatchRun] = {}  # of all their nodes, but for those of the last one
        self._last: BatchRun | None = None
        self._codes: Mapping[Expression, int] = {}  # of its nodes
        self._parts: list[BatchRun] = []  # with nodes that were not met one by one
        self._newest = 0  # serial of all their nodes

    def close(self) -> None:
        """Let go of all rounds, which hold this."""
        self._rounds.clear()
        self._parts.clear()
        self._last, self._codes = None, {}

    @property
    def rounds(self) -> bool:
        """True if there are any rounds."""
        return self._last is not None

    def add(self, of: BatchRun) -> None:
        """One more round."""
        assert of.region is not None, "its nodes may be asked for"
        if self._last is not None:
            self._rounds.update(dict.fromkeys(self._codes, self._last))
        self._last, self._codes = of, of.region.codes
        self._newest = max(self._newest, int(of.region.serials[-1]))
        if not of.region.complete:
            self._parts.append(of)

    def __contains__(self, x: object) -> bool:
        if x in self._values:
            return True
        if not isinstance(x, Node):
            return False
        made = x.operands[0] if x.signature.operation is PART else x  # what a cell gave is as old as the cell
        return made.serial <= self._newest and self._found(x) is not None

    def __getitem__(self, x: Expression) -> Value:
        """Its value, which from now on it has by itself."""
        if x not in self._values:
            found = self._found(x)
            assert found is not None, "asked of known expressions only"
            of, place = found
            self._values[x] = of.value(place)
        return self._values[x]

    def stacked(self, given: Sequence[Any]) -> Value:  # Any: literals, and nodes whose values are known
        """All values as one table; of those that are rows of another one nobody is looked at by itself."""
        if self._last is None:
            return stacked([self._values[x] if isinstance(x, Expression) else x for x in given])
        groups: dict[tuple[BatchRun, int] | None, tuple[list[int], list[Any]]] = {}  # Any: values, and rows
        for i, x in enumerate(given):
            key, value = self._row(x)
            at, values = groups.setdefault(key, ([], []))
            at.append(i)
            values.append(value)
        pieces = [
            stacked(values) if key is None else taken(key[0].tables[key[1]], places(values))
            for key, (_, values) in groups.items()
        ]
        if len(pieces) == 1:
            return pieces[0]
        order = [i for at, _ in groups.values() for i in at]
        return taken(joined_rows(pieces), argsort(places(order)))

    def _row(self, x: Any) -> tuple[tuple[BatchRun, int] | None, Any]:  # Any: as above
        """In which table it is which row, or no table and the value."""
        if not isinstance(x, Expression):
            return None, x
        found = self._found(x) if x not in self._values else None
        if found is None or found[0].bound.schedule.tables[found[1][0]].loose:
            return None, self[x]
        of, (table, row) = found
        return (of, table), row

    def _round(self, x: Expression) -> BatchRun | None:
        """The round in which it was met."""
        return self._last if x in self._codes else self._rounds.get(x)

    def _found(self, x: Expression) -> tuple[BatchRun, Place] | None:
        of_x = self._round(x)
        if of_x is None and isinstance(x, Node) and x.signature.operation is PART:
            of_x = self._round(x.operands[0])
        for of in self._parts if of_x is None else (of_x,):
            place = of.place(x)
            if place is not None:
                return of, place
        return None


# -- rows by themselves -------------------------------------------------------------------------------


def row_of(x: Value, i: int, of: Kind) -> Value:
    """Row `i` of an array of rows, as the data of a node by itself."""
    if of.column in (Column.NUMBER, Column.DOUBLE):
        return float(x[i])
    if of.column is Column.FLOAT:
        return FLOAT32.type(x[i])
    return x[i, ...] if of.shape == () else x[i]


class ComputedRow(NamedTuple):
    """One row that has been computed by the ordinary rules, as the only node of a graph."""

    node: Node
    values: Values

    @classmethod
    def of(cls, signature: Signature, arguments: Sequence[Value]) -> ComputedRow:
        """Compute an operation or cell."""
        nodes = signature.nodes
        given = tuple([i if i in nodes else x for i, x in enumerate(arguments)])  # places stand for nodes
        values: Values = {i: arguments[i] for i in nodes}
        node = new_node(signature.cls, signature.kind, signature, given, "one of many rows", 0)
        failed: dict[Expression, Failure] = {}
        if not forward([node], values, failed):
            raise combine(next(iter(failed.values())))
        return cls(node, values)

    @property
    def value(self) -> Value:
        """Its value."""
        return self.values[self.node]

    def sent(self, g: Value) -> Values:
        """The deltas of its operands, by their places."""
        sent: Values = {self.node: g}
        failures: list[Exception] = []
        backward([self.node], self.values, sent, failures)
        raise_all(failures)
        return sent
