"""Rows that run node by node within a region: single ones, and those that no table can hold.

Knows: the ordinary rules, and that a single row needs no copy of anything.
Refuses to know: launches.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from wengert.arrays import Value
from wengert.graph.apply import resolve
from wengert.graph.node import Expression
from wengert.graph.operation import CELL, UNRESOLVED, Signature
from wengert.graph.template import template_of
from wengert.graph.weights import Weight
from wengert.run.batching.bound import Binding
from wengert.run.batching.form import Way
from wengert.run.batching.layout import Step
from wengert.run.batching.rules import row_of
from wengert.run.loops import Values, entered, left

if TYPE_CHECKING:
    from wengert.run.batching.region import Region

Place = tuple[int, int]


class Alone:
    """The steps of a region that go row by row."""

    def __init__(self) -> None:
        self.inside: Values = {}  # what calls of cells computed on their way
        self.resolved: dict[tuple[int, int], Signature] = {}  # by entry and row

    def forward(self, region: Region, step: Step, binding: Binding) -> None:
        """The values of all rows."""
        (at,) = step.writes
        table = region.place(step, at)
        for row in range(step.width):
            value = self._value(region, step, binding, row)
            if table is None:
                raise AssertionError("rows of their own are no table of a launch")
            region.tables[at[0]][at[1] + row] = value

    def _value(self, region: Region, step: Step, binding: Binding, row: int) -> Value:
        if binding.form.way is Way.GIVEN:
            x = binding.given[step.start + row]
            return region.values[x] if isinstance(x, Expression) else x
        signature = binding.signature
        assert signature is not None
        arguments = self.arguments(region, step, binding, row)
        node = binding.nodes[step.start + row] if binding.nodes is not None else None
        if signature.mode == UNRESOLVED:
            assert node is not None
            self.resolved[step.entry, step.start + row] = signature = resolve(node, arguments)
        if signature.mode == CELL:
            assert node is not None
            return entered(node, template_of(signature), arguments, self.inside)
        return signature.value(*arguments)

    def arguments(self, region: Region, step: Step, binding: Binding, row: int) -> tuple[Value, ...]:
        """What the rules of one row are given."""
        assert binding.signature is not None
        found: list[Value] = [None] * len(binding.signature.kinds)
        for i, place in self._places(step, binding, row):
            found[i] = region.row(*place)
        for i, weight in binding.weights:
            found[i] = region.values[weight]
        for i, (one, literals) in binding.columns.items():
            if binding.nodes is not None:  # literals as they were given, node by node
                found[i] = literals[step.start + row]
            else:  # a row of numbers is an array of float64, and an element of that is not weak, as a number is
                found[i] = literals if one else row_of(literals, step.start + row, binding.signature.kinds[i])
        return tuple(found)

    def _places(self, step: Step, binding: Binding, row: int) -> Iterator[tuple[int, Place]]:
        for i, read in zip(binding.form.rows, step.reads, strict=True):
            assert read.tables is not None and not isinstance(read.at, slice)
            yield i, (int(read.tables[row]), int(read.at[row]))

    def backward(
        self, region: Region, step: Step, binding: Binding, row: int, g: Value
    ) -> Iterator[tuple[Place | Weight, Value]]:
        """The deltas of one row's operands: where they go, or the weight."""
        signature = self.resolved.get((step.entry, step.start + row), binding.signature)
        assert signature is not None
        to: dict[int, Any] = {**dict(self._places(step, binding, row)), **dict(binding.weights)}
        if signature.mode == CELL:
            assert binding.nodes is not None
            node = binding.nodes[step.start + row]
            at = {x: i for i, x in enumerate(node.operands) if isinstance(x, Expression)}
            for x, delta in left(node, g, self.inside):
                yield to[at[x]], delta
            return
        y = region.row(step.writes[0][0], step.writes[0][1] + row)
        arguments = self.arguments(region, step, binding, row)
        for i, pull in signature.pulls:
            yield to[i], pull(g, y, *arguments)
