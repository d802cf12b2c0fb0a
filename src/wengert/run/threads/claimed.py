"""Nodes before their turn: each is computed as soon as its operands are known, and strands go on with the values.

Knows: counts of what each node waits for; that nodes of Wengert's own which are ready together are computed in one
line, while a rule of others, which may take any time, is a task of its own.
Refuses to know: whose turn it is, the order of deltas, and how threads are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from functools import partial
from typing import Protocol

from wengert.arrays import Value, all_quiet
from wengert.control import Context, Run
from wengert.graph.node import Expression, Node
from wengert.graph.operation import EXTERNAL, UNRESOLVED, Signature
from wengert.graph.order import below
from wengert.graph.weights import Weight
from wengert.run.loops import Failure, forward
from wengert.run.received import checked, received
from wengert.run.threads.ahead import ONE, Ahead
from wengert.run.threads.crew import Crew
from wengert.run.threads.job import More
from wengert.run.threads.strand import Home, Strand


class Owner(Home, Protocol):
    """The evaluation to which the nodes belong."""

    values: dict[Expression, Value]
    failed: dict[Expression, Failure]
    early: set[Expression]  # those that have been computed before their turn

    def read(self, weights: Iterable[Weight]) -> None:
        """Give weights their values."""

    def strand(self, node: Node, context: Context) -> Strand | None:
        """The strand of a bind; None if it has one, or its turn has come."""

    def compute(self, node: Node) -> None:
        """The value of one node, or its failure."""


class AheadOf(Ahead):
    """The same with the nodes of an evaluation."""

    def __init__(self, owner: Owner, run: Run, foreign: Callable[[Signature], bool]) -> None:
        super().__init__()
        self._owner = owner
        self._run = run
        self._foreign = foreign
        self._context = Context(run, owner)
        self._missing: dict[Expression, int] = {}  # of all nodes met: operands that are not known
        self._users: dict[Expression, list[Node]] = {}  # of what is not known
        self._waiting: dict[Expression, list[Strand]] = {}
        self._binds: dict[Strand, Node] = {}

    def over(self, crew: Crew, nodes: Sequence[Node]) -> bool:
        """All of these nodes, as far as they go; whether that was over before somebody could help."""
        return crew.run([partial(self._begin, nodes)], ONE, young=True)

    def _begin(self, nodes: Sequence[Node]) -> More:
        works = More()
        with self._lock:
            ready = self._claim(nodes)
        self._proceed(ready, works)
        return works

    def _waited(self, strand: Strand, root: Expression, works: More) -> bool:
        owner = self._owner
        strand.log.append(root)
        with self._lock:
            if root in owner.failed:
                return True
            nodes, weights = below(root, _Known(owner.values, owner.failed, self._missing))
            owner.read(weights)
            ready = self._claim(nodes)
            if root in owner.values:
                return True
            self._waiting.setdefault(root, []).append(strand)
        return self._proceed(ready, works, strand)

    def _ended(self, strand: Strand, works: More) -> None:
        node = self._binds.get(strand)
        if node is None:
            super()._ended(strand, works)
        elif strand.failure is None:
            try:
                value = received(checked(strand.value, node), node)
            except Exception:  # its turn says so
                return
            self._owner.values[node] = value
            self._follow([node], works)

    # -- nodes --------------------------------------------------------------------------------------

    def _claim(self, nodes: Sequence[Node]) -> list[Node]:
        """Count what these wait for; the ones that wait for nothing. For one who holds the lock."""
        values, ready = self._owner.values, []
        for node in nodes:
            operands = node.operands
            waits = {x for i in node.signature.nodes if (x := operands[i]) not in values}
            self._missing[node] = len(waits)
            for x in waits:
                self._users.setdefault(x, []).append(node)
            if not waits:
                ready.append(node)
        return ready

    def _proceed(self, ready: list[Node], works: More, mine: Strand | None = None) -> bool:
        """Compute what is ready and short, and what then is; whether `mine` can go on."""
        goes_on = False
        while ready:
            short, done = [], []
            for node in ready:
                if node.signature.mode == EXTERNAL:
                    self._open(node, works)
                elif node.signature.mode == UNRESOLVED:
                    self._owner.compute(node)
                    done.append(node)
                elif self._foreign(node.signature):
                    works.append(partial(self._alone, node))
                else:
                    short.append(node)
            if short:
                with self._lock:
                    line = self._line(short)
                done += line
                self._compute([*line])
            ready, woken = self._known(done)
            works += [partial(self._go, strand) for strand in woken if strand is not mine]
            goes_on |= mine in woken
        return goes_on

    def _open(self, node: Node, works: More) -> None:
        strand = self._owner.strand(node, self._context)
        if strand is not None:
            self._binds[strand] = node
            works.append(partial(self._go, strand))

    def _alone(self, node: Node) -> More:
        works = More()
        self._compute([node])
        self._follow([node], works)
        return works

    def _follow(self, done: Sequence[Node], works: More) -> None:
        """What can be had now that these have been computed."""
        ready, woken = self._known(done)
        works += [partial(self._go, strand) for strand in woken]
        self._proceed(ready, works)

    def _line(self, ready: Sequence[Node]) -> list[Node]:
        """These, and what needs nothing else: nobody else computes any of it. For one who holds the lock."""
        line = [*ready]
        met: dict[Node, int] = {}
        for node in line:  # which grows
            for user in self._users.get(node, ()):
                met[user] = met.get(user, 0) + 1
                if met[user] == self._missing[user] and not self._apart(user.signature):
                    line.append(user)
        return line

    def _apart(self, signature: Signature) -> bool:
        return signature.mode in (EXTERNAL, UNRESOLVED) or self._foreign(signature)

    def _compute(self, nodes: list[Node]) -> None:
        """Their values; one that fails stops only those that need it."""
        values, failed = self._owner.values, self._owner.failed
        self._run.on_cancel(nodes.clear)
        try:
            with all_quiet():
                while (done := forward(nodes, values, failed)) < len(nodes):
                    nodes[:] = [node for node in nodes[done + 1 :] if _ready(node, values)]
        finally:
            self._run.discard(nodes.clear)

    def _known(self, nodes: Sequence[Node]) -> tuple[list[Node], list[Strand]]:
        """The nodes that wait for nothing else any more, and the strands that go on."""
        ready: list[Node] = []
        woken: list[Strand] = []
        values, failed = self._owner.values, self._owner.failed
        with self._lock:
            for node in nodes:
                if node not in values and node not in failed:
                    continue
                self._owner.early.add(node)
                woken += self._waiting.pop(node, ())
                for user in self._users.pop(node, ()) if node in values else ():
                    self._missing[user] -= 1
                    if not self._missing[user] and user not in values and user not in failed:
                        ready.append(user)
        return ready, woken


class _Known:
    """What needs nobody to claim it."""

    def __init__(self, *tables: Container[object]) -> None:
        self._tables = tables

    def __contains__(self, x: object) -> bool:
        return any(x in table for table in self._tables)


def _ready(node: Node, values: Container[object]) -> bool:
    return all(node.operands[i] in values for i in node.signature.nodes)
