"""Rules that are called as they are, for any number of rows: those of users, and those that decide by values.

Knows: that such a rule belongs to a signature, and that the signature for another number of rows has it too.
Refuses to know: what the rule does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from wengert.graph.kinds import Kind, kind
from wengert.graph.node import Node
from wengert.graph.operation import Operation, Rule, Signature
from wengert.run.batching.listing import Count, Dims

_MOST_RULES: Final = 64  # one for each number of rows met lately
General = Callable[[Any, Any], Any]  # Any: one argument of what two have in common


@dataclass(frozen=True, slots=True, eq=False)
class Own:
    """A rule of one signature: of its value, or of the delta of operand `index`."""

    signature: Signature
    index: int | None
    rule: Rule

    def __call__(self, *arguments: Any) -> Any:  # Any: as in Rule
        return self.rule(*arguments)


def rules_in(nodes: Sequence[Node]) -> dict[int, Own]:
    """All rules of these nodes, by identity."""
    found: dict[int, Own] = {}
    for node in nodes:
        signature = node.signature
        found[id(signature.value)] = Own(signature, None, signature.value)
        for index, rule in signature.pulls:
            found[id(rule)] = Own(signature, index, rule)
    return found


class ForRows:
    """The rule of two signatures that differ in the number of rows, for any: `rule(rows, *arguments)`."""

    def __init__(
        self, one: Own, two: Own, general: General, number: Callable[[int, int], int | Count]
    ) -> None:
        self._operation: Operation = one.signature.operation
        self._index = one.index
        self._attributes = general(one.signature.attributes, two.signature.attributes)
        self._kinds: list[tuple[Kind, Dims]] = [
            (a, tuple(number(n, m) for n, m in zip(a.shape or (), b.shape or (), strict=True)))
            for a, b in zip(one.signature.kinds, two.signature.kinds, strict=True)
        ]
        self._rules: dict[int, Rule] = {}

    def __call__(self, rows: int, *arguments: Any) -> Any:  # Any: as in Rule
        rule = self._rules.get(rows)
        if rule is None:
            if len(self._rules) >= _MOST_RULES:
                self._rules.clear()
            rule = self._rules[rows] = self._rule(rows)
        return rule(*arguments)

    def _rule(self, rows: int) -> Rule:
        kinds = tuple(
            of if of.shape is None else kind(of.column, filled(dims, rows), of.dtype, of.device, of.role)
            for of, dims in self._kinds
        )
        signature = self._operation.signature(kinds, filled(self._attributes, rows))
        return signature.value if self._index is None else dict(signature.pulls)[self._index]


def filled(x: Any, rows: int) -> Any:  # Any: numbers, and tuples of them
    """`x` with the number of rows for counts of them."""
    if isinstance(x, Count):
        return x.times * rows
    if isinstance(x, slice):
        return slice(*(filled(part, rows) for part in (x.start, x.stop, x.step)))
    return tuple(filled(part, rows) for part in x) if isinstance(x, tuple) else x
