"""A batched graph written down as calls, for a number of rows that is easily found again.

Knows: that tracing is running, on made-up operands; that calls of constants count where they depend on the rows.
Refuses to know: buffers, and how calls become a function.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from wengert.arrays import HOST, Value
from wengert.graph.kinds import Column, Kind
from wengert.graph.node import Expression
from wengert.graph.operation import Signature
from wengert.run.batching.foreign import Own, rules_in
from wengert.run.batching.listing import NotGeneral
from wengert.run.batching.rules import BatchedGraph, batched
from wengert.run.compiled.scope import Scope
from wengert.run.compiled.tracing import Call, Function, Trace, Traced

# Beyond what array functions treat as a few rows.
_PRIMES: Final = (101, 103, 107, 109, 113, 127, 131, 137, 139, 149, 151, 157, 163, 167, 173, 179, 181, 191)


class RowsTrace(Trace):
    """A trace that also writes down calls of constants where the number of rows is among them."""

    def __init__(self, rows: int, rules: Mapping[int, Own]) -> None:
        super().__init__()
        self._rows = rows
        self._rules = rules

    def opaque(self, function: Function, *arguments: Any, **options: Any) -> Any:  # Any: as in `Trace.call`
        """What a rule gives of which nothing is known, as a call that says whose rule it is."""
        return super().opaque(self._rules.get(id(function), function), *arguments, **options)

    def _called(
        self, function: Function, arguments: Any, options: Any, pure: bool
    ) -> Any:  # Any: as in `Trace.call`
        found = super()._called(function, arguments, options, pure)
        if isinstance(found, Traced) or not self._counts((*arguments, *options.values())):
            return found
        result = Traced(self, found, function)
        result.arguments = arguments
        self.calls.append(Call(function, arguments, options, result, pure))
        if isinstance(found, tuple):
            return tuple(self.call(HOST.getitem, result, i) for i in range(len(found)))
        return result

    def _counts(self, x: object) -> bool:
        if isinstance(x, (tuple, list)):
            return any(map(self._counts, x))
        return type(x) is int and x != 0 and x % self._rows == 0


@dataclass(slots=True, eq=False)
class Recording:
    """The calls of one launch: those of forward come first."""

    trace: RowsTrace
    inputs: list[Traced]
    calls: list[Call]
    forward: int  # how many calls belong to forward
    results: list[Any]  # Any: traced values and constants
    arriving: list[Traced | None]  # the deltas of results
    deltas: list[Any]  # Any: of operands: traced, lazy, or None


def record(graph: BatchedGraph, pattern: Sequence[bool], rows: int) -> Recording:
    """The calls of a graph, backward with those deltas of results that `pattern` says."""
    trace = RowsTrace(rows, rules_in(graph.nodes))
    inputs = [trace.input(_sample(x.kind, i)) for i, x in enumerate(graph.parameters)]
    table: dict[Expression, Any] = dict(zip(graph.parameters, inputs, strict=True))
    scope = Scope(trace, table, {})
    scope.forward(graph.nodes)
    results = [table[x] for x in graph.results]
    forward = len(trace.calls)
    arriving: list[Traced | None] = []
    sent: dict[Expression, Any] = {}
    for x, given in zip(graph.results, pattern, strict=True):
        g = Traced(trace, _sample(x.kind, 1)) if given else None
        arriving.append(g)
        if g is not None:
            sent[x] = sent[x] + g if x in sent else g
    scope.backward(graph.nodes, sent, {})
    deltas = [sent.get(x) for x in graph.parameters]
    return Recording(trace, inputs, trace.calls, forward, results, arriving, deltas)


def _sample(of: Kind, seed: int) -> Value:
    """Data of a kind: positive, and all alike, so that no formula fails."""
    if of.column in (Column.NUMBER, Column.DOUBLE):
        return 0.5
    if of.column is Column.FLOAT:
        return of.dtype.type(0.5)
    if of.shape == () and of.column is Column.MASK:
        return True
    if of.column is Column.ARRAY:
        return HOST.full(of.shape or (), 0.5 + seed / 16, of.dtype)
    return HOST.zeros(of.shape or (), of.dtype)


def counts_of(signature: Signature, shared: Sequence[bool]) -> tuple[int, int]:
    """Two numbers of rows that are no factor of any size."""
    graph = batched(signature, shared, 2)
    if any(x.kind.device != "cpu" for x in graph.parameters):
        raise NotGeneral("its arrays are on a device")
    sizes = {n for x in (*graph.parameters, *graph.nodes) for n in x.kind.shape or ()}
    fitting = [p for p in _PRIMES if all(n % p or not n for n in sizes)]
    if len(fitting) < 2:
        raise NotGeneral("every number of rows divides some size")
    return fitting[0], fitting[1]
