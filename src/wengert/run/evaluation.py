"""One evaluation of expressions, forward and backward: the definition of what they mean.

Knows: how values and deltas go from node to node; that binds suspend and resume; that every node is computed
once and gets its whole delta once, in the reverse of the order of evaluation (S2, S3); that a failure stops
only the nodes that need the failed one (D16).
Refuses to know: formulas, weights' optimizers, and what the values are for.

The loops of `loops` do nearly all the work; the generators here handle what is rare: tapes from a `Do`, kinds
that only the run tells, and failures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Self

from wengert.arrays import Value, all_quiet, one_like, shape_of
from wengert.control import Context, Do, Run, Steps, UnitContinuation
from wengert.differentiable import Tape
from wengert.errors import ShapeError, TapeReleasedError, combine
from wengert.graph.apply import resolve
from wengert.graph.node import Expression, Node
from wengert.graph.operand import tape_of
from wengert.graph.operation import CELL, EXTERNAL, UNRESOLVED, Signature
from wengert.graph.order import below
from wengert.graph.store import Cell
from wengert.graph.watchers import WATCHERS, watchers_of
from wengert.graph.weights import Weight
from wengert.lazy import dense
from wengert.run.beginnings import Begun, dropped
from wengert.run.loops import ONE_THREAD, Failure, Loops, arguments_of, entered, left, pulled, summed
from wengert.run.notes import noted, raise_all
from wengert.run.received import OwnTape, checked, checked_delta, received


class Evaluation:
    """The values and deltas of one prediction, training or run; nothing outlives it (S13)."""

    __slots__ = (
        "begun",
        "buffers",
        "deltas",
        "failed",
        "lazy",
        "loops",
        "opened",
        "opening",
        "order",
        "pending",
        "resolved",
        "snapshot",
        "tapes",
        "values",
        "wanted",
    )

    def __init__(self, snapshot: int, loops: Loops = ONE_THREAD) -> None:
        self.snapshot = snapshot
        self.loops = loops
        self.values: dict[Expression, Value] = {}
        self.buffers: dict[int, Cell] = {}  # of the weights read, by the identity of their data
        self.order: list[Node] = []  # as evaluated, which is a topological order across binds
        self.deltas: dict[Expression, Value] = {}
        self.failed: dict[Expression, Failure] = {}
        self.tapes: dict[Node, Tape[Any, Any]] = {}  # Any: of external nodes, with Data of every type
        self.pending: dict[Expression, list[Do[Any]]] = {}  # Any: deltas sent by hand or by a user's tape
        self.opened: dict[int, Node] = {}  # by the identity of a user's differentiable value
        self.opening: set[Node] = set()  # whose Do runs now: one that is met again would wait for itself
        self.begun: dict[Node, Begun] = {}  # external nodes that have begun before their turn
        self.lazy: dict[Node, list[Callable[[], Value]]] = {}  # deltas of external nodes, run if asked for
        self.resolved: dict[Node, Signature] = {}
        self.wanted: dict[Expression, Value] = {}  # deltas asked for by `gradients`

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        """Let go of what holds this evaluation: failures by their tracebacks, tapes by where they send."""
        for table in (self.failed, self.tapes, self.pending, self.lazy):
            table.clear()
        if WATCHERS and len(failure) == 3 and isinstance(failure[1], Exception):
            for watcher in watchers_of(x for x in self.values if isinstance(x, Weight)):
                watcher.failed(failure[1])

    # -- forward ------------------------------------------------------------------------------------

    def evaluate(self, root: Expression, context: Context, nodes: list[Node] | None = None) -> Steps[Value]:
        """The value of `root`; everything below it that has no value yet gets one: `nodes`, if known."""
        if root not in self.values and root not in self.failed:
            nodes = self.begin(root) if nodes is None else nodes
            context.run.on_cancel(nodes.clear)
            try:
                with all_quiet():
                    done = self.loops.forward(nodes, self.values, self.failed)
            finally:
                context.run.discard(nodes.clear)
            context.run.check()
            self.order += nodes[:done]
            yield from self.carefully(nodes[done:], context)
        return self.value(root)

    def there_and_back(self, loss: Expression, run: Run, nodes: list[Node]) -> list[Node]:
        """Forward, and backward with seed 1 unless a node needs care; the nodes from the first such one on.

        For an evaluation that begins: all of it in one go, as almost every training is.
        """
        run.on_cancel(nodes.clear)
        failures: list[Exception] = []
        try:
            with all_quiet():
                done = self.loops.forward(nodes, self.values, self.failed)
                run.check()
                self.order += nodes[:done]
                if done < len(nodes):
                    return nodes[done:]
                self.seed(loss)
                self.loops.backward(nodes, self.values, self.deltas, failures)
        finally:
            run.discard(nodes.clear)
        raise_all(failures)
        return []

    def seed(self, loss: Expression) -> None:
        """The delta that backward begins with; refused where only the run tells that a loss is no scalar."""
        value, of = self.value(loss), loss.kind
        if of.shape is None and shape_of(value) != ():
            raise ShapeError(
                f"a loss is a scalar, {loss!r} has shape {shape_of(value)}; reduce it with mean or sum"
            )
        if of.trainable:
            self.add(loss, one_like(value))

    def value(self, root: Expression) -> Value:
        """The value that `root` has got, or the failure that kept it from having one."""
        if root in self.failed:
            raise combine(self.failed[root])
        return self.values[root]

    def begin(self, root: Expression) -> list[Node]:
        """The nodes below `root` that have no value yet, in order; the weights among them get theirs."""
        nodes, weights = below(root, self.values)
        self.read(weights)
        return nodes

    def read(self, weights: Iterable[Weight]) -> None:
        """Give weights the values that they had when the run began."""
        values = self.values
        for weight in weights:
            values[weight] = data = weight._cell.at(self.snapshot)
            self.buffers[id(data)] = weight._cell
            base = getattr(data, "base", None)
            if base is not None:  # the array that it lives in with others: a view of a row has the same
                self.buffers[id(base)] = weight._cell

    def carefully(self, nodes: list[Node], context: Context) -> Steps[None]:
        """The rest of a region once something in it waits or has failed."""
        begun = self._begin_together(nodes, context)
        try:
            yield from self._in_turn(nodes, context)
        finally:
            if begun:
                dropped(self.begun.pop(node) for node in begun if node in self.begun)

    def _begin_together(self, nodes: list[Node], context: Context) -> Sequence[Node]:
        """The binds among `nodes` that have begun before their turn."""
        first: dict[object, Node] = {}
        for node in nodes:
            if node._signature.mode == EXTERNAL and not self._met(node):
                (source,) = node._operands
                first.setdefault(node if isinstance(source, Do) else id(source), node)
        binds = [*first.values()]
        begun = self.loops.begin(map(_source, binds), Context(context.run, self))
        self.begun.update(zip(binds, begun, strict=False))  # all of them, or none
        return binds if begun else ()

    def _met(self, node: Node) -> bool:
        """Whether the turn of a bind has come, or that of another node with its value."""
        known = (self.values, self.failed, self.begun, self.opening)
        return any(node in found for found in known) or id(node._operands[0]) in self.opened

    def _in_turn(self, nodes: list[Node], context: Context) -> Steps[None]:
        values, failed = self.values, self.failed
        for node in nodes:
            if node in values or node in failed:
                continue
            signature = node._signature
            if self._blocked(node, signature):
                continue
            try:
                if signature.mode == EXTERNAL:
                    yield from self._open(node, context)
                else:
                    self._compute(node, signature)
            except Exception as failure:
                operands = () if signature.mode == EXTERNAL else arguments_of(node, signature, values)
                failed[node] = (noted(failure, node, operands),)
                continue
            self.order.append(node)

    def _blocked(self, node: Node, signature: Signature) -> bool:
        """Whether an operand of `node` has failed, which then is its own failure."""
        broken = [self.failed[x] for i in signature.nodes if (x := node._operands[i]) in self.failed]
        if broken:
            self.failed[node] = tuple(dict.fromkeys(e for several in broken for e in several))
        return bool(broken)

    def _compute(self, node: Node, signature: Signature) -> None:
        arguments = arguments_of(node, signature, self.values)
        if signature.mode == UNRESOLVED:
            self.resolved[node] = signature = resolve(node, arguments)
        meaning = self.loops.meaning(signature)
        if meaning is not signature:
            self.resolved[node] = signature = meaning
        with self.loops.around("forward", node), all_quiet():
            if signature.mode == CELL:
                self.values[node] = entered(node, arguments, self.values, self.loops.inside)
            else:
                self.values[node] = signature.value(*arguments)

    def _open(self, node: Node, context: Context) -> Steps[None]:
        """Run what makes a node's tape; a user's value that stands in two places is asked once (S2)."""
        (source,) = node._operands
        first = node if isinstance(source, Do) else self.opened.setdefault(id(source), node)
        if first in self.failed:
            raise combine(self.failed[first])
        if first is not node and first in self.values:
            self.values[node] = self.values[first]
            self.tapes[node] = OwnTape(self.values[node], partial(self.receive, first), first)
            return
        if node in self.opening:
            raise RecursionError(f"{node!r} waits for itself: its own Do uses it")
        self.opening.add(node)
        with self.loops.around("bind", node):
            tape = checked((yield Do.within(self, self._rest_of(node))), node)
        self.opening.discard(node)
        self.values[node] = received(tape, node)
        self.tapes[node] = tape

    def _rest_of(self, node: Node) -> Do[Tape[Any, Any]]:
        return self.begun.pop(node) if node in self.begun else tape_of(node)

    def receive(self, x: Expression, delta: Do[Any]) -> UnitContinuation[None]:  # Any: deltas of every type
        """The accumulator of `x`: nothing happens until the continuation runs; then the delta waits (D2)."""
        return UnitContinuation.delay(lambda: self.pending.setdefault(x, []).append(delta))

    # -- backward -----------------------------------------------------------------------------------

    def backward(self, context: Context) -> Steps[None]:
        """Send every delta on its way, last evaluated first, until only weights hold any."""
        if self.tapes or self.pending or self.wanted or self.resolved:
            yield from self._backward_carefully(context)
        else:
            order = self.order[:]
            failures: list[Exception] = []
            context.run.on_cancel(order.clear)
            try:
                with all_quiet():
                    self.loops.backward(order, self.values, self.deltas, failures)
            finally:
                context.run.discard(order.clear)
            raise_all(failures)

    def _backward_carefully(self, context: Context) -> Steps[None]:
        failures: list[Exception] = []
        for node in reversed(self.order[:]):
            yield from self._back(node, context, failures)
        yield from self._settled(context, failures)

    def _back(self, node: Node, context: Context, failures: list[Exception]) -> Steps[None]:
        """The turn of one node."""
        try:
            yield from self._collect(node, context)
            if node in self.tapes:
                self._send(node)
            elif (g := self.deltas.pop(node, None)) is not None:
                with self.loops.around("backward", node):
                    self._pull(node, g)
        except Exception as failure:
            signature = node._signature
            operands = () if signature.mode == EXTERNAL else arguments_of(node, signature, self.values)
            failures.append(noted(failure, node, operands, "backward of "))

    def _settled(self, context: Context, failures: list[Exception]) -> Steps[None]:
        """What was sent to weights, after the turn of every node; then the failures of all."""
        for weight in [x for x in self.pending if isinstance(x, Weight)]:
            try:
                yield from self._collect(weight, context)
            except Exception as failure:
                failures.append(failure)
        for late in self.pending:
            failures.append(TapeReleasedError(f"a delta was sent to {late!r} after its turn had passed"))
        self.pending.clear()
        raise_all(failures)

    def _collect(self, x: Expression, context: Context) -> Steps[None]:
        """Run the deltas that were sent to `x` as a `Do`, now that no more can come."""
        sent = self.pending.pop(x, [])
        while sent:
            self.add(x, checked_delta((yield Do.within(self, sent.pop(0))), x))
        if x in self.wanted and x in self.deltas:
            self.wanted[x] = self.deltas[x]

    def _pull(self, node: Node, g: Value) -> None:
        signature = self.resolved.get(node) or node._signature
        if signature.mode == CELL:
            with all_quiet():
                for x, d in left(node, g, self.values, self.loops.inside):
                    if x in self.tapes and x not in self.wanted:
                        self.lazy.setdefault(x, []).append(partial(dense, d))
                    else:
                        self.add(x, d)
            return
        arguments = arguments_of(node, signature, self.values)
        for index, pull in signature.pulls:
            x = node._operands[index]
            if x in self.tapes and x not in self.wanted:
                self.lazy.setdefault(x, []).append(
                    partial(pulled, pull, node, g, self.values[node], arguments)
                )
            else:
                with all_quiet():
                    self.add(x, pull(g, self.values[node], *arguments))

    def _send(self, node: Node) -> None:
        """Hand an external node's delta, still a `Do`, to the tape that its source gave (D2, D3)."""
        sent = self.lazy.pop(node, [])
        if node in self.deltas:
            g = self.deltas.pop(node)
            sent.append(lambda: g)
        if sent:
            self.tapes[node].backward(Do.delay(partial(summed, sent))).run()

    def add(self, x: Expression, delta: Value) -> None:
        """Add to what has arrived at `x`."""
        self.deltas[x] = self.deltas[x] + delta if x in self.deltas else delta


def _source(node: Node) -> Do[Tape[Any, Any]]:
    """What makes a node's tape; a user's `forward` is not called before that runs."""
    (source,) = node._operands
    return source if isinstance(source, Do) else Do.defer(partial(tape_of, node))
