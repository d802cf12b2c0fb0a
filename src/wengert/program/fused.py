"""Fused groups: equations that become one loop, which reads and writes each array once.

Knows: that equations of one shape and element type which work element by element may become one loop where none of
them waits for something outside that waits for another of them; that sums along the last axis, and what is computed
from these for each line, may be part of it; that what nobody outside reads needs no memory.
Refuses to know: the text of loops, who compiles it and whether it pays, where results lie, and functions without a
formula.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from math import inf, prod
from typing import Any, Final, NamedTuple

from wengert.arrays import HOST, reductions
from wengert.arrays.abstract import Sizes, sizes_for
from wengert.arrays.kernels import c_type, formula_of, kernel_of, literal_of
from wengert.program.program import Argument, Eqn, Function, Program, Var, in_order, vars_in, waits_of

__all__ = [
    *("EXACT", "REDUCTIONS", "FusedGroup", "FusedUpdate", "Fusing", "Space", "fused"),
    *("is_view", "loops_of", "operands_of", "reduced_space", "seconds_of", "space_of"),
]

_MOST_OPERANDS: Final = 26  # of a loop, results included: more compete for the cache; numpy takes 64
_FEWEST: Final = 2  # equations of a group: one alone is numpy's own loop
_LONGEST: Final = 8192  # bytes of a line that is reduced: a loop over lines keeps some of them on its stack
_SHORT: Final = 64  # elements of a line of a view: numpy calls a loop anew for each, with all of its operands
_CALL, _ELEMENT = 5e-7, 2.5e-10  # seconds that a call of numpy takes, and one element of it
_SUBTRACT: Final = kernel_of(operator.sub).into

REDUCTIONS: Final[Mapping[Function, str]] = {
    reductions.add_reduce: "sum",
    HOST.sum_to: "sum",
    reductions.max_reduce: "max",
}

Space = tuple[Sizes, Any]  # shape and element type of a loop; Any: numpy's dtype


@dataclass(frozen=True)
class Fusing:
    """The functions that a dialect has formulas for, the reductions of lines, and the operands that it reads."""

    formula_of: Callable[[Function, Any], str | None]  # Any: numpy's dtype
    reduced: Callable[[Eqn], Space | None]
    types: Mapping[str, str]  # the type of each element type that an operand may have beside the loop's own
    exact: bool  # whether the order of a sum, and the sign of a zero, have to be numpy's


@dataclass(frozen=True, eq=False)
class FusedGroup:
    """Equations in order, what they read from outside, and the results that are read outside."""

    eqns: tuple[Eqn, ...]
    inputs: tuple[Var, ...]
    outputs: tuple[Var, ...]
    space: Space
    fusing: Fusing

    @property
    def inner(self) -> list[Var]:
        """Results that nobody outside reads."""
        outputs = set(self.outputs)
        return [e.result for e in self.eqns if e.result not in outputs]

    def dtypes(self) -> tuple[tuple[Any, ...], tuple[Any, ...]]:  # Any: numpy's dtypes
        """The element types of inputs and outputs: a number that Python computes comes as one of the loop's."""
        dtype = self.space[1]
        return (
            tuple(dtype if x.aval.form == "number" else x.dtype for x in self.inputs),
            tuple(x.dtype for x in self.outputs),
        )

    @property
    def along_lines(self) -> bool:
        """True if some of its results are one number for a line along the last axis."""
        return any(e.result.shape != self.space[0] for e in self.eqns)

    @property
    def saves(self) -> float:
        """Estimate of the seconds that it saves in a run: all calls and passes over elements but the longest."""
        seconds = [*map(seconds_of, self.eqns)]
        return sum(seconds) - max(seconds)


class FusedUpdate(NamedTuple):
    """An effect that subtracts from a target what some equations make for nobody else: all as one group.

    In place of the `old` effect comes the `new` one, which reads what the equations read. It writes what they leave
    besides the step, such as the next moments, into arrays that are given for it, and the target last.
    """

    group: FusedGroup
    old: Eqn
    new: Eqn
    steps: tuple[Eqn, ...]  # that are computed as the target changes


def loops_of(groups: Sequence[FusedGroup], updates: Sequence[FusedUpdate]) -> list[FusedGroup]:
    """The groups that are left beside those of updates, and these."""
    gone = {e for update in updates for e in update.steps}
    return [*(group for group in groups if group.eqns[0] not in gone), *(update.group for update in updates)]


def fused(
    p: Program, refused: Container[Function] = (), fusing: Fusing | None = None
) -> tuple[list[Eqn], list[FusedGroup]]:
    """The equations of a program in an order in which those of each group follow each other, and the groups.

    Functions that are `refused` are in none. Without a `fusing` all has numpy's bits.
    """
    units = _Units(p, refused, fusing or EXACT)
    for i, e in enumerate(p.eqns):
        if units.spaces[units.unit[i]] is not None:
            for x in e.reads:
                units.join(units.made_by.get(x), i)
    if not units.fusing.exact:
        units.join_siblings()
    groups = [group for unit in units.members if (group := units.group(unit)) is not None]
    return units.ordered(), groups


def space_of(e: Eqn, fusing: Fusing) -> Space | None:
    """Shape and element type of the loop that an equation could be part of; None where there is none."""
    x = e.result
    if not (e.pure and x.compact and e.reads) or e.options or fusing.formula_of(e.function, x.dtype) is None:
        return None
    dtypes = {y.dtype for y in (x, *e.reads) if c_type(y.dtype) in ("float", "double")}
    if len(dtypes) != 1 or c_type(x.dtype) is None:
        return None
    (dtype,) = dtypes
    return (x.shape, dtype) if all(_is_operand(y, dtype, fusing) for y in operands_of(e, fusing)) else None


# Any: numpy's dtype
def reduced_space(e: Eqn, exact: bool = True, type_of: Callable[[Any], str | None] = c_type) -> Space | None:
    """Shape and element type of the lines that an equation reduces to a number each; None of any other.

    `exact` as of `Fusing`; without, the axis is kept. `type_of` names element types in the dialect.
    """
    if e.function not in REDUCTIONS or not e.pure or not e.result.compact or type(e.arguments[0]) is not Var:
        return None
    x, result = e.arguments[0], e.result
    if x.aval.form != "array" or x.dtype != result.dtype or type_of(x.dtype) not in ("float", "double"):
        return None
    if not are_lines(x.shape, x.dtype) or not (exact or result.shape == lines_of(x.shape)):
        return None
    if e.function is not HOST.sum_to:
        greatest = not exact or (e.function == reductions.max_reduce) == ("initial" in e.options)
        along = e.options.get("axis") in (-1, x.ndim - 1) and greatest
    else:  # a matrix goes through BLAS
        along = not exact or (x.ndim > 2 and e.arguments[1] == result.shape == lines_of(x.shape))
    return (x.shape, x.dtype) if along else None


def is_view(e: Eqn) -> bool:
    """True if the result is the operand with another axis of size 1 at the end."""
    if e.function not in (HOST.expand_dims, HOST.reshape) or type(e.arguments[0]) is not Var:
        return False
    return bool(e.result.shape == (*e.arguments[0].shape, 1))


def lines_of(shape: Sizes) -> Sizes:
    """The shape of one number for each line along the last axis."""
    return (*shape[:-1], 1)


def are_lines(shape: Sizes, dtype: Any) -> bool:  # Any: numpy's dtype
    """True if there may be a loop over the lines of an array."""
    sized = len(shape) > 1 and all(type(n) is int for n in shape)
    return sized and 1 < shape[-1] <= _LONGEST // dtype.itemsize


def _joint(a: Space | None, b: Space | None) -> Space | None:
    """The space of two loops as one; None where they cannot be. One may have a number for each line of the other."""
    if a is None or b is None or a[1] != b[1]:
        return None
    if a[0] == b[0]:
        return a
    for longer, shorter in ((a, b), (b, a)):
        if shorter[0] == lines_of(longer[0]) and are_lines(*longer):
            return longer
    return None


def seconds_of(e: Eqn) -> float:
    """Estimate of the seconds that an equation takes which could be part of a loop; 0 of any other."""
    space = reduced_space(e) or space_of(e, EXACT)
    return 0.0 if space is None else _CALL + _ELEMENT * prod(sizes_for(space[0], 1))


def operands_of(e: Eqn, fusing: Fusing) -> tuple[Argument, ...]:
    """The arguments that a formula reads: not the element type of `astype`."""
    formula = fusing.formula_of(e.function, e.result.dtype) or ""
    return tuple(x for i, x in enumerate(e.arguments) if f"{{{i}}}" in formula)


def _is_operand(x: Argument, dtype: Any, fusing: Fusing) -> bool:  # Any: numpy's dtype
    """True if a loop over `dtype` can read this."""
    if not isinstance(x, Var):
        return literal_of(x, dtype) is not None
    if x.aval.form == "number":
        return x.dtype is float or x.dtype is int
    short = x.aval.order != "compact" and x.shape and sizes_for(x.shape, 1)[-1] < _SHORT
    if fusing.exact and short:
        return False
    typed = x.dtype == dtype or getattr(x.dtype, "name", "") in fusing.types
    return x.aval.form in ("array", "scalar") and typed


EXACT: Final = Fusing(formula_of, reduced_space, {"bool": "unsigned char"}, exact=True)


class _Units:
    """Groups in the making: each equation belongs to one unit, of itself alone at first."""

    def __init__(self, p: Program, refused: Container[Function], fusing: Fusing) -> None:
        self.eqns, self.fusing = p.eqns, fusing
        self.made_by = {e.result: i for i, e in enumerate(p.eqns)}
        self.readers: dict[Var, list[int]] = {}
        for i, e in enumerate(p.eqns):
            for x in e.reads:
                self.readers.setdefault(x, []).append(i)
        self.leaving = {*vars_in(tuple(p.outputs)), *(x for e in p.effects for x in e.reads)}
        self.reduced: set[Var] = set()  # sums without the axis of the line
        self.spaces: list[Space | None] = []  # of the unit of each equation, at the place of its first
        for e in p.eqns:
            self.spaces.append(None if e.function in refused else self._space(e))
        self.unit = [*range(len(p.eqns))]
        self.members: dict[int, list[int]] = {i: [i] for i in self.unit}
        self.before = waits_of(p.eqns)
        self.after: list[list[int]] = [[] for _ in self.unit]
        for i, before in enumerate(self.before):
            for j in before:
                self.after[j].append(i)
        self.highest = [*self.unit]  # of each unit, the last equation in it and in all that it waits for

    def _space(self, e: Eqn) -> Space | None:
        """The space of the loop that an equation could be part of."""
        space = self.fusing.reduced(e)
        if space is not None:
            if self.fusing.exact and e.function == reductions.max_reduce and not self._any_zero_does(e):
                return None
            if e.result.ndim < len(space[0]):
                self.reduced.add(e.result)
            return space
        if is_view(e) and e.arguments[0] in self.reduced:
            return self.spaces[self.made_by[e.arguments[0]]]
        return space_of(e, self.fusing)

    def _any_zero_does(self, greatest: Eqn) -> bool:
        """True if the sign of zero of the greatest element, which depends on the order, is lost: in exp(x - top)."""
        readers = [self.eqns[i] for i in self.readers.get(greatest.result, ())]
        if greatest.result in self.leaving or greatest.options.get("initial") != -inf:
            return False
        after = [self.eqns[j] for e in readers for j in self.readers.get(e.result, ())]
        differences = all(kernel_of(e.function).into is _SUBTRACT for e in readers)
        lost = all(e.function is HOST.exp for e in after) and not any(
            e.result in self.leaving for e in readers
        )
        return differences and lost and greatest.options.get("keepdims") is True

    def _fits(self, joined: Sequence[int]) -> bool:
        """True if what is reduced without its axis is read within as one number for a line."""
        own = self.reduced.intersection(self.eqns[i].result for i in joined)
        return all(is_view(self.eqns[i]) for i in joined if not own.isdisjoint(self.eqns[i].reads))

    def join(self, producer: int | None, reader: int) -> None:
        """Make one unit of those of two equations, if it is one loop and waits for nothing that waits for it."""
        if producer is None:
            return
        a, b = self.unit[producer], self.unit[reader]
        space = _joint(self.spaces[a], self.spaces[b])
        if a == b or space is None or self._waits(b, a) or self._waits(a, b):
            return
        joined = sorted([*self.members[a], *self.members[b]])
        if not self._fits(joined):
            return
        outputs = len(self._outputs(joined))
        if len(self._inputs(joined)) + outputs > _MOST_OPERANDS:
            return
        if self._part(a) != self._part(b) and outputs > len(self._outputs(self.members[a])):
            return  # more would be kept from the way there for the way back
        del self.members[b]
        self.members[a], self.spaces[a] = joined, space
        for i in joined:
            self.unit[i] = a
        highest, todo = max(self.highest[a], self.highest[b]), [a]
        self.highest[a] = -1
        while todo:  # all that wait for one of both wait for the other, too
            unit = todo.pop()
            if self.highest[unit] < highest:
                self.highest[unit] = highest
                todo += {self.unit[j] for i in self.members[unit] for j in self.after[i]}

    def join_siblings(self) -> None:
        """Make one unit of those of one space that do not wait for each other, but for the steps of optimizers."""
        found: dict[object, int] = {}
        for unit in [*self.members]:
            space = self.spaces[unit] if unit in self.members else None
            if space is not None and self._part(unit) != "update":
                key = (*space, self._part(unit))
                before = found.get(key)
                if before is not None:
                    self.join(before, unit)
                found[key] = unit if unit in self.members else self.unit[unit]

    def _part(self, unit: int) -> str:
        source = self.eqns[self.members[unit][0]].source
        return "" if source is None else source.part

    def _waits(self, late: int, early: int) -> bool:
        """True if unit `late` waits for `early` by way of another."""
        last = self.members[early][-1]
        todo = [x for x in self._units_before(late) if x != early]
        seen = {late, *todo}
        while todo:
            for x in self._units_before(todo.pop()):
                if x == early:
                    return True
                if x not in seen and self.highest[x] >= last:
                    seen.add(x)
                    todo.append(x)
        return False

    def _units_before(self, unit: int) -> set[int]:
        found = {self.unit[j] for i in self.members[unit] for j in self.before[i]}
        found.discard(unit)
        return found

    def _inputs(self, members: Sequence[int]) -> list[Var]:
        own = {self.eqns[i].result for i in members}
        return [x for x in dict.fromkeys(x for i in members for x in self.eqns[i].reads) if x not in own]

    def _outputs(self, members: Sequence[int]) -> list[Var]:
        inside = set(members)
        results = [self.eqns[i].result for i in members]
        return [
            x
            for x in results
            if x in self.leaving
            or any(i not in inside for i in self.readers.get(x, ()))
            or x not in self.readers
        ]

    def group(self, unit: int) -> FusedGroup | None:
        """The group that a unit is; None of one that is left alone."""
        members = self.members[unit]
        eqns, space = tuple(self.eqns[i] for i in members), self.spaces[unit]
        least = _FEWEST if self.fusing.exact else 1
        if sum(not is_view(e) for e in eqns) < least or space is None:
            return None
        return FusedGroup(
            eqns, tuple(self._inputs(members)), tuple(self._outputs(members)), space, self.fusing
        )

    def ordered(self) -> list[Eqn]:
        """All equations, those of a unit in a row, each unit as early as its last member stood."""
        waits = {unit: self._units_before(unit) for unit in self.members}
        last = {unit: members[-1] for unit, members in self.members.items()}
        return [self.eqns[i] for unit in in_order(waits, last) for i in self.members[unit]]
