"""A layout with the weights and literals of one graph.

Knows: that literals do not change, so that they are stacked once for as long as an expression is kept; that a
literal which all rows share is no table.
Refuses to know: values of nodes, and when a run happens.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from wengert.arrays import Value
from wengert.arrays.places import Places
from wengert.graph.node import Node
from wengert.graph.operation import Signature
from wengert.graph.template import CellSignature
from wengert.graph.weights import Weight
from wengert.run.batching.form import Form, Way, why_alone
from wengert.run.batching.launch import Launch, launch_of
from wengert.run.batching.layout import Layout, Step
from wengert.run.batching.record import Entry, Record
from wengert.run.batching.report import Line, Report


@dataclass(slots=True)
class Binding:
    """What one entry has besides rows."""

    form: Form
    signature: Signature | None
    weights: list[tuple[int, Weight]] = field(default_factory=list)  # by operand
    columns: dict[int, tuple[bool, Value]] = field(
        default_factory=dict
    )  # whether it is shared, and the literals
    given: list[Any] = field(default_factory=list)  # Any: literals, and nodes whose values are known
    nodes: list[Node] | None = None  # of what runs node by node
    line: Line | None = None  # of the report


class Bound:
    """What a run needs of a graph."""

    def __init__(self, record: Record, layout: Layout, report: Report) -> None:
        self.layout = layout
        self.report = report
        self.bindings = [
            _binding(entry, order, record) for entry, order in zip(record.entries, layout.orders, strict=True)
        ]
        self.launches = [self._launch(step) for step in layout.steps]
        self.rows: dict[tuple[int, Launch], int] = {}  # of all launches that have one workspace
        for step, launch in zip(layout.steps, self.launches, strict=True):
            if launch is not None:
                self.rows[step.entry, launch] = self.rows.get((step.entry, launch), 0) + step.width
        self._alone = [*self._unbatched(record)]
        signatures = [b.signature for b in self.bindings if b.signature is not None]
        self._apart = Counter((s.operation.name, s.kinds) for s in signatures)

    def begin(self) -> None:
        """A run begins: find its lines in the report, which may have been cleared."""
        self.report.runs += 1
        for binding in self.bindings:
            if binding.signature is not None:
                key = (binding.signature.operation.name, binding.signature.kinds)
                binding.line = self.report.line(*key)
                binding.line.apart = max(binding.line.apart, self._apart[key])
            elif binding.form.way is Way.SUM:
                binding.line = self.report.line("sum of additions", binding.form.results)
        for alone in self._alone:
            self.report.alone(*alone)

    def _unbatched(self, record: Record) -> Iterator[tuple[str, str, str, int]]:
        """What runs node by node, although there is more than one: name, reason, site, count."""
        why: dict[int, str] = {}
        for step, launch in zip(self.layout.steps, self.launches, strict=True):
            if launch is not None and launch.reason is not None:
                why[step.entry] = launch.reason
        for number, binding in enumerate(self.bindings):
            signature = binding.signature
            if signature is None or not (binding.nodes or number in why):
                continue
            reason = why.get(number) or why_alone(signature)
            entry = record.entries[number]
            yield signature.operation.name, reason, entry.site, len(entry.members)

    @property
    def keepable(self) -> bool:
        """Whether nothing in here holds on to a node."""
        return not any(
            b.nodes is not None or any(isinstance(x, Node) for x in b.given) for b in self.bindings
        )

    def weights(self) -> list[Weight]:
        """All weights that are read."""
        found = dict.fromkeys(w for binding in self.bindings for _, w in binding.weights)
        for binding in self.bindings:  # a weight that is lifted is a given row
            if binding.form.way is Way.GIVEN and binding.form.results[0].trainable:
                found |= dict.fromkeys(x for x in binding.given if isinstance(x, Weight))
        return list(found)

    def _launch(self, step: Step) -> Launch | None:
        binding = self.bindings[step.entry]
        if binding.signature is None or step.alone:
            return None
        shared = [True] * len(binding.signature.kinds)
        for i, read in zip(binding.form.rows, step.reads, strict=True):
            shared[i] = read.one
        for i, (one, _) in binding.columns.items():
            shared[i] = one
        return launch_of(binding.signature, tuple(shared))


def _binding(entry: Entry, order: Places, record: Record) -> Binding:
    binding = Binding(entry.form, entry.signature)
    if entry.form.way is Way.GIVEN:
        binding.given = [entry.given[i] for i in entry.order[order].tolist()]
    if entry.signature is None:
        return binding
    signature = entry.signature
    binding.weights = list(zip(entry.form.weights, entry.weights, strict=True))
    if isinstance(signature, CellSignature):
        first = len(signature.template.parameters)
        binding.weights += enumerate(signature.template.captured, first)
    if entry.form.way is Way.ALONE:
        binding.nodes = [record.node(number) for number in entry.members[order].tolist()]
    for i in entry.form.literals:
        if binding.nodes is None:
            binding.columns[i] = entry.column(i, order)
        else:
            binding.columns[i] = True, [node.operands[i] for node in binding.nodes]
    return binding
