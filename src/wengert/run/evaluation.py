"""One evaluation of expressions, forward and backward: the definition of what they mean.

Knows: how values and deltas go from node to node; that binds suspend and resume; that every node is computed
once and gets its whole delta once, in the reverse of the order of evaluation; that a failure stops
only the nodes that need the failed one; that a node on which others may still build keeps its value, so that nothing
is computed twice: Python's counts of references tell these nodes; that what is too long for a plan goes in parts; that
who watches a run is told of each node.
Refuses to know: formulas, weights' optimizers, and what the values are for.

The loops of `loops`, and the programs of `compiled.segment`, do nearly all the work; the generators are for what is
rare.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from sys import getrefcount
from typing import Any, ClassVar, Final, Self
from weakref import getweakrefcount

from wengert.arrays import Value, all_quiet, keep_heap, one_like, shape_of
from wengert.control import Context, Do, Executor, Run, Steps
from wengert.differentiable import Tape
from wengert.errors import ArgumentError, ShapeError, combine, raise_all
from wengert.graph.apply import resolve
from wengert.graph.binding import Refs
from wengert.graph.node import Expression, Node
from wengert.graph.operand import shown
from wengert.graph.operation import CELL, EXTERNAL, UNRESOLVED, Signature
from wengert.graph.order import PORTION, below, is_bulky, last_readers
from wengert.graph.store import Ref
from wengert.graph.template import template_of
from wengert.graph.variables import Substitution
from wengert.graph.watchers import WATCHERS, Watcher, watchers_of
from wengert.graph.weights import Weight
from wengert.lazy import LazyDelta, dense
from wengert.run.commit import Doubts
from wengert.run.compiled.segment import SegmentRun, Segments, cut
from wengert.run.loops import (
    ONE_THREAD,
    PASSING,
    Ends,
    Loops,
    arguments_of,
    asked_for,
    entered,
    left,
    located,
    noted,
    operand_deltas,
)
from wengert.run.tapes import OwnTape, Tapes, nowhere


class Rest(list[Node]):
    """Nodes that are left to be computed with care, and after which of them which values go."""

    def __init__(self, nodes: Iterable[Node], ends: Ends | None) -> None:
        super().__init__(nodes)
        self.ends = ends


class Evaluation(Tapes):
    """The values and deltas of one prediction, training or run; nothing outlives it."""

    __slots__ = (
        *("buffers", "doubts", "goes_back", "held", "order", "segments", "reach", "refs", "resolved"),
        *("executor", "live", "snapshot", "trains", "update", "variables", "watched", "watchers"),
    )

    in_order: ClassVar[bool] = True  # whether nodes are computed one by one, or several at a time

    def __init__(self, snapshot: int, loops: Loops = ONE_THREAD, watched: bool = False) -> None:
        super().__init__(loops)
        self.snapshot = snapshot
        self.executor: Executor | None = None  # of a run of several questions, where this is for all of them
        self.live = 0  # tapes of such a run
        self.watched = watched  # goes node by node, and each is told
        self.watchers: Sequence[Watcher] = ()  # in such a one, of the weights that have been met
        self.trains = False  # whether the deltas of weights are committed
        self.buffers: dict[int, Ref] = {}  # of the weights read, by the identity of their data
        self.held: list[Callable[[], None]] = []  # tapes that live as long as this does
        self.goes_back = True  # else a value that nobody can ask for any more goes
        self.reach: Reach | None = None  # of such an evaluation
        self.refs: Refs = {}  # of weights that have other data in it
        self.variables: Substitution | None = None  # for constants to which deltas go
        self.order: list[Node] = []  # as evaluated, which is a topological order across binds
        self.resolved: dict[Node, Signature] = {}
        self.segments = SegmentRuns(None)
        self.doubts = Doubts()
        self.update: Callable[[], Value] | None = None  # what is left of a program that goes back and commits

    def following(self, loops: Loops) -> Self:
        """This evaluation, which goes on by other loops from here on, if others are given."""
        if loops is not self.loops:
            if not self.in_order:
                raise ArgumentError(
                    "settings of weights that a run has met in a bind, or as one of several questions, bring rules or "
                    "arrays; give the run Sequential(), or write the weights into the expression itself"
                )
            self.loops = loops
            self.segments.stop()
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        """Let go of what holds this evaluation: failures by their tracebacks, tapes by where they send."""
        self.leave_behind()
        for release in self.held:
            release()
        for table in (self.failed, self.tapes, self.pending, self.lazy):
            table.clear()
        self.segments.close()
        self.update = None
        if len(failure) == 3 and isinstance(failure[1], Exception):
            self.tell(failure[1])
        elif len(failure) == 3 and self.trains and failure[1] is None:
            self.tell_updated()
        keep_heap()

    def tell(self, failure: Exception) -> None:
        """Tell those who watch its weights of a failure."""
        if WATCHERS:
            for watcher in watchers_of(x for x in self.values if isinstance(x, Weight)):
                watcher.failed(failure)

    def tell_updated(self) -> None:
        """Tell of each weight that a commit has changed."""
        for weight in [x for x in self.deltas if isinstance(x, Weight)] if self.watched else ():
            for watcher in watchers_of([weight]):
                watcher.updated(weight)

    def _told(self, direction: str, node: Node) -> None:
        """Tell that a node has been computed, or has sent its deltas."""
        signature = self.resolved.get(node) or node.signature
        what = located(node, arguments_of(node, signature, self.values))
        for watcher in self.watchers:
            watcher.operation(direction, what)

    def evaluate(self, root: Expression, context: Context, nodes: list[Node] | None = None) -> Steps[Value]:
        """The value of `root`; everything below it that has no value yet gets one: `nodes`, if known."""
        if root not in self.values and root not in self.failed:
            whole = nodes is not None  # then a plan's business, unless there is a bind
            nodes = self.begin(root) if nodes is None else nodes
            ends = None if self.goes_back else self._ends(root, nodes, whole)
            done = self.advance(nodes, context.run, whole, ends)
            yield from self.carefully(Rest(nodes[done:], ends), context)
        return self.value(root)

    def _ends(self, root: Expression, nodes: list[Node], whole: bool) -> Ends:
        """After which node which values go; none if they take little memory.

        Where somebody may still ask a question, or build on a node, all that he refers to stays: a value is never
        computed twice. That a user's value stands in one node says nothing of others.
        """
        if not is_bulky(nodes):
            return {}
        binds = [node for node in nodes if node.signature.mode == EXTERNAL]
        if whole and not binds:
            return last_readers(nodes, [root])
        if self.reach is None:
            self.reach = Reach()
        for x in self.reach.left(self.order):
            self.values.pop(x, None)
        users = [node for node in binds if not isinstance(node.operands[0], Do)]
        return last_readers(nodes, [root, *self.reach.held(nodes), *users])

    def advance(self, nodes: list[Node], run: Run, whole: bool = False, ends: Ends | None = None) -> int:
        """Compute nodes up to the first one that needs care; how many. The `whole` may be a plan's business.

        What is too long for a plan goes in parts, each by a program of its own, if it has one.
        """
        done = 0
        if self.watched:
            run.check()
            return 0  # each is told by itself
        for part in cut(nodes) if self.segments.in_parts else (nodes,):
            length = len(part)  # a run that is cancelled empties it
            computed = self._advance(part, run, whole, ends)
            done += computed
            if computed < length:
                break
        return done

    def _advance(self, nodes: list[Node], run: Run, whole: bool, ends: Ends | None) -> int:
        done = self.segments.forward(nodes, self, whole)
        if done:
            for node in nodes[:done] if ends else ():
                self._over(node, ends)
        else:
            run.on_cancel(nodes.clear)
            try:
                with all_quiet():
                    done = self.loops.forward(nodes, self.values, self.failed, ends)
            finally:
                run.discard(nodes.clear)
        run.check()
        self.order.extend(nodes[:done])
        return done

    def _over(self, node: Node, ends: Ends | None) -> None:
        """Let go of what nobody needs after a node."""
        for x in ends.get(node, ()) if ends else ():
            self.values.pop(x, None)
            self.tapes.pop(x, None)

    def _back(self, nodes: list[Node], run: Run) -> None:
        """Send all deltas by the loops: nothing is left to wait for."""
        failures: list[Exception] = []
        run.on_cancel(nodes.clear)
        try:
            with all_quiet():
                self.loops.backward(nodes, self.values, self.deltas, failures)
        finally:
            run.discard(nodes.clear)
        raise_all(failures)

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
        if self.watched:
            self.watchers = watchers_of(x for x in self.values if isinstance(x, Weight))
        return nodes

    def read(self, weights: Iterable[Weight]) -> None:
        """Give weights the values that they had when the run began."""
        values, refs = self.values, self.refs
        for weight in weights:
            ref = refs.get(weight, weight.ref) if refs else weight.ref
            values[weight] = data = ref.at(self.snapshot)
            self.buffers[id(data)] = ref
            base = getattr(data, "base", None)
            if base is not None:  # the array that it lives in with others: a view of a row has the same
                self.buffers[id(base)] = ref

    def carefully(self, nodes: list[Node], context: Context) -> Steps[None]:
        """The rest of a region once something in it waits or has failed."""
        yield from self._in_turn(nodes, context)

    def _in_turn(self, nodes: list[Node], context: Context) -> Steps[None]:
        end, at = len(nodes), 0
        ends = nodes.ends if isinstance(nodes, Rest) else None
        while at < end:
            bind = next((i for i in range(at, end) if nodes[i].signature.mode == EXTERNAL), end)
            segment = [x for x in nodes[at:bind] if x not in self.values and x not in self.failed]
            if segment and not self.failed:
                del segment[
                    : self.advance(segment, context.run, False, ends if self.goes_back else ends or {})
                ]
            for node in (*segment, *nodes[bind : bind + 1]):
                yield from self._one(node, context)
                self._over(node, ends)
            at = bind + 1

    def _one(self, node: Node, context: Context) -> Steps[None]:
        """A node that needs care, or comes after one that has failed."""
        signature = node.signature
        if node in self.values or node in self.failed or self._blocked(node, signature):
            return
        try:
            if signature.mode == EXTERNAL:
                yield from self._open(node, context)
            else:
                self._compute(node, signature)
        except Exception as failure:
            self.failed[node] = (noted(failure, node, self._operands(node)),)
            return
        self.order.append(node)

    def _blocked(self, node: Node, signature: Signature) -> bool:
        """Tell whether an operand of `node` has failed, which then is its own failure."""
        at = [i for i in signature.nodes if node.operands[i] in self.failed]
        broken = [self.failed[node.operands[i]] for i in at]
        if broken:
            for i, failures in zip(at, broken, strict=True):
                _say_example(node, i, failures)
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
                template = template_of(signature)
                inside = self.loops.inside if self.goes_back else self.loops.inside or PASSING
                self.values[node] = entered(node, template, arguments, self.values, inside)
            else:
                self.values[node] = signature.value(*arguments)
        if self.watched:
            self._told("forward", node)

    def backward(self, context: Context) -> Steps[None]:
        """Send every delta on its way, last evaluated first, until only weights hold any."""
        if self.tapes or self.pending or self.wanted or self.resolved or self.segments or self.watched:
            yield from self._backward_carefully(context)
        else:
            self._back(self.order[:], context.run)

    def _backward_carefully(self, context: Context) -> Steps[None]:
        failures: list[Exception] = []
        order = self.order[:]
        while order:
            segment_run = self.segments.that_ends(order[-1])
            if segment_run is None:
                yield from self.back_through(order.pop(), context, failures)
            else:
                del order[-len(segment_run.nodes) :]
                yield from self.segments.back(segment_run, self, context, failures)
        yield from self._settled(context, failures)

    def back_through(self, node: Node, context: Context, failures: list[Exception]) -> Steps[None]:
        """The turn of one node."""
        try:
            yield from self._collect(node, context)
            if node in self.tapes:
                self._send(node)
            elif (g := self.deltas.pop(node, None)) is not None:
                with self.loops.around("backward", node):
                    self._pull(node, g)
                    if self.watched:
                        self._told("backward", node)
        except Exception as failure:
            failures.append(noted(failure, node, self._operands(node), "backward of "))

    def _pull(self, node: Node, g: Value) -> None:
        signature = self.resolved.get(node) or node.signature
        if signature.mode == CELL:
            with all_quiet():
                for x, d in left(node, g, self.values, self.loops.inside):
                    if x in self.tapes and x not in self.wanted:
                        self.lazy.setdefault(x, []).append(partial(dense, d))
                    else:
                        self.add(x, d)
            return
        arguments = arguments_of(node, signature, self.values)
        for index, delta in operand_deltas(signature, g, self.values[node], arguments):
            x = node.operands[index]
            if x in self.tapes and x not in self.wanted:
                self.lazy.setdefault(x, []).append(partial(asked_for, delta, node, arguments))
            else:
                with all_quiet():
                    self.add(x, delta())


class Reach:
    """The nodes of one evaluation that others than its computed nodes referred to when they were computed.

    Between two looks the number of such nodes grows by half, so that all looks together take linear time.
    """

    __slots__ = ("_counted", "_enough", "_met", "_readers", "_times")

    def __init__(self) -> None:
        self._times: dict[Node, int] = {}  # how often a node stands in the order of evaluation
        self._readers: Counter[Expression] = Counter()  # the operands of the nodes in that order
        self._met: set[Node] = set()  # of that order
        self._counted = 0  # so many of these
        self._enough = 1

    def held(self, nodes: list[Node]) -> list[Node]:
        """Find the `nodes`, about to be computed, that others than the list and they themselves refer to."""
        uses = Counter(node.operands[i] for node in nodes for i in node.signature.nodes)
        found = [
            node
            for node, count in zip(nodes, _references(nodes), strict=True)
            if count > _ALONE + uses[node] + (node in uses) or getweakrefcount(node)
        ]
        self._times.update(dict.fromkeys(found, 0))
        return found

    def left(self, order: Sequence[Node]) -> list[Node]:
        """Nodes found so far that only computed nodes refer to by now; `order` has all of these.

        The caller has each in one table.
        """
        times, readers = self._times, self._readers
        if len(times) < self._enough:
            return []
        self._count(order)
        nodes = list(times)
        found = [
            x
            for x, count in zip(nodes, _references(nodes), strict=True)
            if times[x]
            and count <= _ALONE + 3 + times[x] + readers[x] + (x in readers)
            and not getweakrefcount(x)
        ]
        for x in found:
            del times[x]
        self._enough = len(times) + len(times) // 2 + 1
        return found

    def _count(self, order: Sequence[Node]) -> None:
        found = Counter(order[self._counted :])
        for node in self._times.keys() & found.keys():
            self._times[node] += found[node]
        for node in found.keys() - self._met:
            self._readers.update(node.operands[i] for i in node.signature.nodes)
        self._met |= found.keys()
        self._counted = len(order)


def _references(nodes: list[Node]) -> list[int]:
    return list(map(getrefcount, nodes))


def _say_example(column: Node, operand: int, failures: Iterable[Exception]) -> None:
    """Note which example of a batch failures belong to, unless they say so."""
    examples = getattr(column, "examples", ())
    if not examples:
        return
    number, data = examples[operand]
    for failure in failures:
        if not any(note.startswith("in example ") for note in getattr(failure, "__notes__", ())):
            failure.add_note(f"in example {number} of the batch, {shown(data)}")


_ALONE: Final = _references([object()])[0]  # type: ignore[list-item] # any object: it differs between Pythons


# nodes of open kinds, without which a program that nobody goes back by takes 1.1 to 1.2 of the interpreter's time
_OPEN: Final = 3
# programs of parts made in a run; one takes 5 times as long as 20,000 operations by the interpreter
_AT_ONCE: Final = 1


class SegmentRuns:
    """Runs of segments forward in one evaluation; false if there are none."""

    __slots__ = ("_last", "_making", "_segments", "goes_back", "in_parts")

    def __init__(self, segments: Segments | None, goes_back: bool = True) -> None:
        self._segments = segments
        self.goes_back = goes_back  # whether deltas are likely to go back
        self.in_parts = False  # an expression too long for a plan: its parts are segments
        self._making = _AT_ONCE  # how many programs of parts may still be made in this run
        self._last: dict[Node, SegmentRun] = {}  # by the last node

    def __bool__(self) -> bool:
        return len(self._last) > 0

    def close(self) -> None:
        """Let go of all; there will be no more."""
        self._last.clear()
        self.stop()

    def stop(self) -> None:
        """Begin no more."""
        self._segments = None

    def forward(self, nodes: list[Node], evaluation: Evaluation, whole: bool) -> int:
        """How many of the nodes, the first ones, have got their values; none if they have to be run one by one.

        A `whole` expression without a bind is not a segment.
        """
        if self._segments is None or evaluation.failed:
            return 0
        modes = [node.signature.mode for node in nodes]
        bind = modes.index(EXTERNAL) if EXTERNAL in modes else len(nodes)
        if whole and bind == len(nodes) and not self.in_parts:
            return 0
        nodes, modes = nodes[:bind], modes[:bind]  # a list of its own: the caller's will be emptied
        if not self.goes_back and not self.in_parts and modes.count(UNRESOLVED) < _OPEN:
            return 0
        if not evaluation.goes_back and _reads_much(nodes, evaluation):
            return 0  # a program gives the values of all nodes, the interpreter lets go of them
        with evaluation.doubts:
            allowed = self._may_make if self.in_parts else None
            segment_run = self._segments.evaluate(nodes, evaluation.values, allowed)
            if segment_run is not None:
                evaluation.values.update(segment_run.found)
                if evaluation.goes_back:
                    self._last[segment_run.nodes[-1]] = segment_run
                return len(segment_run.nodes)
        return 0

    def _may_make(self) -> bool:
        self._making -= 1
        return self._making >= 0

    def that_ends(self, node: Node) -> SegmentRun | None:
        """The one whose last node this is."""
        return self._last.get(node)

    def open_all(self, evaluation: Evaluation) -> None:
        """Leave all of them to the interpreter from now on."""
        for segment_run in [*self._last.values()]:
            self.open(segment_run, evaluation)

    def open(self, segment_run: SegmentRun, evaluation: Evaluation) -> None:
        """Leave one of them to it."""
        del self._last[segment_run.nodes[-1]]
        evaluation.resolved |= segment_run.open(evaluation.values)

    def back(
        self, segment_run: SegmentRun, evaluation: Evaluation, context: Context, failures: list[Exception]
    ) -> Steps[None]:
        """The turn of its nodes."""
        pending = evaluation.pending
        late = [x for x in reversed(segment_run.nodes) if x in pending] if pending else []
        by_program = segment_run.ends.issuperset(late) if late else True
        for x in late if by_program else ():
            yield from evaluation.collected(x, context, failures)
        if not by_program or not self._sent(segment_run, evaluation):
            self.open(segment_run, evaluation)
            for node in reversed(segment_run.nodes):
                yield from evaluation.back_through(node, context, failures)
        context.run.check()

    def _sent(self, segment_run: SegmentRun, evaluation: Evaluation) -> bool:
        """Send all deltas on their way by a program; False where the interpreter has to."""
        deltas = evaluation.deltas
        # Any: asked for any expression; of every type
        tapes: dict[Any, Tape[Any, Any]] = evaluation.tapes
        lazy: dict[Any, Any] = evaluation.lazy
        arrived = {i: deltas[x] for i, x in enumerate(segment_run.nodes) if x in deltas}
        if not arrived:
            return True
        binds = [x for x in segment_run.given if x in tapes]
        if any(not isinstance(tapes[x], OwnTape) for x in binds):
            return False
        unwanted = [x for x in binds if tapes[x].backward is nowhere]
        joined: dict[Any, Value] | None = None  # Any: leaves, of every type
        if self.in_parts:  # what has arrived at leaves is added up in the program, in the same order
            joined = {
                x: deltas.get(x)
                for x in segment_run.leaves
                if x not in tapes and not isinstance(deltas.get(x), LazyDelta)
            }
        may_make = self._may_make if self.in_parts else None
        sent = None
        with evaluation.doubts:
            sent = segment_run.send(arrived, frozenset(unwanted), joined, may_make)
        if sent is None:
            return False
        for i in arrived:
            del deltas[segment_run.nodes[i]]
        with all_quiet():
            for x, delta in sent:
                if joined is not None and x in joined:
                    deltas[x] = delta
                elif x in tapes:
                    lazy.setdefault(x, []).append(partial(dense, delta))
                else:
                    evaluation.add(x, delta)
        return True


def _reads_much(nodes: Sequence[Node], evaluation: Evaluation) -> bool:
    """True if their values are likely to take much memory: kinds that are open do not tell."""
    known = evaluation.values
    given = (x for node in nodes for i in node.signature.nodes if (x := node.operands[i]) in known)
    most = max((getattr(known[x], "nbytes", 0) for x in given if isinstance(x, Node)), default=0)
    return most * len(nodes) > PORTION
