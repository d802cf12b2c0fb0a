"""Plans: which structures have earned one, when it is made, and where the plan of an expression is found.

Knows: that a plan pays after some runs, so that the interpreter goes first and counts; that the time spent on making
plans is bounded by a share of the interpreter's time and by what plans have been measured to save; that an expression
which is run again remembers its plan, and one that is built anew finds it by its structure; that a plan which had to
go for others is made again after twice as many runs each time; that where an evaluation came the same way often, its
deltas and updates are one program, and that such a path is told by its segments, by what they read of each other,
through binds too, and by the optimizers of its weights.
Refuses to know: how a plan is made and run, and how many bytes all of them may keep.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from operator import attrgetter, is_, itemgetter
from time import thread_time
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from wengert.arrays import Value
from wengert.control import Run, without_collector
from wengert.graph.node import Expression, Node
from wengert.graph.operation import EXTERNAL, UNRESOLVED, Signature
from wengert.graph.weights import Weight
from wengert.later import later
from wengert.run.compiled.cache import Cache, Item, RunCounts, clock, grown
from wengert.run.compiled.segment import MOST, SegmentRun, has_cells, is_light, operations
from wengert.run.evaluation import Evaluation
from wengert.run.tapes import OwnTape, nowhere

if TYPE_CHECKING:
    from wengert.program.program import Program
    from wengert.run.compiled.plan import Bound, Plan
    from wengert.run.compiled.program import PlanProgram


Mode = Literal["predict", "train", "gradients", "shard"]  # a shard: the value, and the deltas of all weights
Making = Callable[[], AbstractContextManager[object]]

# runs after which a structure may get its plan: making one costs about as much as 20 of them
WORTH: Final = 8
_FREE: Final = 0.5  # seconds that the first plans may take: most models have their plan after `WORTH` runs
_SHARE: Final = 0.02  # of the interpreter's time; looking for plans takes 0.02 to 0.03 more
_RARE: Final = 0.01  # of the interpreter's time: a structure with less earns its plan before it is made
_CREDIT: Final = 1.0  # of its own time, for the plan of a structure that more than half of all time went into
_REUSED: Final = 0.6  # of the time that plans save goes into others
_FIXED: Final = 2e-3  # seconds that making a plan takes, whatever it is of,
_EACH: Final = 200e-6  # for each operation,
_RUNS: Final = 2.0  # and in runs by the interpreter: as long as no making has been timed
_LEARNT: Final = 0.5  # weight of the latest making in the price of the next
_TIMED: Final = 6  # runs of a structure that are timed, by the interpreter and by a new plan
_WORST: Final = 1.05  # of the interpreter's time: a plan that takes more goes
_ALIKE: Final = 8  # plans of one key: with other sharing, settings of optimizers, or targets
_VAIN: Final = 16  # times that no plan of a key has fitted, after which only one run in as many looks at them
_SAMPLE: Final = 1024  # nodes that tell an expression which is too long for a plan
_TINY: Final = 16  # nodes: a plan of fewer is made in 3 ms, which nobody sees, and not in steps
_MOST_STRUCTURES: Final = 4096
_MOST_GUESSES: Final = 1024
_MOST_STEPS: Final = 256  # segments and binds of a path; a longer one seldom comes back
_COMPILER: Final = "wengert.run.compiled.compiler"
_traced_plan, _traced_path = later(_COMPILER, "traced_plan"), later(_COMPILER, "traced_path")
_signature = attrgetter("signature")


class Statistics:
    """Statistics of a structure; times in seconds."""

    __slots__ = (
        *("key", "long", "needed", "operations", "price", "runs", "saves", "spent", "times", "tried"),
        *("usual", "vain"),
    )

    def __init__(self, key: int, needed: int) -> None:
        self.key = key
        self.runs = 0  # by the interpreter, since its latest plan was begun
        self.needed = needed  # of them for the next plan
        self.tried = False  # whether there was to be a plan before
        self.operations: int | None = None  # that a plan would have; 0 if there may be none
        self.long = False  # too long for one plan, with cells: these are worth programs of their own
        self.vain = 0  # times in turn that none of its plans has fitted
        self.times: list[float] = []  # of the runs that are timed now
        self.usual = 0.0  # of a run by the interpreter; 0 until that is known
        self.saves: float | None = 0.0  # of that, a run by its plan; None as long as that is being timed
        self.price = 0.0  # paid for the plan in the making
        self.spent = 0.0  # on it so far


class Account:
    """The seconds that may be spent on making plans: `_FREE` and what runs have earned, less what makings have cost.

    A run by the interpreter earns `_SHARE` of its time, one by a plan `_REUSED` of what it saves, so that all runs and
    makings together hardly take longer than the interpreter would have, at any time. The price of a plan, learnt from
    the makings before it, is paid when it is begun, lest many be begun and none be finished. What runs most of the time
    has its plan on credit: a large network that is trained need not wait for its savings. `_FREE` is for the structures
    of which there are few: spent on one of hundreds it would come back late.
    """

    def __init__(self, clock: Callable[[], float] = thread_time, free: float = _FREE) -> None:
        self.clock = clock  # the work of this thread, whatever else the machine does
        self.seconds = 0.0  # that the interpreter took
        self.free = free
        self.balance = free  # two threads that add at once may lose one of the two: it is an estimate
        self._scale = 1.0  # of what makings cost, over what `_FIXED`, `_EACH` and `_RUNS` say

    def pays(self, structure: Statistics, operations: int) -> bool:
        """Pay for the plan of a structure, if the balance is enough."""
        price = self._scale * (_FIXED + _EACH * operations + _RUNS * structure.usual)
        own = structure.runs * structure.usual
        balance = self.balance if own >= _RARE * self.seconds else self.balance - self.free
        if price > balance and (own < self.seconds / 2 or price > _CREDIT * own):
            return False
        structure.price, structure.spent = price, 0.0
        self.balance -= price
        return True

    def settle(self, structure: Statistics, made: bool) -> None:
        """Take what a making that has ended cost in place of its price; the next is known better if one was `made`."""
        self.balance += structure.price - structure.spent
        if made and structure.price:  # 0 where the structure was forgotten while its plan was in the making
            self._scale *= 1.0 + _LEARNT * (structure.spent / structure.price - 1.0)

    def interpreted(self, structure: Statistics, evaluation: Evaluation) -> None:
        """Earn by a run of the interpreter, which goes on now."""
        if structure.usual:
            self._earn(structure.usual)
        else:
            evaluation.held.append(partial(self._usual, structure, self.clock()))

    def _usual(self, structure: Statistics, begun: float) -> None:
        structure.times.append(self.clock() - begun)
        self._earn(structure.times[-1])
        if len(structure.times) == _TIMED:
            structure.usual, structure.times = sorted(structure.times)[_TIMED // 2], []

    def _earn(self, seconds: float) -> None:
        self.seconds += seconds
        self.balance += _SHARE * seconds

    def saved(self, structure: Statistics, begun: float, drop: Callable[[], None]) -> None:
        """Time a run by a plan, which began then; `drop` it once it turns out to be slower than the interpreter."""
        structure.times.append(self.clock() - begun)
        if len(structure.times) == _TIMED:
            taken, structure.times = sorted(structure.times)[_TIMED // 2], []
            structure.saves = _REUSED * (structure.usual - taken)
            if taken > _WORST * structure.usual:
                drop()


class Plans:
    """All plans of one interpreter.

    Where `worth` is given, a structure gets its plan after as many runs, whatever that costs.
    """

    def __init__(
        self,
        worth: int | None = None,
        program: Callable[..., PlanProgram] | None = None,
        stacked: bool = True,
        in_steps: bool = False,
        account: Account | None = None,
        native: bool = False,
    ) -> None:
        self.native = native  # whether fused groups of its programs are compiled
        self._worth = WORTH if worth is None else worth
        self.account = Account() if account is None and worth is None else account
        # whether plans of many small nodes are made in several runs, a step in each
        self._in_steps = in_steps
        self._program = program
        self._stacked = stacked
        self._structures: dict[int, Statistics] = {}
        self._guesses: dict[tuple[Mode, Signature, int], tuple[Statistics, bool]] = {}
        self._latest = 0  # serial of the root that was looked for before
        self._built = 0  # expressions since then: those of one structure, if nothing else is built
        self._plans: Cache[int, Plan] = Cache(_ALIKE)

    def alike(self, worth: int, program: Callable[[Program], PlanProgram]) -> Plans:
        """Plans of the same kind that are made after so many runs, with programs of this sort."""
        return Plans(worth, program, self._stacked)

    def find(self, root: Expression, mode: Mode, targets: Sequence[Expression] = ()) -> Bound | None:
        """The plan of `root`, where nothing has to be known of its structure: it ran before, or one like it did."""
        kept = getattr(root, "_kept", None)
        if kept is not None and kept[0] is self and kept[1] == mode:
            found: Bound = kept[2]
            structure: Statistics = kept[3]
            if found.plan.gone:
                _keep(root, None)
            elif structure.saves is not None and _same(found.targets, targets):
                found.plan.used = clock()
                self._earn(structure.saves)
                return found
        if not isinstance(root, Node):
            return None
        if root.serial != self._latest:  # else it is looked for again, in one run
            self._built, self._latest = root.serial - self._latest, root.serial
        guess = mode, root.signature, self._built
        guessed, again = self._guesses.get(guess, (None, False))
        if guessed is None or guessed.saves is None or not again:
            return None
        bound = self._fitting(guessed, root, mode, targets)
        if bound is None:
            self._guesses[guess] = guessed, False
            return None
        self._earn(guessed.saves)
        return bound

    def _earn(self, seconds: float) -> None:
        if self.account is not None:
            self.account.balance += seconds

    def key(self, nodes: Sequence[Node], mode: Mode, weights: int, targets: int = 0) -> int:
        """Key of the expressions of one structure: their nodes, the root last, and two counts.

        It costs 2 to 3 % of what the interpreter takes; with the places of operands it would be 15 %, so expressions
        that differ in nothing else have it in common, too. Of one that is too long for a plan it is some of its nodes.
        """
        if len(nodes) > MOST:
            nodes = [*nodes[:: len(nodes) // _SAMPLE or 1], nodes[-1]]
            weights = -weights
        return hash((mode, weights, targets, *map(_signature, nodes)))

    def answer(
        self,
        evaluation: Evaluation,
        nodes: Sequence[Node],
        mode: Mode,
        targets: Sequence[Expression] = (),
        making: Making = nullcontext,
    ) -> Bound | None:
        """The plan for an expression with these nodes, if it has one.

        `making` is entered while a plan is made.
        """
        key = self.key(nodes, mode, len(evaluation.values), len(targets))
        structure = self._structures.get(key) or self._new(key)
        account, plans = self.account, self._plans.of(key)
        if plans:
            begun = account.clock() if account is not None and structure.saves is None else 0.0
            bound = self._known(structure, nodes[-1], mode, targets)
            if bound is not None and structure.saves is not None:
                self._earn(structure.saves)
                return bound
            if bound is not None and account is not None:
                drop = partial(self._plans.drop, key, bound.plan)
                evaluation.held.append(partial(account.saved, structure, begun, drop))
                return bound
        unready = next((plan for plan in plans if not plan.ready), None)
        if unready is not None:
            with making():
                self._advance(structure, unready)
        else:
            structure.runs += 1
            if structure.runs >= structure.needed and self._earned(structure, nodes, mode):
                with making():
                    self._make(structure, evaluation, nodes, mode, targets)
        evaluation.segments.in_parts = structure.long
        if account is not None:
            account.interpreted(structure, evaluation)
        return None

    def keeps(self, root: Expression, mode: Mode, targets: Sequence[Expression]) -> bool:
        """True if `find` has the plan of `root` without a look below it."""
        kept = getattr(root, "_kept", None)
        if kept is None or kept[0] is not self or kept[1] != mode or not targets:
            return False
        bound: Bound = kept[2]
        return not bound.plan.gone and kept[3].saves is not None and _same(bound.targets, targets)

    def keep_like(self, root: Expression, other: Expression) -> None:
        """Keep for `root` the plan of `other`, which is above it and its targets, and is not asked for again."""
        kept = getattr(other, "_kept", None)
        if kept is not None and all(root is not x for x in kept[2].targets):
            _keep(root, kept)

    def _new(self, key: int) -> Statistics:
        structure = self._structures[key] = Statistics(key, self._worth)
        if len(self._structures) > _MOST_STRUCTURES:
            self._structures.pop(next(iter(self._structures)), None)
        return structure

    def _known(
        self, structure: Statistics, root: Node, mode: Mode, targets: Sequence[Expression]
    ) -> Bound | None:
        """The plan of `root`, which has that structure."""
        if structure.vain >= _VAIN and structure.vain % _VAIN:
            structure.vain += 1
            return None
        bound = self._fitting(structure, root, mode, targets)
        structure.vain = 0 if bound is not None else structure.vain + 1
        if bound is not None:
            guess = mode, root.signature, self._built
            if guess not in self._guesses and len(self._guesses) >= _MOST_GUESSES:
                self._guesses.pop(next(iter(self._guesses)), None)
            self._guesses[guess] = structure, self._guesses.get(guess, (None, False))[0] is structure
        return bound

    def _fitting(
        self, structure: Statistics, root: Node, mode: Mode, targets: Sequence[Expression]
    ) -> Bound | None:
        plans = self._plans.of(structure.key)
        for plan in plans:
            if plan.gone:  # it failed in its first run
                self._plans.drop(structure.key, plan)
                continue
            bound = plan.bound(root)
            if bound is not None and _same(bound.targets, targets):
                if len(plans) == 1:  # as `use`, in a third of its time
                    plan.used = clock()
                else:
                    self._plans.use(structure.key, plan)
                if not targets or all(root is not x for x in targets):  # or it would hold itself
                    _keep(root, (self, mode, bound, structure))
                return bound
        return None

    def _earned(self, structure: Statistics, nodes: Sequence[Node], mode: Mode) -> bool:
        """True if this run, which is one of enough, should be traced."""
        if mode != "predict" and not nodes[-1].kind.trainable:
            return False
        if structure.operations is None:
            structure.operations = operations(nodes) if self.admits(nodes) else 0
            structure.long = structure.operations > MOST and has_cells(nodes)
        if not 0 < structure.operations <= MOST:
            return False
        if self.account is not None and not self.account.pays(structure, structure.operations):
            return False
        if structure.tried and len(self._plans.of(structure.key)) in (0, _ALIKE):
            structure.needed *= 2  # it had to go for others, or could not be made; or many have the key
        structure.tried, structure.runs = True, 0
        return True

    def admits(self, nodes: Sequence[Node]) -> bool:
        """True if there may be a plan of these nodes: not if the structure depends on values."""
        return not any(n.signature.mode in (EXTERNAL, UNRESOLVED) for n in nodes)

    def _advance(self, structure: Statistics, plan: Plan) -> None:
        """Make one step more of a plan."""
        self._plans.use(structure.key, plan)
        account = self.account
        begun = 0.0 if account is None else account.clock()
        with without_collector():
            going = plan.advance()
        if account is not None:
            structure.spent += account.clock() - begun
        if not going:
            if plan.early or plan.failed:
                self._plans.drop(structure.key, plan)
            grown(plan.size())
            self._made(structure, not plan.failed)

    def _made(self, structure: Statistics, well: bool) -> None:
        """The making of a plan is over."""
        if self.account is not None:
            self.account.settle(structure, well)
            structure.saves, structure.times = None, []

    def _make(
        self,
        structure: Statistics,
        evaluation: Evaluation,
        nodes: Sequence[Node],
        mode: Mode,
        targets: Sequence[Expression],
    ) -> None:
        """Make the plan of `nodes`, the root last, or begin to; the interpreter goes on in this run."""
        account, traced_plan = self.account, _traced_plan.load()
        begun = 0.0 if account is None else account.clock()
        at_once = not self._in_steps or len(nodes) < _TINY or not is_light(nodes)
        # the collector would go through all equations, again and again: 1.2 times as long
        with without_collector():
            plan: Plan = traced_plan(
                evaluation, nodes, mode, targets, self._program, self._stacked, at_once, self.native
            )
        if account is not None:
            structure.spent = account.clock() - begun
        if not plan.early and not plan.failed:
            self._plans.keep(structure.key, plan)
        elif plan.early:
            structure.tried = False  # a run of some weight's first step tells nothing of the others
        if plan.early or plan.ready:
            self._made(structure, not plan.failed)


def _keep(root: Expression, what: object) -> None:
    """Remember with an expression what has been found for it; weights remember nothing."""
    if isinstance(root, Node):
        root._kept = what


def _same(a: Sequence[Expression], b: Sequence[Expression]) -> bool:
    return a is b or (len(a) == len(b) and all(map(is_, a, b)))  # nobody's are one tuple


# -- paths back through segments and binds ----------------------------------------------------------------------


class Bind(NamedTuple):
    """A bind on the way: its node, its value, and where its delta goes; None if nobody asks for it."""

    node: Node
    value: Value
    source: Expression | None


class Path(NamedTuple):
    """The way that an evaluation went."""

    key: object
    steps: list[SegmentRun | Bind]  # last first
    weights: list[Weight]

    def values(self) -> list[Value]:
        """All that was read and found on the way there, after what nobody reads."""
        values: list[Value] = [None]
        for step in reversed(self.steps):
            if isinstance(step, Bind):
                values.append(step.value)
            else:
                values += step.inputs
                values += step.computed
        return values


class BackwardProgram(Item):
    """The program of one path: what is left of a training is a plan whose literals are the values on the way."""

    def __init__(self, plan: Plan, sources: Sequence[int], settings: Sequence[object]) -> None:
        self.plan = plan
        self.pick: Callable[[Sequence[Value]], tuple[Value, ...]] = itemgetter(0, 0, *sources)
        self.settings = settings  # they have to live as long as their ids count

    def size(self) -> int:
        return self.plan.size()

    def let_go(self) -> None:
        self.plan.let_go()

    def fits(self, path: Path) -> bool:
        """True if the weights have the names for which their steps have asked."""
        return all(path.weights[i].name == name for i, name in self.plan.named)

    def back(self, path: Path, snapshot: int, run: Run) -> Callable[[], Value]:
        """Maker of the changes of weights, which are computed here. Raises Interrupted where the program fails."""
        _, _, *literals = self.pick(path.values())
        _, change = self.plan.with_leaves(path.weights, literals).computed(run, snapshot)
        return change


class BackwardPrograms:
    """All that one interpreter has."""

    def __init__(self, worth: int) -> None:
        self._runs = RunCounts(worth)
        self._made: Cache[object, BackwardProgram] = Cache()

    def back(self, evaluation: Evaluation, loss: Expression, run: Run) -> Callable[[], Value] | None:
        """The way back of a loss with a delta of 1: it has been gone, and what is left makes the changes.

        None where it has not been gone that often, or not by programs alone.
        """
        path = path_of(evaluation, loss)
        if path is None:
            return None
        for way in self._made.of(path.key):
            if not way.fits(path):
                return None
            self._made.use(path.key, way)
            with evaluation.doubts:
                return way.back(path, evaluation.snapshot, run)
            if way.plan.failed:  # in its first run
                self._made.drop(path.key, way)
            return None
        if self._runs.earned(path.key):
            made, early = _traced_path(path, loss)
            if early:
                self._runs.soon(path.key)
            elif made is not None:
                self._made.keep(path.key, made)
        return None


def path_of(evaluation: Evaluation, loss: Expression) -> Path | None:
    """The way that an evaluation went, if nothing but programs and binds without tapes of users' was on it."""
    order, segments, tapes = evaluation.order, evaluation.segments, evaluation.tapes
    if not segments or evaluation.failed or evaluation.pending or evaluation.resolved:
        return None
    places: dict[Expression, int] = {x: i for i, x in enumerate(order)}
    weights: dict[Expression, int] = {}

    def place(x: Expression) -> int:
        return places[x] if x in places else weights.setdefault(x, -2 - len(weights))

    keys: list[object] = [places.get(loss)]
    steps: list[SegmentRun | Bind] = []
    at = len(order)
    while at:
        node = order[at - 1]
        segment_run = segments.that_ends(node)
        if segment_run is not None:
            at -= len(segment_run.nodes)
            keys.append((segment_run.segment.number, *map(place, segment_run.leaves)))
            steps.append(segment_run)
        else:
            at -= 1
            tape = tapes.get(node)
            if not isinstance(tape, OwnTape) or tape.source is None:
                return None
            source = None if tape.backward is nowhere else tape.source
            keys.append(-1 if source is None else place(source))
            steps.append(Bind(node, evaluation.values[node], source))
        if len(steps) > _MOST_STEPS:
            return None
    read_here = [x for x in weights if isinstance(x, Weight)]
    snapshot = evaluation.snapshot
    if len(read_here) < len(weights) or any(w.ref.version > snapshot for w in read_here):
        return None
    keys += [(type(w.optimizer), id(w.settings)) for w in read_here]
    return Path(tuple(keys), steps, read_here)
