"""Schedules that are remembered: by structure, and by the identity of an expression that is run again.

Knows: that a stack of examples which are one cell each, and a few operations on it, have one structure, however unlike
in size they are, which no traversal has to find; that a schedule is numbers only and holds on to nothing; that an
expression does not change, so neither does its schedule, nor its literals in their tables; that what an expression
remembers dies with it.
Refuses to know: how a schedule is made and run; a kept run that fails is left to those who can say why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from typing import Any, Final

from wengert.arrays import Value, all_quiet, one_like
from wengert.arrays.places import Places, argsort, ascending, equal, flags, glance, places, span
from wengert.control import Run
from wengert.graph.binding import Refs
from wengert.graph.node import Expression, Node
from wengert.graph.operation import EXTERNAL, Signature
from wengert.graph.order import below
from wengert.ops.joining import STACK
from wengert.run.batching.bound import BoundSchedule, Kernels, Lanes
from wengert.run.batching.execution import BatchRun, Known
from wengert.run.batching.grouping import grouped
from wengert.run.batching.ragged import of_any_size, sized_cell
from wengert.run.batching.region import (
    BITS,
    MASK,
    Group,
    GroupForm,
    Literals,
    Region,
    RowSource,
    form_of,
    rewrite,
    why_alone,
)
from wengert.run.batching.report import Report, counted_keys
from wengert.run.batching.schedule import Place, Schedule, scheduled
from wengert.run.batching.traversal import region_of
from wengert.run.commit import Interrupted, settle
from wengert.run.compiled.cache import Cache, Item
from wengert.run.compiled.plan import Bound
from wengert.run.compiled.plans import Making, Mode, Plans
from wengert.run.evaluation import Evaluation
from wengert.run.loops import ONE_THREAD, Loops
from wengert.run.tapes import handed_over

_NODE: Final = 105  # bytes of a schedule for each node, and for each launch; measured
_LAUNCH: Final = 1300
_ALIKE: Final = 8  # structures that a glance does not tell apart
_MOST_READERS: Final = 4  # operations, one after the other, on a stack of examples
_WITHOUT: Final = ("gradients", "shard")  # questions whose answers no schedule that is kept gives
_ROWS = (RowSource.OPERATION, RowSource.CELL, RowSource.RAGGED)


# -- by structure -----------------------------------------------------------------------------------


class ScheduleCache(Plans):
    """All schedules of one executor, and its report; of a root that ran before, an interpreter finds it like a plan."""

    def __init__(
        self,
        loops: Loops = ONE_THREAD,
        source: Kernels | None = None,
        lanes: Callable[[], Lanes] | None = None,
    ) -> None:
        super().__init__()
        self.report = Report()
        self._loops = loops  # which commit
        self.source = Kernels() if source is None else source
        self._lanes = lanes  # makes those of a structure; None: one thread
        self._schedules: Cache[int, _Cached] = Cache(_ALIKE)
        self.latest = 0  # the greatest serial of what has been recorded

    def record(self, roots: Sequence[Node], known: Known | None, before: int) -> Region:
        """The nodes below `roots` that have no value yet; `before` is what `latest` was when the run began."""
        begun = self.source.clock()
        latest = max([node.serial for node in roots], default=0)
        self.latest = max(latest, self.latest)
        region = region_of_examples(roots[0]) if known is None and len(roots) == 1 else None
        if region is None:
            region = region_of(roots, known, 0 if len(roots) == 1 and latest <= before else before)
            number_as_read(region)
        region.extend(roots)
        self.report.bookkeeping += self.source.clock() - begun
        return region

    def bound(self, region: Region, kept: Iterable[Expression], back: bool = True) -> BoundSchedule | None:
        """The schedule of a region; None where nothing would run together. `kept` are asked for by themselves.

        One without a way `back` uses rows again: in the end only the `kept` have values. It is looked for once.
        """
        if region.bound is None:
            begun = self.source.clock()
            region.bound = (self._bound(region, kept, back),)
            self.report.bookkeeping += self.source.clock() - begun
        found: BoundSchedule | None = region.bound[0]
        return found

    def _bound(self, region: Region, kept: Iterable[Expression], back: bool) -> BoundSchedule | None:
        open_ = any(g.form.source is RowSource.OPEN for g in region.groups)
        if open_ or not any(len(g.members) > 1 for g in region.groups if g.form.source in _ROWS):
            self._ran_alone(region)
            return None
        codes = [code for x in kept if (code := region.code(x)) is not None]
        roots = [code >> BITS for code in codes]
        rewrite(region, roots, back)
        own = None if back else (*codes,)
        cached = self._cached(region, own)
        if cached.schedule is None:
            site = region.groups[-1].site
            self.report.alone("a chain", "less than two of its nodes are on a level", site, region.size)
            self.report.runs += 1
            return None
        if cached.lanes is None and self._lanes is not None:
            cached.lanes = self._lanes()
        return BoundSchedule(region, cached.schedule, self.report, cached.lanes, self.source)

    def _cached(self, region: Region, own: Sequence[int] | None) -> _Cached:
        """The schedule of a structure: the one that was made, or a new one.

        A batch that has not been there before is told by a glance; bytes of all of it take 0.3 ms of 64 sentences.
        """
        plain = (own, *[(g.form, g.counts is None) for g in region.groups])
        arrays = [x for g in region.groups for x in (g.members, g.refs, g.counts) if x is not None]
        key = hash((plain, *map(glance, arrays)))
        for found in self._schedules.of(key):
            if found.plain == plain and all(map(equal, found.arrays, arrays)):
                self._schedules.use(key, found)
                return found
        launches = grouped(region)
        made = None if launches is None else scheduled(region, launches, own)
        new = _Cached(plain, arrays, made, region.size)
        self._schedules.keep(key, new)
        return new

    def _ran_alone(self, region: Region) -> None:
        """Report a region of which nothing runs together: one launch a node."""
        own = [g for g in region.groups if g.signature is not None and g.signature.mode != EXTERNAL]
        if not own:
            return
        alone = [
            (g.signature.operation.name, why_alone(g.signature), g.site, len(g.members))
            for g in own
            if g.signature is not None and g.form.source not in _ROWS and len(g.members) > 1
        ]
        lines = self.report.begin(counted_keys(own), alone)
        for group, line in zip(own, lines, strict=True):
            assert line is not None, "operations have a line"
            line.add_single(len(group.members))

    # -- by identity --------------------------------------------------------------------------------

    def find(
        self, root: Expression, mode: Mode, targets: Sequence[Expression] = ()
    ) -> Any:  # Any: as `BoundSchedule`
        """The schedule of `root`, if it has run before: its own for predictions, and one with a way back.

        In the two rows stand in other orders, and a product of matrices has other bits then.
        """
        kept: Any = getattr(root, "_kept", None)  # Any: as others keep it
        key: object = mode == "train"
        if mode in _WITHOUT or targets:
            return None
        if kept is None and isinstance(root, Node) and (found := _stack_of(root)) is not None:
            kept, key = getattr(found[0], "_kept", None), (found[1], key)
        if kept is None or kept[0] is not self or not isinstance(kept[1], dict):
            return super().find(root, mode)  # of a structure of which nothing runs together
        bound = kept[1].get(key)
        return None if bound is None else KeptRun(self._loops, *bound)

    def answer(
        self,
        evaluation: Evaluation,
        nodes: Sequence[Node],
        mode: Mode,
        targets: Sequence[Expression] = (),
        making: Making = nullcontext,
    ) -> Bound | None:
        """The plan of a structure of which nothing runs together, as that of one chain; others have schedules."""
        if mode in _WITHOUT or targets or not isinstance(nodes, Region) or nodes.binds():
            return None
        if self.bound(nodes, nodes, evaluation.goes_back) is not None:
            return None
        alone, weights = below(nodes[0], evaluation.values)
        evaluation.read(weights)
        return super().answer(evaluation, alone, mode)

    def keeps(self, root: Expression, mode: Mode, targets: Sequence[Expression]) -> bool:
        """False: of values beside a loss nothing is kept."""
        return False

    def keep_like(self, root: Expression, other: Expression) -> None:
        """Nothing, as above."""

    def keep(self, root: Node, bound: BoundSchedule, place: Place) -> None:
        """Have `root` remember its schedule, unless that would hold on to a node of it.

        A stack that it is made of does, too: that of a batch which comes back has another root in each epoch.
        """
        back, found = bound.schedule.lost is None, _stack_of(root)
        places: list[tuple[Node, object]] = [(root, back), *([(found[0], (found[1], back))] if found else [])]
        for node, key in places if bound.keepable else ():
            kept: Any = getattr(node, "_kept", None)  # Any: as in `find`
            others = kept[1] if kept is not None and kept[0] is self and isinstance(kept[1], dict) else {}
            node._kept = (self, {**others, key: (bound, place)})


def number_as_read(region: Region) -> None:
    """Number nodes that read no others in the order in which they are read, where all are older than any that reads.

    So examples of one cell each have the structure of those before, however they are shuffled.
    """
    leaves = [group for group in region.groups if not group.refs.size]
    readers = [group for group in region.groups if group.refs.size]
    if not leaves or not readers or max(g.members[-1] for g in leaves) > min(g.members[0] for g in readers):
        return
    sources, _ = region.edges()
    first = flags(region.size, len(sources))  # of each node, the place where it is read first
    first[sources[::-1]] = span(0, len(sources))[::-1]
    new = span(0, region.size)
    moved = []
    for group in leaves:
        order = argsort(first[group.members])
        new[group.members[order]] = group.members
        moved.append(order)
    if ascending(new):
        return
    for group, order in zip(leaves, moved, strict=True):
        group.order = group.order[order]
    for group in readers:
        group.refs = (new[group.refs >> BITS] << BITS) | (group.refs & MASK)
    region.renumber(new)


def region_of_examples(root: Node) -> Region | None:
    """The region below a root, as a traversal has it that numbers nodes as they are read; None for any other region."""
    readers = _readers(root)
    cells = readers[0].operands if readers else ()
    if not cells or len(form_of(readers[0].signature).rows) < len(cells) or form_of(cells[0].signature).rows:
        return None
    apart = len({x.signature.operation for x in readers}) == len(readers)  # or one might stand for another
    cell = _alike(cells) if apart else None
    if cell is None:
        return None
    n, nodes = len(cells), [*cells, *readers]
    every = span(0, len(nodes))
    groups = []
    for first, several in ((0, cells), *[(number, (x,)) for number, x in enumerate(readers, n)]):
        x, size, begin = several[0], len(several), 0 if first == n else first - 1
        group = Group(form_of(x.signature) if first else cell, x.signature, (), every[first : first + size])
        group.refs = (every[begin:first] << BITS if first else places([])).reshape(size, -1 if first else 0)
        group.order, group.at = every[:size], (x.code, x.offset)
        group.literals = [tuple([Literals([y.operands[i] for y in several]) for i in group.form.literals])]
        group.signatures = [y.signature for y in several if group.form.source is RowSource.RAGGED]
        groups.append(group)
    numbers = argsort(serials := places([x.serial for x in nodes]))
    codes = {x: number << BITS for number, x in enumerate(nodes)}
    return Region(serials[numbers], groups, codes, every, every, nodes, True, numbers=numbers)


def _readers(root: Node) -> list[Node]:
    """A stack, and the operations from there to the root, each of which reads the one before; else nothing."""
    found = [root]
    while (signature := found[0].signature).operation is not STACK:
        form = form_of(signature)
        plain = form.source is RowSource.OPERATION and len(form.rows) == 1 and not form.weights
        if not plain or len(found) == _MOST_READERS:
            return []
        found.insert(0, found[0].operands[form.rows[0]])
    return found


def _alike(cells: tuple[Node, ...]) -> GroupForm | None:
    """The form of different cells of data alone that run as one; None where they do not."""
    forms = {x.signature: form_of(x.signature) for x in cells}
    sized = [sized_cell(signature) for signature in forms] if len(forms) > 1 else []
    apart = None in sized or len({cell.family for cell in sized if cell is not None}) > 1
    if (
        apart
        or len({*map(id, cells)}) < len(cells)
        or any(f.source is not RowSource.CELL or f.rows or f.weights for f in forms.values())
    ):
        return None
    signature, form = next(iter(forms.items()))
    return form if len(forms) == 1 else of_any_size(signature, form)


class _Cached(Item):
    """The schedule of a structure, None where nothing would run together; and all that it was made of."""

    def __init__(
        self, plain: tuple[object, ...], arrays: Sequence[Places], schedule: Schedule | None, nodes: int
    ) -> None:
        self.plain = plain
        self.arrays = arrays
        self.schedule = schedule
        self.lanes: Lanes | None = None
        self._bytes = _NODE * nodes + (_LAUNCH * len(schedule.launches) if schedule is not None else 0)

    def size(self) -> int:
        return self._bytes


# -- an expression that runs again ------------------------------------------------------------------


def _stack_of(root: Node) -> tuple[Node, tuple[Signature, ...]] | None:
    """The stack below a root and the operations on it, one after the other; None where they read anything else."""
    stack, *readers = _readers(root) or [root]
    plain = readers and not any(form_of(x.signature).literals for x in readers)
    return (stack, tuple([x.signature for x in readers])) if plain else None


class KeptRun:
    """One run of a schedule that was found."""

    def __init__(self, loops: Loops, bound: BoundSchedule, place: Place, refs: Refs | None = None) -> None:
        self.loops = loops
        self.bound = bound
        self.place = place
        self.refs = refs or {}

    @property
    def weights(self) -> Sequence[Expression]:
        """The weights that it reads."""
        return self.bound.weights()

    def at(self, refs: Refs, snapshot: int) -> KeptRun:
        """This run where some weights have other data."""
        return KeptRun(self.loops, self.bound, self.place, refs)

    def predict(self, root: Expression, snapshot: int) -> Value:
        """The data of the expression."""
        batch = self._forward(snapshot, False, None)
        batch.release()
        return handed_over(batch.value(self.place), root.kind, {})

    def trained(self, loss: Expression, run: Run, snapshot: int) -> tuple[Value, Callable[[], Value]]:
        """The loss, to look at, and a function that changes the weights and gives the loss."""
        batch = self._forward(snapshot, True, run)
        value = batch.value(self.place)
        deltas: dict[Expression, Value] = {}
        if loss.kind.trainable:
            try:
                with all_quiet():
                    deltas, _ = batch.backward([(self.place, one_like(value))], run.check)
            except Exception as failure:
                raise Interrupted from failure
        value = handed_over(value, loss.kind, {})

        def change() -> Value:
            settle(run, value)
            self.loops.commit(deltas, snapshot, value, _interrupt)
            batch.release()
            return value

        return value, change

    def _forward(self, snapshot: int, keeps: bool, run: Run | None) -> BatchRun:
        values: dict[Expression, Value] = {}
        for weight in self.bound.weights():
            values[weight] = self.refs.get(weight, weight.ref).at(snapshot)
        batch = BatchRun(self.bound, Known(values), keeps)
        try:
            with all_quiet():
                batch.forward(_nothing if run is None else run.check)
        except Exception as failure:
            raise Interrupted from failure
        return batch


def _nothing() -> None:
    """A prediction of what is kept is not cancelled on its way."""


def _interrupt(refusal: Exception) -> None:
    raise Interrupted from refusal
