"""The memory of a program: which values share it, how long each is needed, and in which buffer a result lies.

Knows: that a result may lie in an array that is given for it, in one that outlives the program and has a key, in a
piece of another result, or in a buffer that is used again and again; that a loop may read a target that it changes, as
it reads an element of each operand before it writes one, but no other target, which may have changed before.
Refuses to know: how many rows there are, who owns a buffer, and text.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from wengert.arrays import HOST
from wengert.arrays.abstract import Sizes
from wengert.arrays.kernels import VIEWS, kernel_of, subtract_into, takes_strides
from wengert.program.fused import EXACT, FusedGroup, FusedUpdate, space_of
from wengert.program.program import Argument, Eqn, Function, Program, Var, mapped, vars_in
from wengert.program.simplify import Pieces

Roots = frozenset[Var]
Free = dict[tuple[Sizes, Any], list[int]]  # the numbers of buffers of a shape and dtype; Any: numpy's
_BASIC: Final = (int, slice, type(None), type(Ellipsis))


class Allocation(NamedTuple):
    """One array. Buffers of one key are one array; without a key it is used again and again."""

    shape: Sizes
    dtype: Any  # Any: numpy's
    key: object


def aliases(eqns: Iterable[Eqn], new: Container[Var] = ()) -> dict[Var, Roots]:
    """For each result the values whose memory it may be: itself where it is new, else those of what it was made of.

    What is `new` has memory of its own whatever its function would return: a loop writes it there.
    """
    roots: dict[Var, Roots] = {}
    for e in eqns:
        own = e.result in new or e.result.aval.form == "number" or isinstance(e.function, Pieces)
        own = own or kernel_of(e.function).fresh
        shared = [(e.result,)] if own else [roots.get(x, (x,)) for x in e.reads]
        roots[e.result] = frozenset().union(*shared)
    return roots


def can_be_placed(e: Eqn) -> bool:
    """True if an equation can write its result into a buffer."""
    if isinstance(e.function, Pieces) or not e.result.compact or e.constant:
        return False
    return kernel_of(e.function).into is not None


class Placement:
    """For each result of a program where it lies: `outputs` in what is given where that can be, `kept` with their keys.

    Nothing is written over what is `wanted` or kept. What is `leaving` for good has no place, and neither has what a
    function is given that may keep it. Equations on several `lanes` run at once: each has buffers of its own.
    The equations of a fused group are one call: what is inner to it is never in memory.
    """

    def __init__(
        self,
        eqns: Sequence[Eqn],
        outputs: Sequence[Argument],
        wanted: Iterable[Var],
        kept: Mapping[Var, object],
        leaving: Iterable[Var] = (),
        lanes: Mapping[Eqn, int] | None = None,
        groups: Sequence[FusedGroup] = (),
    ) -> None:
        self.buffers: list[Allocation] = []
        self.place: dict[Var, int] = {}  # the number of the buffer of each result that has one
        self.outputs: dict[Var, int] = {}  # the number of the array that is given for it
        self.pieces: dict[Var, tuple[Var, int]] = {}  # it is written as a piece of another
        self.early: list[Eqn] = []  # views of buffers and constants, made with the buffers
        self.ends: dict[Eqn, list[Var]] = {}  # after it nobody reads these, which have no place
        self.eqns = eqns
        self.group_of = {e: group for group in groups for e in group.eqns}
        self.inner = {x for group in groups for x in group.inner}
        self.lanes = dict.fromkeys(eqns, 0) if lanes is None else lanes
        own = {x for group in groups for x in group.outputs if x.compact}
        self.roots = aliases(eqns, own)
        self.kept: dict[Var, object] = {}
        for x, key in kept.items():
            roots = self.roots.get(x, (x,))
            for i, root in enumerate(roots):  # of several that it may be, each needs memory of its own
                self.kept[root] = key if len(roots) == 1 else (key, i)
        foreign = [x for e in eqns if e.opaque for x in e.reads]
        self.lasting = self._roots_of((*wanted, *kept, *foreign))
        leaves = self._roots_of((*leaving, *foreign)) - self.kept.keys()
        able = own | {e.result for e in eqns if can_be_placed(e)}
        self.able = able - leaves - self.inner
        self.leaves = leaves
        self.sums = {e.result for e in eqns if isinstance(e.function, Pieces)}
        self.rigid = {e.result for e in eqns if not takes_strides(e.function)} - own - self.sums
        for i, x in enumerate(outputs):
            if isinstance(x, Var) and x in self.able and x not in self.outputs:
                self.outputs[x] = i
        # what is copied into its array when all is done is read once more
        self.lasting |= self._roots_of(x for x in vars_in(tuple(outputs)) if x not in self.outputs)
        self._assemble()
        if self.able or self.pieces or any(isinstance(e.function, Pieces) for e in eqns):
            self._allot()
        self._look()
        # lanes are functions, in which another's name of a number would be one of their own
        forms = ("array", "other") if lanes else ("array", "other", "number", "scalar")
        self._end({*vars_in(tuple(outputs)), *wanted, *leaving}, forms)

    def _roots_of(self, xs: Iterable[Var]) -> set[Var]:
        return {root for x in xs for root in self.roots.get(x, (x,))}

    def _assemble(self) -> None:
        """Have each piece computed where it belongs: what is part of a part lies in it, too."""
        outputs, pieces = self.outputs, self.pieces
        uses = Counter(x for e in self.eqns for x in e.reads)
        gaps: set[Var] = set()  # pieces whose memory has gaps
        for e in reversed(self.eqns):
            if isinstance(e.function, Pieces) and e.result not in self.leaves:
                for i, x in enumerate(e.arguments):
                    if not isinstance(x, Var) or x in pieces or x in outputs or not self._fits(x):
                        continue
                    rest = e.function.keys[i][1:]
                    whole = e.result not in gaps and all(part == slice(None) for part in rest)
                    if whole or (x not in self.rigid and uses[x] == 1):
                        pieces[x] = e.result, i
                        gaps |= set() if whole else {x}

    def _fits(self, x: Var) -> bool:
        """True if a result can be computed in a part of an array, at least in one without gaps.

        Across gaps some functions cannot write; and whoever else reads it has been told that it is in C order.
        """
        able = x in self.sums or x in self.able
        return able and x not in self.lasting and x not in self.leaves

    def _allot(self) -> None:
        """Give buffers to results, and take them back after the last use of whatever shares their memory."""
        free: dict[int, Free] = {lane: {} for lane in self.lanes.values()}
        last = self._last_uses(self.roots)
        waiting: list[Var] = []
        for e in self.eqns:
            mine = free[self.lanes[e]]
            dying = [x for x in last.get(e, ()) if x in self.place]
            group = self.group_of.get(e)
            if group is not None and group.along_lines:  # it reads a line again after it has begun to write
                self._settle(e, mine)
                waiting += dying
                if e is group.eqns[-1]:
                    self._release(waiting, mine)
                    waiting = []
                continue
            elementwise = not isinstance(e.function, Pieces) and kernel_of(e.function).elementwise
            if elementwise:  # before the result's buffer is chosen: it may be an operand's
                self._release(dying, mine)
            self._settle(e, mine)
            if not elementwise:
                self._release(dying, mine)

    def _last_uses(self, roots: Mapping[Var, Iterable[Var]]) -> dict[Eqn, list[Var]]:
        """The values that nobody needs after an equation; those that several lanes use are none."""
        final: dict[Var, Eqn] = {}
        lanes = self.lanes
        shared: set[Var] = set()
        for e in self.eqns:
            for x in (*e.reads, e.result):
                for root in roots.get(x, ()):
                    before = final.get(root)
                    if before is not None and lanes[before] != lanes[e]:
                        shared.add(root)
                    final[root] = e
        last: dict[Eqn, list[Var]] = {}
        for root, e in final.items():
            if root not in shared:
                last.setdefault(e, []).append(root)
        return last

    def _end(self, stay: set[Var], forms: Sequence[str]) -> None:
        """Find where values of these forms go that have memory of their own."""
        early = {e.result for e in self.early}
        places = (self.place, self.outputs, self.pieces, early, stay)
        own = {
            e.result: (e.result,)
            for e in self.eqns
            if e.result.aval.form in forms and not e.effect
            if not any(e.result in place for place in places) and e.result not in self.inner
        }
        self.ends = self._last_uses(own)

    def _settle(self, e: Eqn, free: Free) -> None:
        x, pieces = e.result, isinstance(e.function, Pieces)
        if x in self.outputs or x in self.pieces or not (x in self.able or (pieces and x not in self.leaves)):
            return
        key, form = self.kept.get(x), (x.shape, x.dtype)
        if key is None and not pieces and free.get(form):
            self.place[x] = free[form].pop()
            return
        self.place[x] = len(self.buffers)
        self.buffers.append(Allocation(*form, key))

    def _release(self, dying: Iterable[Var], free: Free) -> None:
        wholes = {whole for whole, _ in self.pieces.values()}
        for root in dying:
            at = self.place[root]
            buffer = self.buffers[at]
            if root not in self.lasting and root not in wholes:
                free.setdefault((buffer.shape, buffer.dtype), []).append(at)

    def _look(self) -> None:
        """Find constants, views of buffers, and views of these."""
        known = {*self.place, *self.pieces}
        for e in self.eqns:
            if e in self.group_of:
                continue
            if e.constant and e.pure:
                self.early.append(e)
            elif len(e.reads) == 1 and e.arguments[0] is e.reads[0] in known and _is_view(e):
                self.early.append(e)
                known.add(e.result)


def _is_view(e: Eqn) -> bool:
    x, *others = e.arguments
    if e.result.aval.form != "array":  # a number, which is a copy
        return False
    if e.function is HOST.getitem:
        parts = others[0] if isinstance(others[0], tuple) else (others[0],)
        return all(isinstance(part, _BASIC) for part in parts)
    return e.function in VIEWS and x.compact


def fused_updates(
    p: Program, groups: Iterable[FusedGroup], refused: Container[Function] = ()
) -> Iterator[FusedUpdate]:
    """The effects whose steps are made by one equation, or one of the `groups`, for nobody else.

    As targets change already these may only read memory that is no target's, and what their own target was before.
    """
    updates = _Updates(p, groups)
    for old in p.effects:
        found = updates.of(old, refused) if old.function is subtract_into else None
        if found is not None:
            yield found


class _Updates:
    """All that tells which equations may be computed as a target changes."""

    def __init__(self, p: Program, groups: Iterable[FusedGroup]) -> None:
        self._before, self._apart = p.before, {*p.apart}
        self._made = {e.result: e for e in p.eqns}
        self._group_of = {e: group for group in groups for e in group.eqns}
        self._uses = Counter(x for e in (*p.eqns, *p.effects) for x in e.reads)
        self._leaving = {*vars_in(tuple(p.outputs))}
        self._early = {*vars_in(tuple(p.outputs[:1]))}  # read before anything changes
        self._changes = Counter(e.arguments[0] for e in p.effects)

    def of(self, old: Eqn, refused: Container[Function]) -> FusedUpdate | None:
        """The update that an effect becomes; None where it stays as it is."""
        target, subtracted = old.arguments
        step = self._made.get(subtracted) if isinstance(subtracted, Var) else None
        if step is None or step.function in refused:
            return None
        steps: tuple[Eqn, ...] = (step,)
        space, of = space_of(step, EXACT), self._group_of.get(step)
        if of is not None:
            steps, space = of.eqns, None if of.along_lines else of.space
        if space is None or space != (target.shape, target.dtype) or not self._alone(steps, step):
            return None
        inputs = dict.fromkeys(x for e in steps for x in e.reads if self._made.get(x) not in steps)
        before = self._before.get(target)
        if not all(self._is_apart(x) or (x is before and self._changes[target] == 1) for x in inputs):
            return None
        eqns = [_with(e, before, target) if before in e.reads else e for e in steps]
        eqns.append(Eqn(operator.sub, (target, step.result), {}, Var(step.result.aval)))
        read = tuple(x for x in inputs if x is not before)
        written = (*(e.result for e in steps if e.result in self._leaving), eqns[-1].result)
        group = FusedGroup(tuple(eqns), (*read, target), written, space, EXACT)
        return FusedUpdate(group, old, replace(old, arguments=(target, *read)), steps)

    def _alone(self, eqns: Sequence[Eqn], step: Eqn) -> bool:
        """True if what these make is read by each other alone, but for the step, which one effect reads."""
        within = Counter(x for e in eqns for x in e.reads)
        outside = {e.result: self._uses[e.result] - within[e.result] for e in eqns}
        early = not self._early.isdisjoint(outside)
        return outside.pop(step.result) == 1 and not early and not any(outside.values())

    def _is_apart(self, x: Var) -> bool:
        """True if it is a number, or its memory is no target's."""
        e = self._made.get(x)
        new = e is not None and e.pure and kernel_of(e.function).fresh
        return new or x.aval.form == "number" or x in self._apart


def _with(e: Eqn, before: Var | None, target: Var) -> Eqn:
    return replace(e, arguments=mapped(lambda x: target if x is before else x, e.arguments))
