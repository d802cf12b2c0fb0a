"""Deltas of an expression with binds, sent by several threads: where every tape is the evaluation's own.

Knows: that what is sent to such a tape arrives at the expression that it was made of, after what its other consumers
send, so that each sum has the order of one thread (S9); that rules of others may take any time, and those of
Wengert's about as long as their arrays are large.
Refuses to know: tapes of others, which may do anything with a delta; a failure, for which one thread tries again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from wengert.arrays import Value, all_quiet
from wengert.control import Run
from wengert.graph.node import Expression, Node
from wengert.graph.operation import CELL, Signature
from wengert.lazy import dense
from wengert.run.evaluation import Evaluation
from wengert.run.loops import arguments_of, left
from wengert.run.own import Hold
from wengert.run.received import OwnTape, checked_delta, nowhere
from wengert.run.threads.crew import Crew
from wengert.run.threads.overlap import Deltas
from wengert.run.threads.partition import schedule

_LONG, _ELEMENT, _NODE = 1.0, 2e-9, 2e-6  # seconds: a rule of others, an element of an array, a node
_HANDOFF: Final = 125e-6  # as for the regions of a plan

Targets = Mapping[Node, Expression | None]  # of binds: what their tapes lead to; None: nowhere


def sent_together(of: Evaluation, run: Run, crew: Crew, foreign: Callable[[Signature], bool]) -> bool:
    """Send all deltas of an evaluation on their way; False, and nothing has changed, if one thread has to."""
    targets = None if of.wanted or of.pending else _targets(of)
    if targets is None:
        return False
    order = of.order[::-1]
    costs = [_cost(of, node, foreign) for node in order]
    tasks = schedule(_senders(order, targets), costs, crew.threads, _HANDOFF)
    if tasks.span + 2 * _HANDOFF >= sum(costs):
        return False
    of.segments.open_all(of)
    box, failed = Deltas(of.deltas), list[int]()

    def work(part: Sequence[int]) -> None:
        for i in part:
            if run.cancelled or failed:
                return
            try:
                _pass_on(of, order[i], i, targets, box, len(order))
            except Exception:  # one thread tries again, and says what has failed, and where
                failed.append(i)

    with all_quiet():
        crew.run([partial(work, part) for part in tasks.parts], tasks)
    run.check()
    if not failed:
        of.deltas.clear()
        of.deltas.update(box.rest())
    return not failed


def _targets(of: Evaluation) -> Targets | None:
    """None where a tape is somebody else's, or has been let go."""
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


def _senders(order: Sequence[Node], targets: Targets) -> list[set[int]]:
    """For each node of an order in which the last comes first, those that send it deltas."""
    at = {node: i for i, node in enumerate(order)}
    senders: list[set[int]] = [set() for _ in order]
    for i, node in enumerate(order):
        operands = [targets[node]] if node in targets else [node.operands[j] for j in node.signature.nodes]
        for x in operands:
            if x in at:
                senders[at[x]].add(i)
    return senders


def _cost(of: Evaluation, node: Node, foreign: Callable[[Signature], bool]) -> float:
    if node in of.tapes:
        return _NODE
    if foreign(node.signature):
        return _LONG
    values = (of.values[node], *arguments_of(node, node.signature, of.values))
    return _NODE + _ELEMENT * sum(getattr(value, "size", 1) for value in values)


def _pass_on(of: Evaluation, node: Node, place: int, targets: Targets, box: Deltas, count: int) -> None:
    """The turn of one node; what goes to a tape is added after what comes from consumers, from `count` on."""
    if node in targets:
        target, arrived = targets[node], box.take(node, count)
        if target is not None and arrived is not None:
            box.send(target, count + place, checked_delta(arrived, target))
        return
    g = box.take(node)
    if g is None:
        return
    for x, delta in _sent(of, node, g, targets):
        box.send(x, place, delta)


def _sent(of: Evaluation, node: Node, g: Value, targets: Targets) -> Iterator[tuple[Expression, Value]]:
    """The deltas of a node's operands; a bind whose tape leads nowhere gets none."""
    signature = of.resolved.get(node) or node.signature
    if signature.mode == CELL:
        for x, delta in left(node, g, of.values):
            yield x, dense(delta) if x in targets else delta
        return
    arguments = arguments_of(node, signature, of.values)
    for index, pull in signature.pulls:
        x = node.operands[index]
        if not (x in targets and targets[x] is None):
            yield x, pull(g, of.values[node], *arguments)
