"""The rules of nodes, traced: forward and backward, and through the calls of cells into their nodes.

Knows: that Wengert's own rules are traced through, while a rule of a user is called as it is, so that no plan can
hold on to something that the rule reads elsewhere; that a literal outside a cell is an input of the program, and
one inside a constant; that open kinds are those of the values of this run.
Refuses to know: where values come from and what becomes of deltas.
"""

from __future__ import annotations

import operator
from collections.abc import Container, Iterator, Sequence
from typing import Any

from wengert.arrays import Value
from wengert.graph.apply import resolve
from wengert.graph.node import Expression, Node
from wengert.graph.operation import CELL, UNRESOLVED, Case, Rule, Signature
from wengert.graph.order import last_readers
from wengert.graph.template import Template, template_of
from wengert.lazy import LazyDelta, Product, Rows, Term
from wengert.run.compiled.tracing import Trace, Traced, Tracing, concrete

Bound = tuple[Rule, tuple[tuple[int, Rule], ...]]
Rulebook = dict[Signature, Bound | None]  # None: of somebody else
Table = dict[Expression, Any]  # Any: traced, lazy or constant values and deltas, and tuples of values


class Scope:
    """Nodes and the values that they have in one evaluation, or in one call of a cell within it."""

    def __init__(
        self, trace: Trace, table: Table, rules: Rulebook | None = None, goes_back: bool = True
    ) -> None:
        self.trace = trace
        self.table = table
        self.goes_back = goes_back  # else a value goes after its last reader
        self.rules: Rulebook = {} if rules is None else rules
        self._within = rules is not None
        self._arguments: dict[Node, list[Any]] = {}  # Any: as in Table
        self._calls: dict[Node, Scope] = {}
        self._resolved: dict[Node, Signature] = {}

    @property
    def foreign(self) -> bool:
        """Whether a rule of somebody else was called."""
        return None in self.rules.values()

    def forward(
        self,
        nodes: Sequence[Node],
        known: Iterator[Value] | None = None,
        kept: Sequence[Expression] = (),
    ) -> None:
        """Every node's value; where they are `known`, in the order of `computed`, they are inputs.

        Where nothing goes back only the `kept` ones stay.
        """
        last = {} if self.goes_back else last_readers(nodes, kept)
        for node in nodes:
            signature, given = node.signature, node.signature.nodes
            arguments = [
                self.table[x] if i in given else self._literal(x) for i, x in enumerate(node.operands)
            ]
            if self.goes_back:
                self._arguments[node] = arguments
            if signature.mode == UNRESOLVED:
                self._resolved[node] = signature = resolve(node, tuple(map(concrete, arguments)))
            if signature.mode == CELL:
                self.table[node] = self._enter(node, template_of(signature), arguments, known)
            elif known is not None:
                self.table[node] = self.trace.input(next(known))
            else:
                rules = self._rules_of(signature)
                self.table[node] = self._applied(rules and rules[0], signature.value, arguments)
            for x in last.get(node, ()):
                del self.table[x]

    def computed(self, nodes: Sequence[Node]) -> Iterator[Any]:  # Any: as in Table
        """The values that rules have given, those within calls of cells in the place of the call's."""
        for node in nodes:
            if node in self._calls:
                yield from self._calls[node].computed(template_of(self.meaning(node)).nodes)
            else:
                yield self.table[node]

    def backward(self, nodes: Sequence[Node], deltas: Table, passed: Table) -> None:
        """Every delta sent on its way, until only what has no rule holds any; `passed` keeps those of its nodes.

        What was found for a node on the way there goes after its turn.
        """
        for node in reversed(nodes):
            g = deltas.pop(node, None)
            if g is not None:
                if node in passed:
                    passed[node] = g
                for x, d in self.sent(node, g):
                    self.add(deltas, x, d)
            for found in (self.table, self._arguments, self._calls):
                found.pop(node, None)

    def add(self, deltas: Table, x: Expression, delta: Any) -> None:  # Any: as in Table
        """Add to what has arrived at `x`."""
        deltas[x] = self._sum(deltas[x], delta) if x in deltas else delta

    def _literal(self, x: Any) -> Any:  # Any: as in Table
        return x if self._within else self.trace.input(x)

    def meaning(self, node: Node) -> Signature:
        """The signature of a node, with its kinds known."""
        return self._resolved.get(node) or node.signature

    def sent(
        self, node: Node, g: Any, unwanted: Container[Expression] = ()
    ) -> list[tuple[Expression, Any]]:  # Any: as in Table
        """Deltas for each operand of `node`, whose delta is `g`; rules for the `unwanted` are not asked."""
        signature = self.meaning(node)
        if signature.mode == CELL:
            return self._leave(node, template_of(signature), g)
        rules = self._rules_of(signature)
        sent = []
        for at, (index, pull) in enumerate(signature.pulls):
            if node.operands[index] in unwanted:
                continue
            arguments = [g, self.table[node], *self._arguments[node]]
            sent.append((node.operands[index], self._applied(rules and rules[1][at][1], pull, arguments)))
        return sent

    def _enter(
        self, node: Node, template: Template, arguments: list[Any], known: Iterator[Value] | None
    ) -> Any:  # Any: as in Table
        table = dict(zip(template.inputs, arguments, strict=True))
        inner = Scope(self.trace, table, self.rules, self.goes_back)
        if self.goes_back:
            self._calls[node] = inner
        inner.forward(template.nodes, known, template.results)
        found = tuple(table[x] for x in template.results)
        return found[0] if template.single else found

    def _leave(
        self, node: Node, template: Template, g: Any
    ) -> list[tuple[Expression, Any]]:  # Any: as in Table
        inner = self._calls[node]
        deltas: Table = {}
        for index, delta in ({0: g} if template.single else g.arrived).items():
            self.add(deltas, template.results[index], delta)
        inner.backward(template.nodes, deltas, {})
        given = node.signature.nodes
        return [
            (node.operands[i], deltas[x]) for i, x in enumerate(template.inputs) if i in given and x in deltas
        ]

    def _sum(self, a: Any, b: Any) -> Any:  # Any: as in Table
        if any(isinstance(x, Traced) and isinstance(x.value, LazyDelta) for x in (a, b)):
            return self.trace.call(operator.add, leaving(self.trace, a), leaving(self.trace, b))
        return a + b

    def _rules_of(self, signature: Signature) -> Bound | None:
        """The rules bound to a namespace that writes down; None for those of others."""
        if signature not in self.rules:
            case = Case(signature.kinds, signature.kind)
            case.xp = Tracing(self.trace, case.xp)
            self.rules[signature] = signature.bound_to(case) if signature.pure else None
        return self.rules[signature]

    def _applied(self, rule: Rule | None, plain: Rule, arguments: list[Any]) -> Any:  # Any: as in Table
        if rule is not None:
            try:
                return rule(*arguments)
            except (TypeError, AttributeError):  # it decides by a value, or goes round its namespace
                pass
        return self.trace.opaque(plain, *arguments)


def leaving(trace: Trace, delta: Any) -> Any:  # Any: as in Table
    """A delta as one value that may leave the program."""
    if not isinstance(delta, LazyDelta):
        return delta
    terms = tuple(term_of(trace, term) for term in delta.terms)
    return trace.opaque(LazyDelta, terms, delta.factor, delta.rest)


def term_of(trace: Trace, term: Term) -> Any:  # Any: a traced term
    """A term of traced values as a traced value."""
    if isinstance(term, Product):
        return trace.call(Product, term.left, term.right)
    assert isinstance(term, Rows), "the rules of operations make these two"
    return trace.call(Rows, term.key, term.values, term.shape)
