"""An evaluation whose binds go on at the same time: each as far as it can, and the rest of it in its turn.

Knows: that what has been computed early counts as computed when its turn comes, so that nodes, and with them deltas,
have the order of one thread, whoever was first (S9); that structures which have ended before help came, time and
again, are not worth the trouble.
Refuses to know: how strands go on, and how threads are kept.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from wengert.arrays import Value
from wengert.control import Context, Do, Run, Steps
from wengert.differentiable import Tape
from wengert.graph.node import Expression, Node
from wengert.graph.operand import tape_of
from wengert.graph.operation import EXTERNAL, Signature
from wengert.graph.order import below
from wengert.run.evaluation import Evaluation
from wengert.run.loops import Loops
from wengert.run.notes import noted
from wengert.run.threads.ahead import begun
from wengert.run.threads.claimed import AheadOf
from wengert.run.threads.crew import Crew
from wengert.run.threads.habits import Habits, made_of
from wengert.run.threads.overlap import Overlapping
from wengert.run.threads.returning import sent_together
from wengert.run.threads.strand import Begun, Strand, Wait, dropped


class Together(Evaluation):
    """The values and deltas of one run."""

    # a class with room for attributes, so that a run without an own evaluation can be one of both kinds
    ahead: AheadOf | None = None  # now at work
    apart = False  # something has gone ahead in this run
    lasts = False  # so that deltas are worth several threads, too

    def __init__(self, crew: Crew, habits: Habits, snapshot: int, loops: Loops) -> None:
        super().__init__(snapshot, loops)
        self.goes_together(crew, habits)

    def goes_together(self, crew: Crew, habits: Habits) -> None:
        """Who helps."""
        self.crew = crew
        self.habits = habits
        self.early: set[Expression] = set()  # computed, or failed, before their turn
        self.strands: dict[object, Begun] = {}  # of binds whose turn has not come

    # -- ahead --------------------------------------------------------------------------------------

    def carefully(self, nodes: list[Node], context: Context) -> Steps[None]:
        sources = [x.operands[0] for x in nodes if x.signature.mode == EXTERNAL] if len(nodes) > 1 else ()
        if len(sources) > 1:
            of = made_of(sources)
            if self.habits.ahead(of):
                return self._together(nodes, of, context)
        return self._rest(nodes, context)

    def _rest(self, nodes: list[Node], context: Context) -> Steps[None]:
        return self._with_early(nodes, context) if self.early else self._in_turn(nodes, context)

    def _together(self, nodes: list[Node], of: Sequence[object], context: Context) -> Steps[None]:
        """All binds among these, and what depends on them, as far as they go; then the rest in turn."""
        before = {*self.strands}
        try:
            if len({_key(x) for x in nodes if x.signature.mode == EXTERNAL and not self._met(x)}) > 1:
                left = [node for node in nodes if node not in self.values and node not in self.failed]
                with self._at_work(context.run) as ahead:
                    alone = ahead.over(self.crew, left)
                self.habits.learn(of, alone)
                self.lasts |= not alone
            yield from self._rest(nodes, context)
        except BaseException as stop:  # also an interrupt, and the end of this generator
            dropped(self._begun_since(before), stop)
            raise
        dropped(self._begun_since(before))

    def _begun_since(self, before: Container[object]) -> list[Begun]:
        return [self.strands.pop(key) for key in [*self.strands] if key not in before]

    def branches(self, parts: Sequence[Do[Any]], context: Context) -> tuple[list[Begun], bool]:
        """Those of a `gather`, which have gone ahead; whether they have ended alone."""
        with self._at_work(context.run) as ahead:
            return begun(parts, context, ahead, self.crew, self)

    @contextmanager
    def _at_work(self, run: Run) -> Iterator[AheadOf]:
        loops = self.loops
        self.apart = True
        self.ahead = AheadOf(self, run, loops.is_foreign if isinstance(loops, Overlapping) else _nothing)
        try:
            yield self.ahead
        finally:
            self.ahead = None

    def _met(self, node: Node) -> bool:
        """Whether the turn of a bind has come, or that of another node with its value."""
        known = (self.values, self.failed, self.opening)
        return (
            any(node in found for found in known)
            or _key(node) in self.strands
            or id(node.operands[0]) in self.opened
        )

    def strand(self, node: Node, context: Context) -> Strand | None:
        """The strand of a bind; None if it has one, or its turn has come."""
        if self._met(node):
            return None
        (source,) = node.operands
        # a user's `forward` is not called before it runs
        made = Strand(source if isinstance(source, Do) else Do.defer(partial(tape_of, node)), context, self)
        self.strands[_key(node)] = Begun(made)
        return made

    def compute(self, node: Node) -> None:
        """The value of one node, or its failure."""
        try:
            self._compute(node, node.signature)
        except Exception as failure:
            self.failed[node] = (noted(failure, node, self._operands(node)),)

    # -- in turn ------------------------------------------------------------------------------------

    def asked(self, root: Expression, context: Context) -> Steps[None]:
        """Where something has gone ahead, this comes before the value of `root` is asked for."""
        if self.ahead is not None:
            yield Wait(self, root)
        else:
            yield from self.in_turn(root, context)

    def in_turn(self, root: Expression, context: Context) -> Steps[None]:
        """Compute `root` now."""
        if root in self.early or (root not in self.values and root not in self.failed):
            yield from self.carefully(self._left(root), context)

    def taken(self, log: Sequence[Expression], context: Context) -> Steps[None]:
        """The turn has come of what has been computed for these, ahead of it."""
        for root in log:
            if root in self.early:
                yield from self.carefully(self._left(root), context)

    def _left(self, root: Expression) -> list[Node]:
        nodes, weights = below(root, _Without(self.values, self.early))
        self.read(weights)
        return nodes

    def _with_early(self, nodes: Sequence[Node], context: Context) -> Steps[None]:
        late: list[Node] = []
        for node in nodes:
            if node not in self.early:
                late.append(node)
                continue
            if late:
                yield from self._in_turn(late, context)
                late = []
            self.early.discard(node)
            if node.signature.mode == EXTERNAL:
                self.values.pop(node, None)
                yield from self._one(node, context)
            elif node in self.values:
                self.order.append(node)
        yield from self._in_turn(late, context)

    # -- backward -----------------------------------------------------------------------------------

    def backward(self, context: Context) -> Steps[None]:
        return self._several_back(context) if self.lasts else super().backward(context)

    def _several_back(self, context: Context) -> Steps[None]:
        loops, run = self.loops, context.run
        if not isinstance(loops, Overlapping) or not sent_together(self, run, self.crew, loops.is_foreign):
            yield from super().backward(context)

    def _rest_of(self, node: Node) -> Do[Tape[Any, Any]]:
        begun = self.strands.pop(_key(node), None) if self.strands else None
        return tape_of(node) if begun is None else begun


class _Without:
    """What is in one table and not in the other."""

    def __init__(self, table: dict[Expression, Value], other: set[Expression]) -> None:
        self._table, self._other = table, other

    def __contains__(self, x: object) -> bool:
        return x in self._table and x not in self._other


def _key(node: Node) -> object:
    """One for all binds that ask the same value of a user's (S2)."""
    (source,) = node.operands
    return node if isinstance(source, Do) else id(source)


def _nothing(signature: Signature) -> bool:
    return False
