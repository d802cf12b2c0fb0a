"""The batched kernel of an operation or cell: its graph by batching rules, its programs, and their workspace.

Knows: that the nodes of a cell get their batching rules one by one, and what no row has a part in is computed once for
all; that the graph for many rows is an ordinary one, whose derivatives are those of its nodes; which values backward
reads, and where they lie until it does; that the rows of all launches of a run lie one after the other, so that a
weight's delta is one product of all of them; which deltas outlive a launch.
Refuses to know: when a kernel is worth making, which rows come together, and how a weight uses its delta.
"""

from __future__ import annotations

import operator
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from operator import attrgetter, itemgetter
from typing import Any, Final, NamedTuple, cast

from wengert.arrays import FLOAT64, Value
from wengert.arrays.abstract import Aval, RowCount, RowTotals, sizes_for
from wengert.arrays.reductions import ones_of
from wengert.arrays.rows import new_table, ones
from wengert.arrays.thin import product
from wengert.errors import DeviceError, ShapeError
from wengert.graph.apply import apply
from wengert.graph.batch import Batch
from wengert.graph.kinds import CLASSES, NUMBER, Column, Kind, Role, device_among, kind
from wengert.graph.node import Expression, Node, new_node, next_serial
from wengert.graph.operand import lift_any
from wengert.graph.operation import CELL, EXTERNAL, UNRESOLVED, Signature
from wengert.graph.order import below_all
from wengert.graph.template import PARAMETER, PART, CellSignature
from wengert.lazy import LazyDelta, Product, Term
from wengert.ops.batching import repeated
from wengert.program.build import NoProgram, bare
from wengert.program.derive import LoweredGraph, aval_of_kind, parts_of_term
from wengert.program.emit import Kernel
from wengert.program.memory import Allocation, can_be_placed
from wengert.program.program import Argument, Eqn, Var, at_rows, mapped, vars_in
from wengert.program.simplify import Pieces, assembled, for_any_rows, needed
from wengert.run.compiled.device import DeviceKernel
from wengert.run.loops import total

_NUMBERS: Final = frozenset({Column.NUMBER, Column.DOUBLE, Column.FLOAT})
_PARAMETER: Final = PARAMETER.signature((NUMBER,), ())
_serial = attrgetter("serial")


# -- the graph for many rows ------------------------------------------------------------------------


class NoBatchingRule(Exception):
    """The reason why there is no graph for many rows."""


class BatchedGraph:
    """The `nodes` that lead from `parameters`, one an operand, to `results`, all of which have an axis of rows."""

    def __init__(self, parameters: Sequence[Node], results: Sequence[Expression]) -> None:
        self.parameters, self.results = parameters, results
        self.nodes = sorted(below_all(results, {*parameters})[0], key=_serial)


@dataclass(frozen=True, slots=True, eq=False)
class RowValue:
    """The stand-in for a value of one row, and whether it has the axis of rows."""

    value: Any  # Any: an expression, or a literal of any type
    stacked: bool

    def over(self, rows: int) -> Expression:
        """The value with the axis of rows."""
        x = lift_any(self.value)
        return x if self.stacked else repeated(x, (rows, *(x.kind.shape or ())))


Made = RowValue | tuple[RowValue, ...]  # several for a cell that returns a tuple


def batched(signature: Signature, shared: Sequence[bool], rows: int) -> BatchedGraph:
    """The graph for so many rows; raises `NoBatchingRule` where something has no rule."""
    floats = {*_NUMBERS, Column.ARRAY}
    number = next((k.dtype for k in signature.kinds if k.column in floats and k.dtype), FLOAT64)
    device = device_among(signature.kinds) or "cpu"
    parameters = tuple(
        _parameter(k if one else _of_rows(k, number, device, rows))
        for k, one in zip(signature.kinds, shared, strict=True)
    )
    written: list[tuple[int, Node]] = []
    given = [RowValue(x, not one) for x, one in zip(parameters, shared, strict=True)]
    made = _called(signature, given, rows, written)
    results = tuple(x.over(rows) for x in (made if isinstance(made, tuple) else (made,)))
    graph = BatchedGraph(parameters, results)
    for x in graph.nodes:  # written on the line of what it stands for, in a cell
        at = bisect_left(written, x.serial, key=itemgetter(0))
        x.code, x.offset = (written[at][1].code, written[at][1].offset) if at < len(written) else ("", 0)
    return graph


def _of_rows(of: Kind, number: Any, device: Any, rows: int) -> Kind:  # Any: what numbers take on
    """The kind of an operand that each row has its own of."""
    if of.column is Column.OTHER or of.shape is None:
        raise NoBatchingRule(f"{of.text()} cannot be a row of an array")
    role = Role.LAYER if of.role is Role.WEIGHT else of.role
    numbers = of.column in _NUMBERS
    column, device = (Column.ARRAY, device) if numbers else (of.column, of.device)
    return kind(column, (rows, *of.shape), of.dtype or number, device, role)


def _parameter(of: Kind) -> Node:
    role = Role.CONSTANT if of.role is Role.LITERAL else of.role
    own = kind(of.column, of.shape, of.dtype, of.device, role)
    return new_node(CLASSES.get(of.column, Node), own, _PARAMETER, (), "", 0)


def _called(signature: Signature, given: Sequence[Made], rows: int, written: list[tuple[int, Node]]) -> Made:
    """One operation or cell, on parts; `written` gets each node of a cell, with a serial after all that it became."""
    if not isinstance(signature, CellSignature):
        return _applied(signature, given, rows)
    template = signature.template
    table: dict[Expression, Made] = dict(zip(template.inputs, given, strict=True))
    for node in template.nodes:
        at = node.signature.nodes
        operands = [table[x] if i in at else RowValue(x, False) for i, x in enumerate(node.operands)]
        try:
            table[node] = _called(node.signature, operands, rows, written)
            written.append((next_serial(), node))
        except NoBatchingRule as refusal:
            if "\n" in str(refusal):
                raise
            raise NoBatchingRule(f"{refusal}\n  built at {node.site}") from None
    found = [table[x] for x in template.results]
    if template.single:
        return found[0]
    return tuple(x for x in found if isinstance(x, RowValue))


def _applied(signature: Signature, given: Sequence[Made], rows: int) -> Made:
    attributes = dict(signature.attributes)
    if signature.operation is PART:
        (several,) = given
        assert isinstance(several, tuple), "a part is of what a cell returned"
        return several[int(attributes["index"])]
    if signature.mode in (EXTERNAL, UNRESOLVED, CELL):
        raise NoBatchingRule(f"{signature.operation.name} waits for what only the run tells")
    parts = [x for x in given if isinstance(x, RowValue)]
    values = [x.value for x in parts]
    stacked = tuple(x.stacked for x in parts)
    if not any(stacked):
        return RowValue(apply(signature.operation, tuple(values), signature.attributes), False)
    rule = signature.operation.rules_for(signature.kinds).batch
    if rule is None:
        raise NoBatchingRule(f"{signature.operation.name} has no batching rule")
    made = rule(Batch(signature, stacked, rows), *values, **attributes)
    if made is NotImplemented:
        raise NoBatchingRule(f"{signature.operation.name} has no batching rule for such operands")
    _check(signature, made, rows)
    return RowValue(made, True)


def _check(signature: Signature, made: Expression, rows: int) -> None:
    of, found = signature.kind, made.kind
    expected = (rows, *(of.shape or ())), of.dtype
    if (found.shape, found.dtype) != expected:
        raise ShapeError(
            f"{signature.operation.name}: the batching rule gives {found.shape} {found.dtype} for {rows} rows "
            f"of {of.text()}; the axis of rows comes first, and the rest is as in one row"
        )


AnyKernel = Kernel | DeviceKernel


# -- programs ---------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class SumOfTerms:
    """A delta that stays a sum: terms as their class and arguments, and a dense rest."""

    terms: list[tuple[type[Term], tuple[Argument, ...]]]
    rest: Var | None

    def vars(self) -> list[Var]:
        return [*vars_in(tuple(parts for _, parts in self.terms)), *vars_in(self.rest)]


Delta = SumOfTerms | Argument  # or a variable, a constant, or None


def vars_of(delta: Delta) -> list[Var]:
    return delta.vars() if isinstance(delta, SumOfTerms) else [*vars_in(delta)]


class Lowered:
    """A graph on rows as equations: forward once, backward for each set of deltas that arrive."""

    def __init__(self, graph: BatchedGraph) -> None:
        self.device = device_among(x.kind for x in (*graph.parameters, *graph.nodes))
        if self.device is None:
            raise NoProgram("its arrays are on several devices")
        far = self.device != "cpu"
        self._graph = low = LoweredGraph(graph.nodes, graph.parameters, graph.results, far)
        self._avals = [aval_of_kind(x.kind) for x in graph.results]
        self.inputs, self.results, self.eqns = low.inputs, low.results, for_any_rows(low.eqns)
        self.made = {*low.inputs, *(e.result for e in self.eqns)}
        if not all(isinstance(x, Var) and x.shape for x in self.results):
            raise NoProgram("a result is no array of rows")
        # of each result whether a delta arrives, as a rule
        self.trains = tuple([x.kind.trainable and x.kind.column is not Column.MASK for x in graph.results])
        self.usual, self.kept = self._backward(self.trains)  # and what it reads of forward, in this order

    def backward(self, pattern: Sequence[bool]) -> Backward:
        """The way back for deltas that arrive at results where the pattern has them."""
        found, read = self._backward(pattern)
        if not {*read} <= {*self.kept}:
            raise NoProgram("backward needs what forward does not keep")
        return found

    def _backward(self, pattern: Sequence[bool]) -> tuple[Backward, list[Var]]:
        avals = {i: self._avals[i] for i, given in enumerate(pattern) if given}
        arriving, builder, deltas = self._graph.backward(avals)
        sent = [*map(_as_delta, deltas)]
        read = tuple(x for delta in sent for x in vars_of(delta))
        eqns = needed(for_any_rows(assembled(builder.eqns, read)), read)
        kept = dict.fromkeys(x for x in (*(x for e in eqns for x in e.reads), *read) if x in self.made)
        return Backward(arriving, eqns, sent), [*kept]


class Backward(NamedTuple):
    """The deltas that arrive, the equations, and the deltas of operands."""

    arriving: list[Var]
    eqns: list[Eqn]
    deltas: list[Delta]


def delta_of(x: Delta, found: Mapping[Var, Value], rows: RowTotals) -> Any:  # Any: a delta
    """A delta of the values that were found."""

    def given(y: Argument) -> Any:  # Any: data
        return at_rows(mapped(lambda part: found[part] if isinstance(part, Var) else part, y), rows)

    if not isinstance(x, SumOfTerms):
        return given(x)
    return LazyDelta([cls(*given(parts)) for cls, parts in x.terms], 1.0, given(x.rest))


def _as_delta(delta: Any) -> Delta:  # Any: a tracer, a constant, a lazy delta or None
    if not isinstance(delta, LazyDelta):
        return bare(delta)
    if delta.factor != 1.0:
        raise NoProgram("a delta is a sum times a factor")
    terms = [(type(term), tuple(map(bare, parts_of_term(term)))) for term in delta.terms]
    return SumOfTerms(terms, bare(delta.rest))


@dataclass(slots=True, eq=False)
class Residuals:
    """Residuals that one launch has left for backward, in a workspace, which is its own if no other launch uses it."""

    workspace: Workspace
    own: bool
    start: int
    values: tuple[Value, ...]


_MOST_WORKSPACES: Final = 2  # kept for later runs
_MOST_SPARE: Final = 4  # times as many rows as needed: what a kept workspace may have


def batched_kernel(signature: Signature, shared: tuple[bool, ...]) -> BatchedKernel:
    """The kernel of a signature, which remembers it; `shared[i]`: all rows have one operand `i`.

    Any other operand is given with a leading axis of rows, scalars too.
    """
    try:
        kernels: dict[tuple[bool, ...], BatchedKernel] = signature.kernels
    except AttributeError:
        kernels = signature.kernels = {}
    found = kernels.get(shared)
    if found is None:
        # A copy, which does not remember kernels: with the signature itself they would make a cycle.
        found = kernels.setdefault(shared, BatchedKernel(signature.copy(), shared))
    return found


class BatchedKernel:
    """One operation or cell for any number of rows, by functions that `make` makes.

    `reason`: why it has no program, if it has none, so that each row is computed by itself.
    """

    def __init__(
        self, signature: Signature, shared: tuple[bool, ...], make: Callable[..., AnyKernel] = Kernel
    ) -> None:
        self.signature = signature
        self.shared = shared
        self.reason: str | None = None
        self._workspaces: list[Workspace] = []
        try:
            self._begin(make)
        except DeviceError:  # no compiler, or no driver that fits: whoever wants less speed says so
            raise
        except (NoBatchingRule, NoProgram) as refusal:
            self.reason = str(refusal)
        except Exception as failure:  # of a rule, on the symbols that a program is made with
            batched(signature, shared, 2)  # raises where a number in their place does not help
            self.reason = f"{type(failure).__name__}: {failure}"

    def _begin(self, make: Callable[..., AnyKernel]) -> None:
        signature, shared = self.signature, self.shared
        # sizes are symbols: no rule looks at one
        self._lowered = lowered = Lowered(batched(signature, shared, cast(int, RowCount())))
        self.device = lowered.device
        if self.device != "cpu":
            make = partial(DeviceKernel, self.device)
        self.make, self.made = make, lowered.made
        self.kept, back = lowered.kept, lowered.usual
        sides = dict.fromkeys(x for pair in _products(back.deltas) for x in pair)
        placed = self.kept if self.device == "cpu" else [x for x in self.kept if x in sides]
        keys: dict[Var, object] = {x: ("kept", i) for i, x in enumerate(placed)}
        self.train = make(lowered.inputs, lowered.eqns, lowered.results, self.kept, keys)
        brought = [x for x in sides if x in self.made and x not in self.train.place]
        # keys of their own, as what such a value is a view of may have its key in `train`
        self._apart = {x: Allocation(x.shape, x.dtype, ("side", i)) for i, x in enumerate(brought)}
        self._backward = {lowered.trains: BackwardKernel(self, back)}
        self.forms = [(x.shape, x.dtype) for x in lowered.results]
        self._numbers = [  # given as doubles, which take on the dtype of what they meet
            (i, x.dtype)
            for i, (x, k) in enumerate(zip(lowered.inputs, signature.kinds, strict=True))
            if k.column is Column.NUMBER and x.aval.form == "array"
        ]

    def forward(
        self,
        rows: int,
        operands: Sequence[Value],
        out: Sequence[Value | None] | None = None,
        workspace: Workspace | None = None,
        keep: bool = True,
    ) -> tuple[tuple[Value, ...], Any]:  # Any: as `backward` takes it
        """The results, each with a leading axis of rows and written into `out[i]` if that is given; and what
        `backward` needs, which reads operands and results once more.

        In a `workspace` the launches of a run lie side by side; without `keep` nothing is left for backward.
        """
        if self._numbers:
            operands = list(operands)
            for i, dtype in self._numbers:
                operands[i] = operands[i].astype(dtype, copy=False)
        given = out or (None,) * len(self.forms)
        made = [
            new_table(sizes_for(shape, rows), dtype, self.device) if x is None else x
            for x, (shape, dtype) in zip(given, self.forms, strict=True)
        ]
        results = (*made,)
        own = workspace is None
        if workspace is None:
            workspace = Workspace(rows, self.device)
        if not keep:
            kernel = self.predict
            kernel.run(rows, *operands, *results, *workspace.frame(kernel, 0, rows))
            return results, None
        kernel, start = self.train, workspace.claim(rows)
        values = kernel.run(rows, *operands, *results, *workspace.frame(kernel, start, rows))
        for x, of_all in self._apart.items():
            workspace.bring(of_all, values[self.kept.index(x)], start, rows)
        return results, Residuals(workspace, own, start, values)

    def backward(
        self, rows: int, kept: Any, deltas: Sequence[Value | None]
    ) -> list[Value | LazyDelta | None]:  # Any: `Residuals`, if anything was kept
        """The delta of each operand: of rows, or summed over them where the operand is shared; None where none goes.

        With a workspace, the deltas of rows lie in it until the next launch, and products that are deltas of shared
        matrices are left to `Workspace.deltas`.
        """
        pattern = (*[x is not None for x in deltas],)
        kernel = self._backward.get(pattern)
        if kernel is None:
            kernel = self._backward[pattern] = BackwardKernel(self, self._lowered.backward(pattern))
        arrived = [x for x in deltas if x is not None]
        sent = kernel.run(rows, kept.workspace, kept.start, kept.values, arrived)
        if kept.own and kernel.joined:
            for i, delta in enumerate(kept.workspace.deltas(len(sent))):
                if delta is not None:
                    sent[i] = total(sent[i], delta)
        return sent

    @cached_property
    def predict(self) -> AnyKernel:
        """Forward, leaving nothing: written when asked for, as text takes half of the time that a launch takes."""
        return self.make(self._lowered.inputs, self._lowered.eqns, self._lowered.results, (), {})

    def key(self, x: Var) -> object:
        """Key of the buffer of one side of a product."""
        return (self._apart.get(x) or self.train.buffers[self.train.place[x]]).key

    def workspace(self, rows: int) -> Workspace:
        """A workspace for so many rows that no other run uses now; `give_back` when the run is over."""
        for _ in range(len(self._workspaces)):
            try:
                workspace = self._workspaces.pop()
            except IndexError:  # another thread was faster
                break
            if rows <= workspace.capacity <= _MOST_SPARE * rows:
                workspace.begin(rows)
                return workspace
        return Workspace(rows, self.device)

    def give_back(self, workspace: Workspace) -> None:
        """Nothing in the workspace is needed any more."""
        workspace.begin(0)
        if len(self._workspaces) < _MOST_WORKSPACES:
            self._workspaces.append(workspace)


def _products(deltas: Sequence[Delta]) -> list[tuple[Var, Var]]:
    """Both sides of each product that is a delta, and has lines for each row."""
    terms = [term for x in deltas if isinstance(x, SumOfTerms) for term in x.terms]
    pairs = [(parts[0], parts[1]) for cls, parts in terms if cls is Product]
    return [pair for pair in pairs if _by_rows(*pair)]


def _by_rows(left: Argument, right: Argument) -> bool:
    """True if both sides of a product have lines for each row, as many."""
    if not isinstance(left, Var) or not isinstance(right, Var):
        return False
    return left.rows is not None and left.rows == right.rows


class BackwardKernel:
    """From the deltas that arrive at some of the results to those of the operands."""

    def __init__(self, forward: BatchedKernel, back: Backward) -> None:
        self._given, self._far = forward.made, forward.device != "cpu"  # `forward` holds on to this
        self._eqns = [*back.eqns]
        self._made = {e.result: e for e in back.eqns}
        self._keys: dict[Var, object] = {}
        sides: list[tuple[int, Var, Var]] = []
        deltas = [self._without_products(i, x, sides) for i, x in enumerate(back.deltas)]
        sums = [self._summed(x) if one else None for x, one in zip(deltas, forward.shared, strict=True)]
        self._deltas = [
            self._lasting(x, one) if summed is None else None
            for x, one, summed in zip(deltas, forward.shared, sums, strict=True)
        ]
        for e in self._eqns:
            if not e.pure:  # it may have kept what it was given
                self._outlives(e.reads)
        wanted = [x for delta in self._deltas for x in vars_of(delta)]
        self._wanted = [*dict.fromkeys([*wanted, *(x for _, *pair in sides for x in pair)])]
        at = {x: i for i, x in enumerate(self._wanted)}
        # of operands: the number of a value, None, or what is made of values
        self._made_of = [at[x] if isinstance(x, Var) else x for x in self._deltas]
        self.kernel = forward.make([*forward.kept, *back.arriving], self._eqns, (), self._wanted, self._keys)
        place, buffers = self.kernel.place, self.kernel.buffers
        keys = {x: buffers[place[x]].key if x in place else forward.key(x) for _, *xs in sides for x in xs}
        self.joined: list[tuple[int, object, object]] = [(i, keys[a], keys[b]) for i, a, b in sides]
        self.joined += [(i, None, keys[x]) for i, x in enumerate(sums) if x is not None]

    def run(
        self, rows: int, workspace: Workspace, start: int, kept: Sequence[Value], arrived: Sequence[Value]
    ) -> list[Value | LazyDelta | None]:
        """The deltas of operands, without the products that the workspace joins."""
        values = self.kernel.run(rows, *kept, *arrived, *workspace.frame(self.kernel, start, rows))
        for operand, left, right in self.joined:
            workspace.note(operand, left, right, start, rows)
        return [values[x] if type(x) is int else self._sent(x, values, rows) for x in self._made_of]

    def _sent(self, x: Delta, values: tuple[Value, ...], rows: int) -> Any:  # Any: a delta
        return None if x is None else delta_of(x, dict(zip(self._wanted, values, strict=True)), rows)

    # -- what outlives a launch -------------------------------------------------------------------------

    def _without_products(self, index: int, delta: Delta, sides: list[tuple[int, Var, Var]]) -> Delta:
        if not isinstance(delta, SumOfTerms):
            return delta
        rest: list[tuple[type[Term], tuple[Argument, ...]]] = []
        for cls, parts in delta.terms:
            if cls is Product and _by_rows(*parts):
                at = index, len(sides)
                left, right = (self._home(x, (*at, side, x.shape, x.dtype)) for side, x in enumerate(parts))
                sides.append((index, left, right))
            else:
                rest.append((cls, parts))
        return SumOfTerms(rest, delta.rest) if rest or delta.rest is not None else None

    def _summed(self, delta: Delta) -> Var | None:
        """The lines of which a delta is the sum, if they are one side of a product and lie in their place anyway."""
        e = self._made.get(delta) if isinstance(delta, Var) else None
        if e is not None and e.function is product:
            left, lines = (x if isinstance(x, Var) else None for x in e.arguments)
            if left in self._made and self._made[left].function is ones_of and lines in self._keys:
                return lines
        return None

    def _home(self, x: Var, key: object) -> Var:
        """One side of a product, in a place that the rows of all launches share."""
        if x in self._given:
            return x
        e = self._made.get(x)
        if e is None or self._far or not (isinstance(e.function, Pieces) or can_be_placed(e)):
            x = self._copied(x, Aval(x.shape, x.dtype))
        self._keys.setdefault(x, key)
        return x

    def _lasting(self, delta: Delta, shared: bool) -> Delta:
        if isinstance(delta, SumOfTerms):
            self._outlives(delta.vars())
        elif shared and isinstance(delta, Var) and delta.aval.form == "array":
            return self._copied(delta, Aval(delta.shape, delta.dtype, "array", "other"))  # in its own memory
        return delta

    def _outlives(self, xs: Sequence[Var]) -> None:
        self._keys.update((x, object()) for x in xs if x not in self._given and x not in self._keys)

    def _copied(self, x: Var, aval: Aval) -> Var:
        self._eqns.append(Eqn(operator.pos, (x,), {}, copy := Var(aval)))
        return copy


# -- room for the launches of one run ---------------------------------------------------------------

_MOST_FRAMES: Final = 512


class Workspace:
    """Buffers for so many rows. What a launch has given lies in it until the run is over, or, of backward, until
    the next launch.
    """

    def __init__(self, capacity: int, device: Any = "cpu") -> None:  # Any: or one of cupy's
        self.capacity = capacity
        self.device = device
        self.expected = capacity  # rows of this run
        self.used = 0
        self.shares: dict[object, Value] = {}  # of all rows, by what they are for
        self.lent: dict[object, Value] = {}  # the same, of a run with one launch, where it lies anyway
        self._wholes: dict[AnyKernel, list[Value | None]] = {}  # what its buffers are parts of
        self._widest = 0
        self._frames: dict[tuple[AnyKernel, int, int], tuple[Value, ...]] = {}
        self.products: dict[tuple[int, object, object], list[tuple[int, int]]] = {}  # and their rows

    def begin(self, rows: int) -> None:
        """Another run, of so many rows: nothing lies here."""
        self.expected = rows
        self.used = 0
        self.products.clear()
        self.lent.clear()

    def claim(self, rows: int) -> int:
        """First place of the next rows."""
        start, self.used = self.used, self.used + rows
        return start

    def frame(self, function: AnyKernel, start: int, rows: int) -> tuple[Value, ...]:
        """The buffers of one launch, and the views of them."""
        key = (function, start, rows)
        found = self._frames.get(key)
        if found is None:
            if rows > self._widest:
                self._widest = rows
                self._wholes.clear()
                self._frames.clear()
            elif len(self._frames) >= _MOST_FRAMES:
                self._frames.clear()
            wholes = self._wholes.get(function)
            if wholes is None:
                wholes = self._wholes[function] = [*map(self._whole, function.buffers)]
            found = self._frames[key] = function.frame(start, rows, *wholes)
        return found

    def bring(self, side: Allocation, x: Value, start: int, rows: int) -> None:
        """Have these rows lie there. The values of a single launch stay where they are until the run is over."""
        if rows == self.expected:
            self.lent[side.key] = x
        else:
            times = _lines_a_row(side) or 1
            self._share(side)[start * times : (start + rows) * times] = x

    def _whole(self, buffer: Allocation) -> Value | None:
        """Array of which a buffer is a part; None where each launch has its own."""
        if buffer.key is None:
            return new_table(sizes_for(buffer.shape, self._widest), buffer.dtype, self.device)
        return None if _lines_a_row(buffer) is None else self._share(buffer)

    def _share(self, buffer: Allocation) -> Value:
        """Array for all rows of a buffer with a key."""
        found = self.shares.get(buffer.key)
        if found is None:
            found = new_table(sizes_for(buffer.shape, self.capacity), buffer.dtype, self.device)
            self.shares[buffer.key] = found
        return found

    def note(self, operand: int, left: object, right: object, start: int, rows: int) -> None:
        """A product of these rows belongs to the delta of an operand."""
        self.products.setdefault((operand, left, right), []).append((start, rows))

    def deltas(self, operands: int) -> list[LazyDelta | Value | None]:
        """For each operand the sum of the products noted, as few as possible; one without a left side is of ones."""
        found: list[LazyDelta | Value | None] = [None] * operands
        for (operand, left, right), spans in self.products.items():
            for start, rows in joined(spans):
                d = self._lines(right, start, rows)
                x = None if left is None else self._lines(left, start, rows)
                delta = product(ones(len(d), d.dtype), d) if x is None else LazyDelta([Product(x, d)])
                found[operand] = total(found[operand], delta)
        return found

    def _lines(self, key: object, start: int, rows: int) -> Value:
        """The lines of rows of what has a key."""
        found = self.lent.get(key)
        if found is not None:
            return found
        share = self.shares[key]
        times = len(share) // self.capacity
        return share[start * times : (start + rows) * times]


def joined(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans (start, count), those that follow each other as one.

    >>> joined([(5, 2), (0, 3), (3, 2), (9, 1)])
    [(0, 7), (9, 1)]
    """
    found: list[tuple[int, int]] = []
    for start, count in sorted(spans):
        if found and sum(found[-1]) == start:
            found[-1] = found[-1][0], found[-1][1] + count
        else:
            found.append((start, count))
    return found


def _lines_a_row(buffer: Allocation) -> int | None:
    """The lines of a buffer that belong to a row; None where its first axis is not of rows."""
    size = buffer.shape[0]
    return size.times if isinstance(size, RowCount) else None
