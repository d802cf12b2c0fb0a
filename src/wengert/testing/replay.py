"""The value of a graph once more, with other values at some of its expressions.

Knows: that a region without binds is its nodes in order and the value rule of each, which takes complex
numbers too if its array functions do.
Refuses to know: derivatives, and binds, whose continuation may build another graph for another value.
"""

from __future__ import annotations

from collections.abc import Mapping

from wengert.arrays import Value
from wengert.graph.node import Expression
from wengert.graph.operation import CELL, EXTERNAL, UNRESOLVED
from wengert.graph.order import below


class Replay:
    """The value of `root` as a function of the values at the expressions `leaves`."""

    def __init__(self, root: Expression, leaves: tuple[Expression, ...]) -> None:
        self.root = root
        self.nodes, weights = below(root, frozenset(leaves))
        self.weights: dict[Expression, Value] = {weight: weight.ref.data for weight in weights}
        self.possible = all(node.signature.mode not in (CELL, EXTERNAL, UNRESOLVED) for node in self.nodes)

    def __call__(self, at: Mapping[Expression, Value]) -> Value:
        """The value with the leaves `at` these values."""
        values: dict[Expression, Value] = {**self.weights, **at}
        for node in self.nodes:
            signature = node.signature
            operands = (values[x] if i in signature.nodes else x for i, x in enumerate(node.operands))
            values[node] = signature.value(*operands)
        return values[self.root]
