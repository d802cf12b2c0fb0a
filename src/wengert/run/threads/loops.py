"""Both loops over nodes on several threads, and the backward pass of an expression with binds.

Knows: that a rule which is not Wengert's own may take any time, so that two of them that do not need each other run at
the same time; that a delta is summed in the order in which one thread would have summed it, where a tape's
summands come after those of other consumers.
Refuses to know: tapes of users, which may do anything with a delta; plans, which have measured the time of their calls.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial, reduce
from operator import add, attrgetter, itemgetter
from typing import Final

from wengert.arrays import Value, all_quiet
from wengert.control import Run
from wengert.graph.node import Expression, Node
from wengert.graph.operation import CELL, EXTERNAL, UNRESOLVED, Signature
from wengert.graph.template import CellSignature
from wengert.lazy import dense
from wengert.run.evaluation import Evaluation
from wengert.run.loops import (
    Ends,
    Failure,
    Loops,
    Values,
    arguments_of,
    backward,
    forward,
    left,
    noted,
    operand_deltas,
)
from wengert.run.own import Hold
from wengert.run.tapes import OwnTape, checked_delta, nowhere
from wengert.run.threads.pool import TaskSchedule, ThreadPool, schedule

HANDOFF: Final = 125e-6  # seconds: a value that changes threads
_LONG, _ELEMENT, _NODE = 1.0, 2e-9, 2e-6  # seconds: a rule of others, an element of an array, a node
_DOUBTFUL, _SHORT = 1e-3, 1e-9  # handoff and rules of Wengert's own, where nothing is known of the others'
_CAREFUL = (EXTERNAL, UNRESOLVED)
_position = itemgetter(0)
_foreign = attrgetter("signature.foreign")

Targets = Mapping[Node, Expression | None]  # of binds: the expression of their tape; None: none


def is_foreign(signature: Signature) -> bool:
    """True if it is, or calls, a rule which is not Wengert's own."""
    try:
        return signature.foreign
    except AttributeError:
        if isinstance(signature, CellSignature):  # as deep as cells are nested
            found = any(is_foreign(node.signature) for node in signature.template.nodes)
        else:
            found = signature.mode not in _CAREFUL and not signature.pure
        signature.foreign = found
        return found


def several_foreign(nodes: Sequence[Node]) -> bool:
    """True if more than one of them is such a rule."""
    try:
        found: int = sum(map(_foreign, nodes))  # a loop in C
        return found > 1
    except AttributeError:  # of one nobody has asked yet
        return sum(is_foreign(node.signature) for node in nodes) > 1


def overlapping(
    before: Sequence[Collection[int]], foreign: Sequence[bool], threads: int
) -> TaskSchedule | None:
    """The schedule in which rules of others overlap, as they may take any time; None where they follow each other."""
    costs = [_LONG if of_others else _SHORT for of_others in foreign]
    tasks = schedule(before, costs, threads, _DOUBTFUL)
    return tasks if tasks.span + _DOUBTFUL < sum(costs) else None


class ThreadedLoops(Loops):
    """Both loops on a thread pool; where no two rules can overlap, those of one thread."""

    def __init__(self, pool: ThreadPool) -> None:
        self._pool = pool

    def overlap(self, nodes: Sequence[Node]) -> bool:
        """True if two rules of others among `nodes` could overlap."""
        return several_foreign(nodes) and self._schedule(nodes, _operands_of(nodes)) is not None

    def forward(
        self, nodes: list[Node], values: Values, failed: dict[Expression, Failure], ends: Ends | None = None
    ) -> int:
        """As `Loops.forward`; after a failure `nodes` begins with those that have been computed.

        The last reader of a value is unknown where rules overlap: values go when all have ended.
        """
        if len(nodes) < 2 or not several_foreign(nodes):
            return super().forward(nodes, values, failed, ends)
        careful = next((i for i, n in enumerate(nodes) if n.signature.mode in _CAREFUL), len(nodes))
        first = nodes[:careful]
        tasks = self._schedule(first, _operands_of(first))
        if tasks is None:
            return super().forward(nodes, values, failed, ends)
        halted: list[bool] = []

        def work(part: list[Node]) -> None:
            if not halted and forward(part, values, failed) < len(part):
                halted.append(True)  # who needs the failed one cannot begin; the rest is done with care

        parts = [_Cancellable(nodes, (first[i] for i in part)) for part in tasks.parts]
        self._pool.run([partial(work, part) for part in parts], tasks)
        done = [node for node in first if node in values]
        if nodes:
            nodes[:careful] = done + [node for node in first if node not in values]
        if ends and len(done) == len(first):
            for node in done:
                for x in ends.get(node, ()):
                    values.pop(x, None)
        return len(done)

    def backward(self, nodes: list[Node], values: Values, deltas: Values, failures: list[Exception]) -> None:
        """As `Loops.backward`."""
        order = nodes[::-1]
        tasks = self._schedule(order, _consumers_of(order)) if several_foreign(nodes) else None
        if tasks is None:
            return backward(nodes, values, deltas, failures)
        sums = Sums(deltas)
        met: list[tuple[int, Exception]] = []

        def work(part: Sequence[int]) -> None:
            for i in part:
                if not nodes:  # cancelled
                    return
                node = order[i]
                try:
                    _send(node, node.signature, i, sums, values)
                except Exception as failure:
                    operands = arguments_of(node, node.signature, values)
                    met.append((i, noted(failure, node, operands, "backward of ")))

        self._pool.run([partial(work, part) for part in tasks.parts], tasks)
        failures += [failure for _, failure in sorted(met, key=_position)]
        sums.leave(deltas)
        return None

    def _schedule(self, nodes: Sequence[Node], before: Sequence[set[int]]) -> TaskSchedule | None:
        return overlapping(before, [is_foreign(node.signature) for node in nodes], self._pool.threads)


class _Cancellable(list[Node]):
    """Nodes that end early once the list which they are a part of has been emptied: the run is cancelled."""

    def __init__(self, whole: Sequence[Node], nodes: Iterator[Node]) -> None:
        super().__init__(nodes)
        self._whole = whole

    def __iter__(self) -> Iterator[Node]:
        for node in super().__iter__():
            if not self._whole:
                return
            yield node


def backward_on(pool: ThreadPool, of: Evaluation, run: Run) -> bool:
    """Send all deltas of an evaluation; False, and nothing has changed, if one thread has to."""
    targets = None if of.wanted or of.pending else _targets(of)
    if targets is None:
        return False
    order = of.order[::-1]
    costs = [_cost(of, node) for node in order]
    tasks = schedule(_consumers_of(order, targets), costs, pool.threads, HANDOFF)
    if tasks.span + 2 * HANDOFF >= sum(costs):
        return False
    of.segments.open_all(of)
    sums, failed = Sums(of.deltas), list[int]()

    def work(part: Sequence[int]) -> None:
        for i in part:
            if run.cancelled or failed:
                return
            node = order[i]
            try:
                if node in targets:
                    target, arrived = targets[node], sums.take(node, len(order))
                    if target is not None and arrived is not None:
                        sums.send(target, len(order) + i, checked_delta(arrived, target))
                else:
                    _send(node, of.resolved.get(node) or node.signature, i, sums, of.values, targets)
            except Exception:  # one thread tries again, and says what has failed, and where
                failed.append(i)

    with all_quiet():
        pool.run([partial(work, part) for part in tasks.parts], tasks)
    run.check()
    if not failed:
        sums.leave(of.deltas)
    return not failed


def _targets(of: Evaluation) -> Targets | None:
    """The targets of all tapes; None where a tape is a user's, or has been let go."""
    found: dict[Node, Expression | None] = {}
    for node, tape in of.tapes.items():
        back = tape.backward
        holder = getattr(back, "__self__", None)
        if not isinstance(tape, OwnTape):
            return None
        if isinstance(holder, Hold) and holder.evaluation is of:
            found[node] = holder.x
        elif isinstance(back, partial) and back.func == of.receive:
            (found[node],) = back.args
        elif back is nowhere:
            found[node] = None
        else:
            return None
    return found


def _operands_of(nodes: Sequence[Node]) -> list[set[int]]:
    at = {node: i for i, node in enumerate(nodes)}
    return [{at[x] for j in n.signature.nodes if (x := n.operands[j]) in at} for n in nodes]


def _consumers_of(order: Sequence[Node], targets: Targets | None = None) -> list[set[int]]:
    """For each node of an order in which the last comes first, the nodes that send it deltas."""
    at = {node: i for i, node in enumerate(order)}
    consumers: list[set[int]] = [set() for _ in order]
    for i, node in enumerate(order):
        operands = [node.operands[j] for j in node.signature.nodes]
        for x in operands if targets is None or node not in targets else [targets[node]]:
            if x in at:
                consumers[at[x]].add(i)
    return consumers


def _cost(of: Evaluation, node: Node) -> float:
    if node in of.tapes:
        return _NODE
    if is_foreign(node.signature):
        return _LONG
    values = (of.values[node], *arguments_of(node, node.signature, of.values))
    return _NODE + _ELEMENT * sum(getattr(value, "size", 1) for value in values)


def _send(
    node: Node, signature: Signature, place: int, sums: Sums, values: Values, targets: Targets | None = None
) -> None:
    """The backward step of one node; a bind whose tape has no target gets no delta."""
    g = sums.take(node)
    if g is None:
        return
    targets = targets or {}
    if signature.mode == CELL:
        for x, delta in left(node, g, values):
            sums.send(x, place, dense(delta) if x in targets else delta)
        return
    arguments = arguments_of(node, signature, values)
    for index, computed in operand_deltas(signature, g, values[node], arguments):
        x = node.operands[index]
        if targets.get(x, x) is not None:
            sums.send(x, place, computed())


class Sums:
    """The summands sent to each expression, by the place of the sender; several threads send."""

    def __init__(self, deltas: Values) -> None:
        self._sent: dict[Expression, list[tuple[int, Value]]] = {x: [(-1, d)] for x, d in deltas.items()}

    def send(self, x: Expression, place: int, delta: Value) -> None:
        """Add one summand."""
        self._sent.setdefault(x, []).append((place, delta))

    def take(self, x: Expression, apart: int | None = None) -> Value:
        """The sum, in the order of the places; None without summands.

        Summands from places `apart` and later are added up by themselves first.
        """
        sent = self._sent.pop(x, None)
        if sent is None:
            return None
        late = [pair for pair in sent if apart is not None and pair[0] >= apart]
        if apart is None or not late or len(late) == len(sent):
            return _sum(sent)
        return _sum([pair for pair in sent if pair[0] < apart]) + _sum(late)

    def leave(self, deltas: Values) -> None:
        """Leave in `deltas` the sums that nobody has taken, in the order in which one thread would meet them."""
        deltas.clear()
        for x, sent in sorted(self._sent.items(), key=lambda item: min(map(_position, item[1]))):
            deltas[x] = _sum(sent)


def _sum(sent: list[tuple[int, Value]]) -> Value:
    sent.sort(key=_position)
    return reduce(add, [delta for _, delta in sent])
