"""Loops over nodes, and programs, as tasks of a thread pool; and the backward pass of an expression with binds.

Knows: that a rule which is not Wengert's own may take any time, so that two of them that do not need each other run at
the same time; that a delta is summed in the order in which one thread would have summed it, where a tape's
summands come after those of other consumers; that the calls of a program are timed, scheduled on lanes, and kept there
only if the clock says so; that the cores may have been busy then, so that the question is asked again; that two tasks
share no buffer that either writes again, so that any order of tasks gives the same bits, and that updates in place
begin after the last step of all, each target's in their order.
Refuses to know: tapes of users, which may do anything with a delta; the scheduler and the threads.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from itertools import chain, pairwise
from math import inf
from operator import add, attrgetter, itemgetter
from threading import Lock
from time import perf_counter
from typing import Any, Final, NamedTuple

from wengert.arrays import Value, all_quiet, give_back
from wengert.arrays.changes import Change, carry_out, carry_out_by
from wengert.control import Run
from wengert.graph.node import Expression, Node
from wengert.graph.operation import CELL, EXTERNAL, UNRESOLVED, Signature
from wengert.graph.template import CellSignature
from wengert.lazy import dense
from wengert.program.emit import ProgramText
from wengert.program.program import Eqn, Program, Var, vars_in
from wengert.program.text import tuple_text
from wengert.run.compiled.program import PlanProgram, PlanText, TimedProgram, buffers_of, simplified
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
from wengert.run.threads.pool import TaskSchedule, ThreadPool, Uses, needs_of, schedule

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


# -- programs, which take the way that has been faster ---------------------------------------------


class Terms(NamedTuple):
    """The conditions under which a program runs on several threads."""

    handoff: float = HANDOFF  # seconds: a task pays two, and is worth a thread from twice that on
    timed: int = 3  # runs in which each call is timed
    tried: int = 7  # runs of either program, in turn, before one is chosen
    gain: float = 0.95  # of the straight line's time, which the tasks have to stay below
    again: int = 1000  # runs until the next trial, in which the worse way takes seven


TERMS: Final = Terms()


class Choice:
    """One of two ways, 0 in line and 1 in tasks, by what the clock says.

    Some runs are timed item by item, which shows whether tasks of them are worth a try; in a trial both ways take
    turns, and the second one is taken where it has been faster. A choice made while other programs kept the cores busy
    does not last: the trial is repeated now and then. One that is `fixed` from the begin lasts.
    """

    def __init__(self, terms: Terms, fixed: int | None = None) -> None:
        self.terms = terms
        self.way = fixed  # None: items are timed, or a trial goes on
        self.again: float = terms.again if fixed is None else inf  # runs until the next trial
        self._lock = Lock()
        self._runs: list[Sequence[float]] | None = [] if fixed is None else None  # what items took in each
        self._times: tuple[list[float], list[float]] = ([], [])
        self._turn = 0

    def next(self, divide: Callable[[list[float]], bool]) -> int | None:
        """The way of this run; None: in line, and its items are to be timed.

        `divide` makes tasks of items that take so long, and tells whether these are worth a try.
        """
        runs = self._runs
        if runs is not None:
            with self._lock:
                if len(runs) < self.terms.timed:
                    return None
                if self._runs is not None:
                    self._runs, self.way, self.again = None, 0, inf  # should it fail
                    if divide([min(several) for several in zip(*runs, strict=True)]):
                        tried = self.terms.tried > 0
                        self.way, self.again = (None, self.terms.again) if tried else (1, inf)
        self._turn = turn = self._turn + 1
        if turn >= self.again and self.way is not None:
            self._turn, self._times, self.way = 0, ([], []), None
        way = self.way
        return turn % 2 if way is None else way

    def timed(self, seconds: Sequence[float]) -> None:
        """Record what each item took in a run."""
        with self._lock:
            if self._runs is not None:
                self._runs.append(seconds)

    def learn(self, way: int, seconds: float) -> None:
        """Record a run, and choose when there are enough."""
        if self.way is not None:
            return
        with self._lock:
            self._times[way].append(seconds)
            if self.way is None and min(map(len, self._times)) >= self.terms.tried:
                first, second = map(min, self._times)  # a busy core makes single runs slow, never fast
                self.way = int(second < first * self.terms.gain)


class AutotunedProgram(PlanProgram):
    """A program that times its calls, and then runs in tasks or in a straight line, whichever has been faster."""

    def __init__(self, pool: ThreadPool, terms: Terms, p: Program) -> None:
        self._program = p = simplified(p)
        self._pool = pool
        self.choice = choice = Choice(terms)
        self._ways: tuple[PlanProgram, ...] = (PlanProgram(p),)  # the straight line, and then the tasks
        # as long as calls are timed; None later on
        self._timed: PlanProgram | None = TimedProgram(
            p, lambda marks: choice.timed([b - a for a, b in pairwise(marks)])
        )

    def take(self) -> tuple[Any, ...]:  # Any: a program, and buffers of its kind
        """The program of this run, its frame, and when it began."""
        at = self.choice.next(self._divide)  # here, where nothing has changed yet should it fail
        way = (self._timed if at is None else None) or self._ways[at or 0]
        self.source = way.source
        return way, way.take(), perf_counter()

    def give(self, frame: tuple[Any, ...], whole: bool = True) -> None:  # Any: as in `take`
        """Learn how long a whole run has taken, and free its frame."""
        way, own, begun = frame
        if whole and self.choice.way is None and way in self._ways:
            self.choice.learn(self._ways.index(way), perf_counter() - begun)
            self._settle()
        if self.chosen is None or way is self.chosen:
            way.give(own)

    @property
    def chosen(self) -> PlanProgram | None:
        """The program that runs now; None as long as nothing is chosen."""
        return None if self.choice.way is None else self._ways[self.choice.way]

    def forget(self) -> None:
        for way in self._programs():
            way.forget()

    def size(self) -> int:
        return sum(way.size() for way in self._programs())

    def _programs(self) -> list[PlanProgram]:
        """All programs of this one."""
        return [*self._ways, *([] if self._timed is None else [self._timed])]

    # Any: as in `take`; and `PlanProgram.run`
    def run(self, inputs: Sequence[Value], frame: tuple[Any, ...]) -> Any:
        """As `PlanProgram`, by the program of this run."""
        way, own, _ = frame
        return way.run(inputs, own)

    # Any: as in `take`; the way's own
    def carry_out(self, frame: tuple[Any, ...], changes: Any, last: Iterable[Change]) -> None:
        """As `PlanProgram`."""
        way, own, _ = frame
        way.carry_out(own, changes, last)

    def _divide(self, costs: Sequence[float]) -> bool:
        p, pool, handoff = self._program, self._pool, self.choice.terms.handoff
        self._timed = None
        if sum(costs) <= 2 * handoff:
            return False
        pure = len(p.eqns)
        tasks = ScheduledProgram(p, [*costs[:pure], *costs[pure + 2 :]], pool, handoff)
        if tasks.pays:
            self._ways = (*self._ways, tasks)
        return tasks.pays

    def _settle(self) -> None:
        """Let go of the buffers of the other way, where one has been chosen."""
        for other in self._ways if self.chosen is not None else ():
            if other is not self.chosen:
                other.forget()
                give_back()


class ScheduledProgram(PlanProgram):
    """A program whose tasks are functions of their own, which a thread pool runs as soon as they can begin."""

    def __init__(self, p: Program, costs: Sequence[float], pool: ThreadPool, handoff: float) -> None:
        pure, at = p.eqns, len(p.eqns)
        calls = [Uses({*e.reads}, {e.result}) for e in pure]
        first = schedule(needs_of(calls), costs[:at], pool.threads, handoff)
        order = _heaviest_first(p.effects, costs[at:])
        effects = [p.effects[i] for i in order]
        turns = needs_of(Uses(set(), {e.arguments[0]}) for e in effects)
        last = schedule(turns, [costs[at + i] for i in order], pool.threads, handoff)
        self.pays = first.span + last.span < sum(costs)
        groups = [*([pure[i] for i in part] for part in first.parts)]
        updates = [*([effects[i] for i in part] for part in last.parts)]
        lanes = {e: lane for lane, group in enumerate([*groups, *updates]) for e in group}
        p = replace(p, eqns=[*chain.from_iterable(groups)], effects=[*chain.from_iterable(updates)])
        text = PlanText(p, buffers_of(p, lanes))
        text.constants.scope["pool"] = pool.run
        tasks = _tasks(text, groups, first, _shared(groups, p))
        self._compile(text, text.lines(tasks, tuple_text(map(text.changes, updates))))
        self._pool, self._last = pool, last

    def carry_out(
        self, frame: tuple[Value, ...], changes: Sequence[list[Change]], last: Iterable[Change]
    ) -> None:
        """As `PlanProgram`, on several threads."""
        if len(changes) > 1:
            carry_out_by(partial(self._pool.run, schedule=self._last), changes, last)
        else:
            carry_out([*chain.from_iterable(changes), *last])


def _heaviest_first(effects: Sequence[Eqn], costs: Sequence[float]) -> list[int]:
    """Effects by the cost of all on their target, so that the last to be placed are small; in order for each target."""
    total: dict[object, float] = {}
    for e, cost in zip(effects, costs, strict=True):
        total[e.arguments[0]] = total.get(e.arguments[0], 0.0) + cost
    return sorted(range(len(effects)), key=lambda i: -total[effects[i].arguments[0]])


def _shared(groups: Sequence[Sequence[Eqn]], p: Program) -> set[Var]:
    """The results that are taken outside of their own task."""
    home = {e.result: at for at, group in enumerate(groups) for e in group}
    taken = {x for at, group in enumerate(groups) for e in group for x in e.reads if home.get(x, at) != at}
    return taken.union(vars_in(tuple(p.outputs)), *(e.reads for e in p.effects))


def _tasks(
    text: ProgramText, groups: Sequence[Sequence[Eqn]], tasks: TaskSchedule, shared: set[Var]
) -> list[str]:
    """The lines of tasks: a function each, and the call that runs them; a single task needs no function."""
    written = [[text.line(e) for e in group] for group in groups]
    if len(groups) <= 1:
        return [line for group in written for line in group]
    lines = []
    for at, (group, body) in enumerate(zip(groups, written, strict=True)):
        names = [
            name for e in group if e.result in shared and (name := text.names[e.result]) not in text.frame
        ]
        lines += [f"{name} = None" for name in names]
        lines.append(f"def r{at}():")
        lines += [f" nonlocal {name}" for name in names]
        lines += [f" {line}" for line in body if line] or [" pass"]
    works = "".join(f"r{at}, " for at in range(len(groups)))
    return [*lines, f"pool(({works}), {text.constants.name(tasks)})"]
