"""Branches of a program that do the same, as one: a stacked call in place of the calls of each.

Knows: how a program with stacked calls is written, and that each of them has to hold the bits of the single ones.
Refuses to know: what the functions compute, which siblings pay, and where the data of weights are kept.
"""

from __future__ import annotations

import operator
from collections.abc import Hashable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import Any, Final, NamedTuple

from wengert.arrays import all_quiet
from wengert.arrays.agreement import adds_in_turn, same_bits
from wengert.arrays.stacked import (
    CHANGES,
    FORMS,
    WHOLE,
    Case,
    Operand,
    branch,
    gathered,
    rows_of,
    total,
)
from wengert.run.compiled.chosen import Chosen, Weights, shape_of_result, type_of_result
from wengert.run.compiled.program import needed
from wengert.run.compiled.siblings import Siblings
from wengert.run.compiled.tracing import Call, Trace, Traced, concrete, traced_in

# of the calls that may be left: where more are, stacks cost as much as they save (0.9 to 1.1 of the time)
_WORTH: Final = 0.8


class Stacked(NamedTuple):
    """A program with stacked calls, and what it needs besides the inputs of the one without."""

    trace: Trace  # its inputs end with the arenas
    arenas: list[tuple[int, ...]]  # of each, the places of the weights whose data are its rows
    changed: list[int]  # the arenas that are changed as a whole
    kept: list[int]  # of the targets those that are changed by themselves
    targets: list[Traced] | None  # those, then the changed arenas


def stacked(
    trace: Trace, outputs: Sequence[Any], weights: Weights, kinds: Mapping[Traced, Hashable]
) -> Stacked | None:  # Any: traced values or constants
    """The program of a trace with its siblings as one; None where there are none that pay.

    `kinds` says of each input which others it may stand in one array with.
    """
    calls = needed(trace.calls, outputs)
    if any(call.opaque for call in calls):
        return None  # it may change what it is given: the order has to stay
    with all_quiet():
        chosen = Chosen(calls, outputs, weights, kinds)
        if not chosen.groups:
            return None
        writer = _Writer(chosen, trace)
        found = writer.written()
        if found is None:
            writer.trace.close()
        return found


class _Writer:
    """The calls of a program, the chosen ones stacked."""

    def __init__(self, chosen: Chosen, trace: Trace) -> None:
        self.chosen = chosen
        self.trace = Trace()
        inputs = [rows_of([chosen.weights.inputs[i].value for i in places]) for places in chosen.arenas]
        self.trace.inputs = list(trace.inputs)
        self.arenas = dict(zip(chosen.arenas, map(self.trace.input, inputs), strict=True))
        self.targets: dict[tuple[int, ...], Traced] = {}
        self.stacks: dict[Siblings, Traced] = {}

    def written(self) -> Stacked | None:
        """The program; None if a stack holds other bits than the branches of this run."""
        chosen = self.chosen
        units = [(g.last, self._stacked(g)) for g in chosen.groups]
        if not all(self._right(g) for g in self.stacks):
            return None
        left = self._summed({id(call) for g in chosen.groups for call in g.calls})
        units += [(at, [call]) for at, call in enumerate(chosen.calls) if id(call) in left]
        units += [(at, [call]) for at, call in self.sums]
        self.trace.calls = _in_order(units)
        if len(self.trace.calls) > _WORTH * len(chosen.calls):
            return None
        arenas, weights = list(self.arenas), chosen.weights
        changed = [arenas.index(places) for places in self.targets]
        rows = {place for places in self.targets for place in places}
        kept = [i for i, place in enumerate(weights.places) if place not in rows]
        targets = None if weights.targets is None else [weights.targets[i] for i in kept]
        if targets is not None:
            targets += self.targets.values()
        return Stacked(self.trace, arenas, changed, kept, targets)

    def _stacked(self, group: Siblings) -> list[Call]:
        """One call for all branches, those that bring its operands together, and those that hand out results."""
        begin, call = len(self.trace.calls), group.calls[0]
        operands = [self._operand(group, column) for column in group.columns]
        case = Case(call.function, operands, call.options, shape_of_result(call), len(group.calls))
        result = FORMS[call.function](self._emit, case)
        made = self.trace.calls[begin:]
        if isinstance(result, Traced):
            self.stacks[group] = result
            made += [
                Call(branch, (result.outline, i), {}, x, pure=True)
                for i, x in enumerate(group.results)
                if x in self.chosen.alone
            ]
        return made

    def _emit(self, function: Any, *arguments: Any, **options: Any) -> Any:  # Any: as in Call
        if function in CHANGES:
            return self.trace.effect(function, *arguments, **options)
        return self.trace.call(function, *arguments, **options)

    def _operand(self, group: Siblings, column: Sequence[Any]) -> Operand:  # Any: as in Call
        x, form = column[0], self.chosen.form(group, column)
        value = concrete(x)
        rank = len(getattr(value, "shape", ()))
        if form == "one":
            return Operand(x, rank, False)
        if form == "stack":
            return Operand(self.stacks[self.chosen.home[x]], rank, True)
        if form == "arena":
            return Operand(self.arenas[tuple(self.chosen.place[y] for y in column)], rank, True)
        if form == "target":
            places = tuple(self.chosen.target[y] for y in column)
            if places not in self.targets:
                self.targets[places] = Traced(self.trace, self.arenas[places].value)
            return Operand(self.targets[places], rank, True)
        dtype = value.dtype if hasattr(value, "dtype") else type_of_result(group.calls[0])
        return Operand(self.trace.call(gathered, dtype, *column), rank, True)

    def _right(self, group: Siblings) -> bool:
        """Whether the stack holds what the branches have made in this run."""
        return group.calls[0].function in WHOLE or all(
            same_bits(x, y.value)
            for x, y in zip(self.stacks[group].value, group.results, strict=True)
            if y is not None
        )

    def _summed(self, stacked: set[int]) -> set[int]:
        """The calls that stay as they are, without those that add up all branches of a stack, which become one."""
        left = {id(call): (at, call) for at, call in enumerate(self.chosen.calls) if id(call) not in stacked}
        users: dict[Traced, list[Call]] = {}
        for _, call in left.values():
            for x in traced_in(call.arguments):
                users.setdefault(x, []).append(call)
        for g in self.chosen.groups:
            for call in g.calls:
                for x in traced_in(call.arguments):
                    users.setdefault(x, []).append(call)
        for x in traced_in(tuple(self.chosen.outputs)):
            users.setdefault(x, []).append(_OUTSIDE)
        self.sums: list[tuple[int, Call]] = []
        for g, stack in self.stacks.items():
            chain = _chain([x for x in g.results if x is not None], users)
            if chain and stack.ndim > 1 and adds_in_turn(len(g.calls), stack.shape[1:], stack.dtype):
                at = left[id(chain[-1])][0]
                self.sums.append((at, Call(total, (stack.outline,), {}, chain[-1].result, pure=True)))
                for call in chain:
                    del left[id(call)]
        return set(left)


_OUTSIDE: Final = Call(operator.pos, (), {}, None, pure=False)


def _chain(terms: Sequence[Traced], users: Mapping[Traced, Sequence[Call]]) -> list[Call]:
    """The calls that add up the terms in their order, if nobody else takes a term or a part of the sum."""
    so_far, calls = terms[0], list[Call]()
    for term in terms[1:]:
        mine = users.get(so_far, ())
        if len(mine) != 1 or len(users.get(term, ())) != 1 or mine[0] is not users[term][0]:
            return []
        call = mine[0]
        if call.function is not operator.add or len(call.arguments) != 2 or call.result is None:
            return []
        calls.append(call)
        so_far = call.result
    return calls


def _in_order(units: Sequence[tuple[int, Sequence[Call]]]) -> list[Call]:
    """All calls after those whose results they take, else as in the program; effects last."""
    maker = {
        call.result: i for i, (_, calls) in enumerate(units) for call in calls if call.result is not None
    }
    waits, frees = [0] * len(units), [list[int]() for _ in units]
    for i, (_, calls) in enumerate(units):
        needs = {maker[x] for call in calls for x in traced_in(call.arguments) if x in maker} - {i}
        waits[i] = len(needs)
        for need in needs:
            frees[need].append(i)
    ready = [(at, i) for i, (at, _) in enumerate(units) if not waits[i]]
    heapify(ready)
    ordered: list[tuple[int, Sequence[Call]]] = []
    while ready:
        _, i = heappop(ready)
        ordered.append(units[i])
        for j in frees[i]:
            waits[j] -= 1
            if not waits[j]:
                heappush(ready, (units[j][0], j))
    assert len(ordered) == len(units), "siblings are as deep as each other"
    effects = sorted((unit for unit in units), key=lambda unit: unit[0])
    pure = [call for _, calls in ordered for call in calls if call.result is not None]
    return [*pure, *(call for _, calls in effects for call in calls if call.result is None)]
