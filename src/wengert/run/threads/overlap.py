"""The two loops on several threads, for rules of which nobody knows what they wait for (D42).

Knows: that a rule which is not Wengert's own may take any time, so that two of them that do not need each other
run at the same time; that a delta is summed in the order in which one thread would have summed it (S9).
Refuses to know: binds, and what is worth a thread by its size: plans have measured that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from operator import attrgetter, itemgetter

from wengert.arrays import Value
from wengert.graph.node import Expression, Node
from wengert.graph.operation import CELL, EXTERNAL, UNRESOLVED, Signature
from wengert.graph.template import CellSignature
from wengert.run.loops import Ends, Failure, Loops, Values, arguments_of, backward, forward, left
from wengert.run.notes import noted
from wengert.run.threads.crew import Crew
from wengert.run.threads.partition import Tasks, schedule

_LONG, _HANDOFF, _SHORT = 1.0, 1e-3, 1e-9  # rules of others, changing threads, our own rules
_MOST = 4096  # signatures that are remembered
_position = itemgetter(0)
_signature = attrgetter("signature")


class Overlapping(Loops):
    """Both loops for a crew; where nothing can wait, they are those of one thread."""

    def __init__(self, crew: Crew) -> None:
        self._crew = crew
        self._foreign: dict[Signature, bool] = {}
        self._ours: set[Signature] = set()  # those of them that are not: a loop over almost all nodes in C

    def overlap(self, nodes: Sequence[Node]) -> bool:
        """Whether two rules of others among `nodes` could wait for each other."""
        return self._several(nodes) and self._tasks(nodes, _operands_of(nodes)) is not None

    def forward(
        self, nodes: list[Node], values: Values, failed: dict[Expression, Failure], ends: Ends | None = None
    ) -> int:
        """As `Loops.forward`; after a failure `nodes` begins with those that have been computed.

        Of rules that overlap nobody knows which reads a value last: values go when all have ended.
        """
        if len(nodes) < 2 or self._ours.issuperset(map(_signature, nodes)) or not self._several(nodes):
            return super().forward(nodes, values, failed, ends)
        careful = next((i for i, n in enumerate(nodes) if n.signature.mode in _CAREFUL), len(nodes))
        first = nodes[:careful]
        tasks = self._tasks(first, _operands_of(first))
        if tasks is None:
            return super().forward(nodes, values, failed, ends)
        halted: list[bool] = []

        def work(part: list[Node]) -> None:
            if not halted and forward(part, values, failed) < len(part):
                halted.append(True)  # who needs the failed one cannot begin; the rest is done with care

        self._crew.run(
            [partial(work, _While(nodes, (first[i] for i in part))) for part in tasks.parts], tasks
        )
        done = [node for node in first if node in values]
        if nodes:
            nodes[:careful] = done + [node for node in first if node not in values]
        if ends and len(done) == len(first):
            for node in done:
                for x in ends.get(node, ()):
                    values.pop(x, None)
        return len(done)

    def backward(self, nodes: list[Node], values: Values, deltas: Values, failures: list[Exception]) -> None:
        """As `loops.backward`."""
        order = nodes[::-1]
        tasks = self._tasks(order, _consumers_of(order)) if self._several(nodes) else None
        if tasks is None:
            return backward(nodes, values, deltas, failures)
        box = Deltas(deltas)
        met: list[tuple[int, Exception]] = []

        def work(part: Sequence[int]) -> None:
            for i in part:
                if not nodes:  # cancelled
                    return
                node = order[i]
                try:
                    for x, d in _sent(node, box.take(node), values):
                        box.send(x, i, d)
                except Exception as failure:
                    operands = arguments_of(node, node.signature, values)
                    met.append((i, noted(failure, node, operands, "backward of ")))

        self._crew.run([partial(work, part) for part in tasks.parts], tasks)
        failures += [failure for _, failure in sorted(met, key=_position)]
        deltas.clear()
        deltas.update(box.rest())
        return None

    def _several(self, nodes: Sequence[Node]) -> bool:
        return sum(self.is_foreign(node.signature) for node in nodes) > 1

    def is_foreign(self, signature: Signature) -> bool:
        """Whether it is, or calls, a rule which is not Wengert's own."""
        known = self._foreign.get(signature)
        if known is None:
            if isinstance(signature, CellSignature):  # as deep as cells are nested
                known = any(self.is_foreign(node.signature) for node in signature.template.nodes)
            else:
                known = signature.mode not in _CAREFUL and not signature.pure
            if len(self._foreign) >= _MOST:
                self._foreign, self._ours = {}, set()
            self._foreign[signature] = known
            if not known:
                self._ours.add(signature)
        return known

    def _tasks(self, nodes: Sequence[Node], before: Sequence[set[int]]) -> Tasks | None:
        """Tasks for the crew, or None where they would follow each other anyway."""
        costs = [_LONG if self.is_foreign(node.signature) else _SHORT for node in nodes]
        tasks = schedule(before, costs, self._crew.threads, _HANDOFF)
        return tasks if tasks.span + _HANDOFF < sum(costs) else None


_CAREFUL = (EXTERNAL, UNRESOLVED)


class _While(list[Node]):
    """Nodes that end early once the list which they are a part of has been emptied: the run is cancelled."""

    def __init__(self, whole: Sequence[Node], nodes: Iterator[Node]) -> None:
        super().__init__(nodes)
        self._whole = whole

    def __iter__(self) -> Iterator[Node]:
        for node in super().__iter__():
            if not self._whole:
                return
            yield node


def _operands_of(nodes: Sequence[Node]) -> list[set[int]]:
    at = {node: i for i, node in enumerate(nodes)}
    return [{at[x] for j in n.signature.nodes if (x := n.operands[j]) in at} for n in nodes]


def _consumers_of(order: Sequence[Node]) -> list[set[int]]:
    """For each node of an order in which the last comes first, the nodes that take its value."""
    consumers: list[set[int]] = [set() for _ in order]
    for i, operands in enumerate(_operands_of(order)):
        for x in operands:
            consumers[x].add(i)
    return consumers


def _sent(node: Node, g: Value, values: Values) -> Iterator[tuple[Expression, Value]]:
    """The deltas of a node's operands, if anything has arrived at it."""
    signature = node.signature
    if g is None:
        return
    if signature.mode == CELL:
        yield from left(node, g, values)
        return
    arguments = arguments_of(node, signature, values)
    for index, pull in signature.pulls:
        yield node.operands[index], pull(g, values[node], *arguments)


class Deltas:
    """What has been sent to each expression, by the place of the sender; several threads send."""

    def __init__(self, deltas: Values) -> None:
        self._sent: dict[Expression, list[tuple[int, Value]]] = {x: [(-1, d)] for x, d in deltas.items()}

    def send(self, x: Expression, place: int, delta: Value) -> None:
        """One summand."""
        self._sent.setdefault(x, []).append((place, delta))

    def take(self, x: Expression, apart: int | None = None) -> Value:
        """The sum, in the order of the places; None if there is nothing.

        What comes from places `apart` and later is added up by itself first.
        """
        sent = self._sent.pop(x, None)
        if sent is None:
            return None
        late = [pair for pair in sent if apart is not None and pair[0] >= apart]
        if apart is None or not late or len(late) == len(sent):
            return _sum(sent)
        return _sum([pair for pair in sent if pair[0] < apart]) + _sum(late)

    def rest(self) -> Iterator[tuple[Expression, Value]]:
        """What nobody has taken, in the order in which it first arrived in one thread."""
        for x, sent in sorted(self._sent.items(), key=lambda item: min(map(_position, item[1]))):
            yield x, _sum(sent)


def _sum(sent: list[tuple[int, Value]]) -> Value:
    sent.sort(key=_position)
    total = sent[0][1]
    for _, delta in sent[1:]:
        total = total + delta
    return total
