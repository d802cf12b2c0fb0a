"""Stretches in the making: a run that is traced, which is the run, forward and, for each case, backward.

Knows: that a trace that fails has changed nothing; that on the way back the values are inputs, of which a program
reads those that it needs.
Refuses to know: which stretches have earned programs, and where these are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any

from wengert.arrays import Value, all_quiet
from wengert.graph.node import Expression, Node
from wengert.graph.template import Parts
from wengert.graph.weights import Weight
from wengert.lazy import LazyDelta
from wengert.run.compiled.layout import memory
from wengert.run.compiled.program import Program, needed
from wengert.run.compiled.scope import Scope, leaving
from wengert.run.compiled.stretch import Back, Passage, Sent, Stretch, form_of, parts_of
from wengert.run.compiled.tracing import Trace, Traced, concrete, outlined, traced_in


def made(
    nodes: Sequence[Node], values: Mapping[Expression, Value], program: Callable[..., Program] | None
) -> tuple[Stretch, Passage] | None:
    """The programs of nodes, and the run that was traced for them; None where that fails, and nothing has changed."""
    make = program or Program
    inside = set(nodes)
    operands = (node.operands[i] for node in nodes for i in node.signature.nodes)
    leaves = tuple(dict.fromkeys(x for x in operands if x not in inside))
    trace = Trace()
    scope = Scope(trace, {x: trace.input(values[x]) for x in leaves})
    try:
        with all_quiet():
            scope.forward(nodes)
        outputs: list[Any] = [scope.table[node] for node in nodes]  # Any: traced values or constants
        forms = {i: form_of(values[x]) for i, x in enumerate(leaves) if not isinstance(x, Weight)}
        stretch = Stretch(nodes, leaves, forms, make(trace, outlined(outputs)), make)
        if stretch.cells:
            outputs += scope.computed(nodes)
            stretch.program = make(trace, outlined(outputs))
        roots, place = memory(trace.calls), {scope.table[x]: i for i, x in enumerate(leaves)}
        stretch.shares = [
            frozenset(place[r] for r in roots.get(x, (x,)) if r in place)
            if isinstance(x, Traced)
            else frozenset()
            for x in map(outlined, scope.computed(nodes))
        ]
        inputs = tuple(x.value for x in trace.inputs)
        return stretch, Passage(stretch, nodes, leaves, inputs, tuple(map(concrete, outputs)))
    except Exception:  # nothing is lost: the interpreter meets it, and says whose it is
        return None
    finally:
        trace.close()


def sending(
    passage: Passage,
    deltas: Mapping[int, Value],
    unwanted: Container[Expression],
    joined: Mapping[Expression, Value],
) -> tuple[Back, Sent] | None:
    """The program of one case, and what is sent in this run, to leaves that are `joined` as one; None as in `made`."""
    if any(isinstance(part, LazyDelta) for part in parts_of(deltas.values())):
        return None  # sent by hand
    nodes, trace = passage.nodes, Trace()  # Any below: traced, or parts of such
    table = {x: trace.input(value) for x, value in zip(passage.leaves, passage.inputs, strict=False)}
    scope, walk = Scope(trace, table), Marked(trace, passage.computed)
    try:
        with all_quiet():
            scope.forward(nodes, walk)
            sources = [*range(len(passage.leaves)), *walk.sources(len(passage.leaves), len(passage.inputs))]
            arrived: dict[Expression, Any] = {nodes[i]: _traced(trace, d) for i, d in deltas.items()}
            totals = {x: None if delta is None else trace.input(delta) for x, delta in joined.items()}
            sources += range(len(sources), len(trace.inputs))
            sent = _through(scope, nodes, arrived, unwanted, totals)
            place = {x: i for i, x in enumerate(passage.leaves)}
            outputs = [_leaving(trace, delta) for _, delta in sent]
            used = _used(trace, outlined(outputs))
            reads = [at + 1 for at, x in zip(sources, trace.inputs, strict=True) if x in used]
            trace.inputs = [x for x in trace.inputs if x in used]
            program = passage.stretch.make(trace, outlined(outputs))
        back = Back(program, reads, [place[x] for x, _ in sent])
        return back, [(x, concrete(delta)) for (x, _), delta in zip(sent, outputs, strict=True)]
    except Exception:  # as in `made`
        return None
    finally:
        trace.close()


def _through(
    scope: Scope,
    nodes: Sequence[Node],
    deltas: dict[Expression, Any],
    unwanted: Container[Expression],
    totals: Mapping[Expression, Any],
) -> list[tuple[Expression, Any]]:  # Any: traced, lazy or constant
    """What leaves the nodes, in the order of the interpreter; for those with totals the totals, at the end."""
    inside: set[Expression] = set(nodes)
    outside: list[tuple[Expression, Any]] = []
    joined: dict[Expression, Any] = {}
    for node in reversed(nodes):
        g = deltas.pop(node, None)
        if g is None:
            continue
        for x, delta in scope.sent(node, g, unwanted):
            if x in inside:
                scope.add(deltas, x, delta)
            elif x in totals:
                if x not in joined and totals[x] is not None:
                    joined[x] = totals[x]
                scope.add(joined, x, delta)
            elif x not in unwanted:
                outside.append((x, delta))
    return [*outside, *joined.items()]


class Marked(Iterator[Value]):
    """Values that become inputs of a trace, among literals that do; where."""

    def __init__(self, trace: Trace, values: Iterable[Value]) -> None:
        self._inputs = trace.inputs
        self._values = iter(values)
        self._begin = len(trace.inputs)
        self._places: list[int] = []

    def __next__(self) -> Value:
        value = next(self._values)
        self._places.append(len(self._inputs))
        return value

    def sources(self, literals: int, values: int) -> list[int]:
        """For each input since then its place in a list, where literals and values begin at these places."""
        of_values = {at: values + i for i, at in enumerate(self._places)}
        of_literals = count(literals)
        return [
            of_values[at] if at in of_values else next(of_literals)
            for at in range(self._begin, len(self._inputs))
        ]


def _used(trace: Trace, outputs: Sequence[object]) -> set[Traced]:
    calls = needed(trace.calls, outputs)
    used = {x for call in calls for x in traced_in((*call.arguments, *call.options.values()))}
    return used.union(traced_in(tuple(outputs)))


def _traced(trace: Trace, delta: Value) -> Any:  # Any: a traced delta, or parts of them
    if isinstance(delta, Parts):
        return Parts({index: _traced(trace, part) for index, part in delta.arrived.items()})
    return trace.input(delta)


def _leaving(trace: Trace, delta: Any) -> Any:  # Any: as in `_traced`
    if isinstance(delta, Parts):
        arrived = [_leaving(trace, part) for part in delta.arrived.values()]
        return trace.opaque(_put_together, tuple(delta.arrived), *arrived)
    return leaving(trace, delta)


def _put_together(indices: tuple[int, ...], *deltas: Value) -> Parts:
    return Parts(dict(zip(indices, deltas, strict=True)))
