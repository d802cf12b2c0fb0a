"""Speculative starts: binds and branches run before their turn, on a thread pool, and the rest of each in its turn.

Knows: counts of the operands that each node waits for, so that a node is computed as soon as they are known and fibers
go on with its value; that nodes of Wengert's own which are ready together are computed in one line, while a rule of
others, which may take any time, is a task of its own; that what has been computed early counts as computed when its
turn comes, so that nodes, and with them deltas, have the order of one thread, whichever was first; that a bind which
has ended, time and again, before a thread could have helped proves that no part waited for another one, and that this
depends on the functions that run, by which a structure is known.
Refuses to know: how the threads of a pool share work.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Container, Generator, Iterable, Sequence
from contextlib import contextmanager
from functools import cache, partial
from threading import Lock
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any, Final

from wengert.arrays import Value, all_quiet
from wengert.control import Context, Do, Run, Steps
from wengert.control.do import FlatMap, Question, Shared, Within
from wengert.control.machine import Branch
from wengert.differentiable import Tape
from wengert.graph.node import Expression, Node
from wengert.graph.operand import tape_of
from wengert.graph.operation import EXTERNAL, UNRESOLVED, Signature
from wengert.graph.order import below, below_all
from wengert.run.direct import forward_of
from wengert.run.evaluation import Evaluation, Rest
from wengert.run.fibers import Fiber, Fork, Joined, Turn, Wait, drop
from wengert.run.loops import Loops, forward, noted
from wengert.run.own import may_train
from wengert.run.tapes import checked, received
from wengert.run.threads.pool import ONE_TASK, Spawned, ThreadPool
from wengert.run.threads.tasks import backward_on, is_foreign, several_foreign


class Early(Context):
    """The context of a program that runs before its turn."""

    __slots__ = ()


STOPS: Final[frozenset[type]] = frozenset({Turn, Wait, Fork, Shared, Within})


class Speculation:
    """Fibers, and the nodes of an evaluation, that go on together until each has ended or needs its turn."""

    def __init__(self, owner: SpeculativeEvaluation, run: Run) -> None:
        self._lock = Lock()
        self._owner = owner
        self._run = run
        self._missing: dict[Expression, int] = {}  # of all nodes met: operands that are not known
        self._users: dict[Expression, list[Node]] = {}  # of what is not known
        self._waiting: dict[Expression, list[Fiber]] = {}
        self._binds: dict[Fiber, Node] = {}

    def branches(
        self, pool: ThreadPool, parts: Sequence[Do[Any]], context: Context
    ) -> tuple[list[Joined], bool]:
        """Branches as far as they go; whether that was over before another thread could help."""
        fork = Fork(parts)
        fibers = fork.begin(Early(context.run, context.environment), STOPS, self._owner)
        try:
            works = [lambda: Spawned(partial(self._go, fiber) for fiber in fibers)]
            return fork.begun, pool.run(works, ONE_TASK, deferred=True)
        except BaseException as stop:  # an interrupt, too, leaves nothing open
            drop(fork.begun, stop)
            raise

    def nodes(self, pool: ThreadPool, nodes: Sequence[Node]) -> bool:
        """Compute nodes as far as they go; whether that was over before another thread could help."""
        return pool.run([partial(self._begin, nodes)], ONE_TASK, deferred=True)

    def _begin(self, nodes: Sequence[Node]) -> Spawned:
        works = Spawned()
        with self._lock:
            ready = self._claim(nodes)
        self._proceed(ready, works)
        return works

    # -- fibers -------------------------------------------------------------------------------------

    def _go(self, fiber: Fiber) -> Spawned:
        works = Spawned()
        while True:
            fiber.go()
            asked = fiber.asked
            if asked is None:
                self._ended(fiber, works)
            elif isinstance(asked, Fork):
                branches = fiber.fork()
                if not branches:
                    continue
                works += [partial(self._go, branch) for branch in branches]
            elif isinstance(asked, Wait) and self._waited(fiber, asked.root, works):
                fiber.answered()
                continue
            return works

    def _waited(self, fiber: Fiber, root: Expression, works: Spawned) -> bool:
        """True if the value of `root` is there now, or its failure; if not, the fiber goes on when it is."""
        owner = self._owner
        fiber.log.append(root)
        with self._lock:
            if root in owner.failed:
                return True
            # Any: values, failures and counts
            nodes, weights = below(root, ChainMap[Expression, Any](owner.values, owner.failed, self._missing))
            owner.read(weights)
            ready = self._claim(nodes)
            if root in owner.values:
                return True
            self._waiting.setdefault(root, []).append(fiber)
        return self._proceed(ready, works, fiber)

    def _ended(self, fiber: Fiber, works: Spawned) -> None:
        if fiber.parent is not None:
            with self._lock:
                goes_on = fiber.parent.branch_ended()
            if goes_on:
                works.append(partial(self._go, fiber.parent))
        node = self._binds.get(fiber)
        if node is not None and fiber.failure is None:
            try:
                value = received(checked(fiber.value, node), node)
            except Exception:  # its turn says so
                return
            self._owner.values[node] = value
            self._follow([node], works)

    # -- nodes --------------------------------------------------------------------------------------

    def _claim(self, nodes: Sequence[Node]) -> list[Node]:
        """Count the operands that each waits for; the nodes without any. For the holder of the lock."""
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

    def _proceed(self, ready: list[Node], works: Spawned, mine: Fiber | None = None) -> bool:
        """Compute short nodes that are ready, and those that then are; whether the fiber `mine` can go on."""
        goes_on = False
        while ready:
            short, done = [], []
            for node in ready:
                if node.signature.mode == EXTERNAL:
                    self._open(node, works)
                elif node.signature.mode == UNRESOLVED:
                    self._owner.compute(node)
                    done.append(node)
                elif is_foreign(node.signature):
                    works.append(partial(self._alone, node))
                else:
                    short.append(node)
            if short:
                with self._lock:
                    line = self._line(short)
                done += line
                self._compute([*line])
            ready, woken = self._known(done)
            works += [partial(self._go, fiber) for fiber in woken if fiber is not mine]
            goes_on |= mine in woken
        return goes_on

    def _open(self, node: Node, works: Spawned) -> None:
        fiber = self._owner.fiber(node, self._run)
        if fiber is not None:
            self._binds[fiber] = node
            works.append(partial(self._go, fiber))

    def _alone(self, node: Node) -> Spawned:
        works = Spawned()
        self._compute([node])
        self._follow([node], works)
        return works

    def _follow(self, done: Sequence[Node], works: Spawned) -> None:
        """Go on with what has waited for these, which have been computed."""
        ready, woken = self._known(done)
        works += [partial(self._go, fiber) for fiber in woken]
        self._proceed(ready, works)

    def _line(self, ready: Sequence[Node]) -> list[Node]:
        """Nodes that are ready, and those that need nothing else, for one thread; the caller holds the lock."""
        line = [*ready]
        met: dict[Node, int] = {}
        for node in line:  # which grows
            for user in self._users.get(node, ()):
                met[user] = met.get(user, 0) + 1
                if met[user] == self._missing[user] and not self._apart(user.signature):
                    line.append(user)
        return line

    def _apart(self, signature: Signature) -> bool:
        return signature.mode in (EXTERNAL, UNRESOLVED) or is_foreign(signature)

    def _compute(self, nodes: list[Node]) -> None:
        """Compute nodes; one that fails stops only those that need it."""
        values, failed = self._owner.values, self._owner.failed
        self._run.on_cancel(nodes.clear)
        try:
            with all_quiet():
                while (done := forward(nodes, values, failed)) < len(nodes):
                    rest = nodes[done + 1 :]
                    nodes[:] = [x for x in rest if all(x.operands[i] in values for i in x.signature.nodes)]
        finally:
            self._run.discard(nodes.clear)

    def _known(self, nodes: Sequence[Node]) -> tuple[list[Node], list[Fiber]]:
        """The nodes that wait for nothing else any more, and the fibers that go on."""
        ready: list[Node] = []
        woken: list[Fiber] = []
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


class SpeculativeEvaluation(Evaluation):
    """The values and deltas of one run, whose binds start ahead of their turn."""

    in_order = False

    def __init__(self, pool: ThreadPool, tuner: SpeculationTuner, snapshot: int, loops: Loops) -> None:
        """`pool` and `tuner`: who computes ahead, and who knows what pays."""
        super().__init__(snapshot, loops)
        self.ahead: Speculation | None = None  # now at work
        self.apart = False  # something has gone ahead in this run
        self.lasts = False  # so that deltas are worth several threads, too
        self.pool = pool
        self.tuner = tuner
        self.early: set[Expression] = set()  # computed, or failed, before their turn
        self.fibers: dict[object, Joined] = {}  # of binds whose turn has not come

    # -- ahead --------------------------------------------------------------------------------------

    def carefully(self, nodes: list[Node], context: Context) -> Steps[None]:
        sources = [x.operands[0] for x in nodes if x.signature.mode == EXTERNAL] if len(nodes) > 1 else ()
        if len(sources) > 1:
            of = functions_of(sources)
            if self.tuner.pays(of):
                return self._speculate(nodes, of, context)
        return self._rest(nodes, context)

    def _rest(self, nodes: list[Node], context: Context) -> Steps[None]:
        return self._with_early(nodes, context) if self.early else self._in_turn(nodes, context)

    def _speculate(self, nodes: list[Node], of: Sequence[object], context: Context) -> Steps[None]:
        """Start all binds among these, and what depends on them, as far as they go; then the rest in turn."""
        before = {*self.fibers}
        try:
            if len({_key(x) for x in nodes if x.signature.mode == EXTERNAL and not self._met(x)}) > 1:
                may_train(self, context.run)  # binds will ask for tapes
                left = [node for node in nodes if node not in self.values and node not in self.failed]
                with self._at_work(context.run) as ahead:
                    alone = ahead.nodes(self.pool, left)
                self.tuner.learn(of, alone)
                self.lasts |= not alone
            yield from self._rest(nodes, context)
        except BaseException as stop:  # also an interrupt, and the end of this generator
            drop(self._begun_since(before), stop)
            raise
        drop(self._begun_since(before))

    def together(self, roots: Sequence[Expression], context: Context) -> Steps[None]:
        """Compute several expressions as one, in the order in which one after the other would be computed."""
        nodes, weights = below_all(roots, _Without(self.values, self.early) if self.early else self.values)
        self.read(weights)
        if nodes:
            ends = None if self.goes_back else self._ends(roots[0], nodes, False)
            done = 0 if self.early else self.advance(nodes, context.run, False, ends)
            yield from self.carefully(Rest(nodes[done:], ends), context)

    def _begun_since(self, before: Container[object]) -> list[Joined]:
        return [self.fibers.pop(key) for key in [*self.fibers] if key not in before]

    def branches(self, parts: Sequence[Do[Any]], context: Context) -> tuple[list[Joined], bool]:
        """Branches of a `gather` as far as they go; whether that was over before another thread could help."""
        with self._at_work(context.run) as ahead:
            return ahead.branches(self.pool, parts, context)

    @contextmanager
    def _at_work(self, run: Run) -> Generator[Speculation]:
        self.apart = True
        self.ahead = Speculation(self, run)
        try:
            yield self.ahead
        finally:
            self.ahead = None

    def _met(self, node: Node) -> bool:
        """True if the turn of a bind has come, or that of another node with its value."""
        known = (self.values, self.failed, self.opening)
        return (
            any(node in found for found in known)
            or _key(node) in self.fibers
            or id(node.operands[0]) in self.opened
        )

    def fiber(self, node: Node, run: Run) -> Fiber | None:
        """The fiber of a bind; None if it has one, or its turn has come."""
        if self._met(node):
            return None
        (source,) = node.operands
        # a user's `forward` is not called before it runs
        made = source if isinstance(source, Do) else Do.defer(partial(tape_of, node))
        fiber = Fiber(made, Early(run, self), STOPS, self)
        self.fibers[_key(node)] = Joined(fiber)
        return fiber

    def compute(self, node: Node) -> None:
        """Compute the value of one node, or its failure."""
        try:
            self._compute(node, node.signature)
        except Exception as failure:
            self.failed[node] = (noted(failure, node, self._operands(node)),)

    # -- in turn ------------------------------------------------------------------------------------

    def asked(self, root: Expression, context: Context) -> Steps[None]:
        """Prepare a question for the value of `root`, where something has gone ahead."""
        if self.ahead is not None:
            yield Wait(root, self)
        else:
            yield from self.in_turn(root, context)

    def in_turn(self, root: Expression, context: Context) -> Steps[None]:
        """Compute `root` now."""
        if root in self.early or (root not in self.values and root not in self.failed):
            yield from self.carefully(self._left(root), context)

    def taken(self, log: Sequence[Expression], context: Context) -> Steps[None]:
        """Admit what has been computed for these, as its turn has come."""
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
        if not (self.lasts or (self.tapes and several_foreign(self.order))):
            return super().backward(context)
        return self._backward_on_threads(context)

    def _backward_on_threads(self, context: Context) -> Steps[None]:
        if not backward_on(self.pool, self, context.run):
            yield from super().backward(context)

    def _rest_of(self, node: Node) -> Do[Tape[Any, Any]] | Branch:
        begun = self.fibers.pop(_key(node), None) if self.fibers else None
        return super()._rest_of(node) if begun is None else begun


class _Without:
    """The difference of two tables."""

    def __init__(self, table: dict[Expression, Value], other: set[Expression]) -> None:
        self._table, self._other = table, other

    def __contains__(self, x: object) -> bool:
        return x in self._table and x not in self._other


def _key(node: Node) -> object:
    """A key that binds of the same user's value share."""
    (source,) = node.operands
    return node if isinstance(source, Do) else id(source)


# -- which starts pay --------------------------------------------------------------------------------

_SURE: Final = 8  # starts in a row
_TURNS: Final = 500  # runs until it starts ahead again: to ask takes 0.3 ms
_MOST: Final = 4096  # structures
_DEEP: Final = 4  # functions in functions that are looked at


class SpeculationTuner:
    """The structures that one executor starts ahead of their turn, by what earlier starts have gained."""

    def __init__(self) -> None:
        # what has to live as long as its id counts, and runs since a thread could have helped, with those in turn
        self._seen: dict[tuple[int, ...], tuple[Sequence[object], int]] = {}

    def pays(self, of: Sequence[object]) -> bool:
        """True if it should start ahead this time."""
        key = tuple(map(id, of))
        _, runs = self._seen.get(key, (of, 0))
        if not _SURE <= runs < _SURE + _TURNS:
            return True
        self._seen[key] = of, runs + 1
        return False

    def learn(self, of: Sequence[object], alone: bool) -> None:
        """Record a start, and whether it ended `alone`: before a thread could have helped."""
        key = tuple(map(id, of))
        if key not in self._seen and len(self._seen) >= _MOST:
            self._seen = {}
        _, runs = self._seen.get(key, (of, 0))
        self._seen[key] = of, min(runs, _SURE - 1) + 1 if alone else 0


def functions_of(sources: Iterable[object]) -> Sequence[object]:
    """The key of the functions behind `Do`s: their code, and that of the functions which they hold."""
    found: list[object] = []
    left: list[tuple[Any, int]] = [(source, _DEEP) for source in sources]  # Any: whatever a `Do` holds
    for x, deep in left:  # which grows
        held: Iterable[object] = ()
        # almost all come from `differentiable`: its function, and what that is called with, say everything
        if type(x) is FlatMap and type(x.then) is partial and x.then.func is forward_of:
            made: Any = x.source  # Any: a coroutine of that function's
            x = made.make
        elif isinstance(x, Question):
            of: object = x.arguments[0]
            signature = of.signature if isinstance(of, Node) else None
            found += (x.method, signature)
            if isinstance(of, Node) and of.signature.mode == EXTERNAL:
                left.append((of.operands[0], deep))
            continue
        elif isinstance(x, Do):
            cls: type = type(x)
            parts = (getattr(x, name, None) for name in _slots_of(cls))
            left += [(part, deep) for part in parts if isinstance(part, Do) or callable(part)]
        if isinstance(x, partial):
            held = (*x.args, *x.keywords.values())
            x = x.func
        if isinstance(x, FunctionType):
            found.append(x.__code__)
            held = (*held, *map(_content, x.__closure__ or ()))
        elif isinstance(x, MethodType):
            held = (x.__func__,)
        else:
            owner = getattr(x, "__self__", None)  # of a method that is no function of Python's
            of_a_class = owner is not None and not isinstance(owner, ModuleType)
            found.append(type(owner) if of_a_class else x if callable(x) else type(x))
        if deep:
            left += [(part, deep - 1) for part in held if callable(part)]
    return found


@cache
def _slots_of(cls: type) -> tuple[str, ...]:
    return tuple(name for base in cls.__mro__ for name in getattr(base, "__slots__", ()))


def _content(cell: CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # nothing has been put into it yet
        return None
