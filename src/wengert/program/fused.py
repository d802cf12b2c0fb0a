"""Fused groups: equations that work element by element, as one loop that reads and writes each array once.

Knows: that equations of one shape and element type may become one loop where none of them waits for something outside
that waits for another of them; that what nobody outside reads needs no memory; how such a loop is written in C. The
text depends on the structure alone, so that equal groups have one text.
Refuses to know: who compiles the text and whether it pays, where results lie, and functions without a formula.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from math import prod
from typing import Any, Final

from wengert.arrays.abstract import Sizes, sizes_for
from wengert.arrays.kernels import HELPERS, c_type, formula_of, literal_of
from wengert.program.program import Argument, Eqn, Program, Var, vars_in

__all__ = ["FusedGroup", "elements_of", "fused", "module_text", "operands_of", "space_of"]

_MOST_OPERANDS: Final = 26  # of a loop, results included: more compete for the cache; numpy takes 64
_FEWEST: Final = 2  # equations of a group: one alone is numpy's own loop

Space = tuple[Sizes, Any]  # shape and element type of a loop; Any: numpy's dtype


@dataclass(frozen=True, eq=False)
class FusedGroup:
    """Equations in order, what they read from outside, and the results that are read outside."""

    eqns: tuple[Eqn, ...]
    inputs: tuple[Var, ...]
    outputs: tuple[Var, ...]
    space: Space

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

    def text(self, name: str) -> str:
        """The loop as a C function of that name, as numpy calls loops."""
        return _loop(self, name)


def fused(p: Program) -> tuple[list[Eqn], list[FusedGroup]]:
    """The equations of a program in an order in which those of each group follow each other, and the groups."""
    units = _Units(p)
    for i, e in enumerate(p.eqns):
        if units.spaces[i] is not None:
            for x in e.reads:
                units.join(units.made_by.get(x), i)
    groups = [group for unit in units.members if (group := units.group(unit)) is not None]
    return units.ordered(), groups


def space_of(e: Eqn) -> Space | None:
    """Shape and element type of the loop that an equation could be part of; None where there is none."""
    x = e.result
    if not (e.pure and x.compact and e.reads) or e.options or formula_of(e.function, x.dtype) is None:
        return None
    dtypes = {y.dtype for y in (x, *e.reads) if c_type(y.dtype) in ("float", "double")}
    if len(dtypes) != 1 or c_type(x.dtype) is None:
        return None
    (dtype,) = dtypes
    return (x.shape, dtype) if all(_is_operand(y, dtype) for y in operands_of(e)) else None


def elements_of(space: Space) -> int:
    """The number of elements of a loop; for one row where the number of rows is open."""
    return prod(sizes_for(space[0], 1))


def operands_of(e: Eqn) -> tuple[Argument, ...]:
    """The arguments that a formula reads: not the element type of `astype`."""
    formula = formula_of(e.function, e.result.dtype) or ""
    return tuple(x for i, x in enumerate(e.arguments) if f"{{{i}}}" in formula)


def _is_operand(x: Argument, dtype: Any) -> bool:  # Any: numpy's dtype
    """True if a loop over `dtype` can read this."""
    if not isinstance(x, Var):
        return literal_of(x, dtype) is not None
    if x.aval.form == "number":
        return x.dtype is float or x.dtype is int
    return x.aval.form in ("array", "scalar") and (x.dtype == dtype or c_type(x.dtype) == "unsigned char")


class _Units:
    """Groups in the making: each equation belongs to one unit, of itself alone at first."""

    def __init__(self, p: Program) -> None:
        self.eqns = p.eqns
        self.made_by = {e.result: i for i, e in enumerate(p.eqns)}
        self.spaces = [space_of(e) for e in p.eqns]
        self.unit = [*range(len(p.eqns))]
        self.members: dict[int, list[int]] = {i: [i] for i in self.unit}
        self.before = [{self.made_by[x] for x in e.reads if x in self.made_by} for e in p.eqns]
        last = None
        for i, e in enumerate(p.eqns):  # calls of users' functions stay in their order
            if e.opaque:
                self.before[i] |= {last} if last is not None else set()
                last = i
        self.readers: dict[Var, list[int]] = {}
        for i, e in enumerate(p.eqns):
            for x in e.reads:
                self.readers.setdefault(x, []).append(i)
        self.leaving = {*vars_in(tuple(p.outputs)), *(x for e in p.effects for x in e.reads)}

    def join(self, producer: int | None, reader: int) -> None:
        """Make one unit of those of two equations, if it is one loop and waits for nothing that waits for it."""
        if producer is None or self.spaces[producer] != self.spaces[reader]:
            return
        a, b = self.unit[producer], self.unit[reader]
        if a == b or self._leads_round(a, b):
            return
        joined = sorted([*self.members[a], *self.members[b]])
        outputs = len(self._outputs(joined))
        if len(self._inputs(joined)) + outputs > _MOST_OPERANDS:
            return
        if self._part(a) != self._part(b) and outputs > len(self._outputs(self.members[a])):
            return  # more would be kept from the way there for the way back
        del self.members[b]
        self.members[a] = joined
        for i in joined:
            self.unit[i] = a

    def _part(self, unit: int) -> str:
        source = self.eqns[self.members[unit][0]].source
        return "" if source is None else source.part

    def _leads_round(self, a: int, b: int) -> bool:
        """True if unit `b` waits for `a` by way of another, or `a` for `b`."""
        return self._waits(b, a) or self._waits(a, b)

    def _waits(self, late: int, early: int) -> bool:
        first = self.members[early][0]
        todo = [x for x in self._units_before(late) if x != early]
        seen = {late, *todo}
        while todo:
            for x in self._units_before(todo.pop()):
                if x == early:
                    return True
                if x not in seen and self.members[x][-1] > first:
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
        space = self.spaces[members[0]]
        if len(members) < _FEWEST or space is None:
            return None
        eqns = tuple(self.eqns[i] for i in members)
        return FusedGroup(eqns, tuple(self._inputs(members)), tuple(self._outputs(members)), space)

    def ordered(self) -> list[Eqn]:
        """All equations, those of a unit in a row, each unit as early as its last member stood."""
        waits = {unit: self._units_before(unit) for unit in self.members}
        after: dict[int, list[int]] = {}
        for unit, those in waits.items():
            for x in those:
                after.setdefault(x, []).append(unit)
        count = {unit: len(those) for unit, those in waits.items()}
        ready = [(self.members[unit][-1], unit) for unit, n in count.items() if not n]
        heapify(ready)
        made: list[Eqn] = []
        while ready:
            _, unit = heappop(ready)
            made += [self.eqns[i] for i in self.members[unit]]
            for x in after.get(unit, ()):
                count[x] -= 1
                if not count[x]:
                    heappush(ready, (self.members[x][-1], x))
        return made


# -- text ----------------------------------------------------------------------------------------------

_HEAD: Final = """\
#include <math.h>
#include <stddef.h>
#if defined(__clang__)
#define EACH _Pragma("clang loop vectorize(assume_safety)")
#else
#define EACH _Pragma("GCC ivdep")
#endif
#define USUAL(x) __builtin_expect(x, 1)
"""


def module_text(texts: Iterable[str]) -> str:
    """The text of a library with these loops, and the functions that they call."""
    loops = "\n".join(texts)
    return "\n".join([_HEAD, *(text for name, text in HELPERS.items() if f"{name}(" in loops), loops])


def _loop(group: FusedGroup, name: str) -> str:
    """A loop twice: for arrays whose elements lie side by side, which a compiler makes vectors of, and for any."""
    read, written = group.dtypes()
    types = [c_type(d) or "" for d in (*read, *written)]
    sizes = [d.itemsize for d in (*read, *written)]
    alone = [_is_one(x, group.space[0]) for x in group.inputs] + [False] * len(written)
    steps = [0 if one else n for n, one in zip(sizes, alone, strict=True)]
    close = f"({' | '.join(f'(s[{i}] ^ {n})' for i, n in enumerate(steps))}) == 0"
    lines = [f"void {name}(char **a, const ptrdiff_t *d, const ptrdiff_t *s, void *unused) {{"]
    lines += ["  (void)unused;", f"  if (USUAL({close})) {{"]
    lines += [f"    {t} *const p{i} = ({t} *)a[{i}];" for i, t in enumerate(types)]
    lines += [f"    const {types[i]} x{i} = *p{i};" for i, one in enumerate(alone) if one]
    lines += ["    EACH", "    for (ptrdiff_t i = 0; i < d[0]; i++) {"]
    lines += [
        f"  {line}" for line in _body(group, [f"x{i}" if one else f"p{i}[i]" for i, one in enumerate(alone)])
    ]
    lines += ["    }", "    return;", "  }", "  for (ptrdiff_t i = 0; i < d[0]; i++) {"]
    lines += _body(group, [f"*({t} *)(a[{i}] + i * s[{i}])" for i, t in enumerate(types)])
    return "\n".join([*lines, "  }", "}", ""])


def _is_one(x: Var, shape: Sizes) -> bool:
    """True if an operand is one number for all elements of the last axis."""
    return x.aval.form != "array" or (x.shape[-1] == 1 and shape[-1] != 1)


def _body(group: FusedGroup, places: Sequence[str]) -> Iterator[str]:
    """The work of a loop on one element of each operand."""
    names: dict[Var, str] = {}
    read, _ = group.dtypes()
    dtype = group.space[1]
    for i, (x, given) in enumerate(zip(group.inputs, read, strict=True)):
        names[x] = f"r{i}"
        yield f"    const {c_type(given)} r{i} = {places[i]};"
    for i, e in enumerate(group.eqns):
        operands = [names[x] if isinstance(x, Var) else literal_of(x, dtype) for x in operands_of(e)]
        of = c_type(e.result.dtype) or ""
        formula = (formula_of(e.function, e.result.dtype) or "").format(
            *operands, t=of, f="f" * (c_type(dtype) == "float")
        )
        names[e.result] = f"v{i}"
        yield f"    const {of} v{i} = {formula};"
    for i, x in enumerate(group.outputs, len(group.inputs)):
        yield f"    {places[i]} = {names[x]};"
