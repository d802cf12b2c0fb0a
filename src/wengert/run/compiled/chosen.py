"""Which siblings of a program pay as one call.

Knows: what a call, a copy and a view cost, how values come into a stack and out of it, and that weights which are
met together can live in one array (an arena).
Refuses to know: how a program is written, and what the functions compute.
"""

from __future__ import annotations

import operator
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

from wengert.arrays import Generic0d, is_host_array
from wengert.arrays.agreement import agrees
from wengert.arrays.outlines import SMALL, has_elements
from wengert.arrays.stacked import FORMS, WHOLE
from wengert.run.compiled.siblings import Siblings, siblings
from wengert.run.compiled.tracing import Call, Traced, concrete, traced_in

_ROUNDS: Final = 50  # until no group goes any more
# microseconds, as numpy takes them: to call a function, to bring values together, to hand them out
_CALL: Final = 0.6
_GATHER, _GATHERED = 1.5, 0.15
_ELEMENT: Final = 1e-4
_SPREAD, _EACH = 0.1, 0.12
_NUMBERS: Final = (int, float)


# How one argument of all branches is found: one value for all, the stack of siblings, the data or the targets of
# weights that live together, or values that have to be copied together in each run.
Way = Literal["one", "stack", "arena", "target", "gather"]


class Weights(NamedTuple):
    """Weights that a program reads and changes."""

    inputs: Sequence[Traced]  # their data, at the places of the weights
    targets: Sequence[Traced] | None  # what is changed in place
    places: Sequence[int]  # of the weights that these are


class Chosen:
    """The siblings that become one."""

    def __init__(
        self,
        calls: Sequence[Call],
        outputs: Sequence[Any],
        weights: Weights,
        kinds: Mapping[Traced, Hashable],
    ) -> None:  # Any: as above
        self.calls = calls
        self.outputs = outputs
        self.weights = weights
        self.place = {x: i for i, x in enumerate(weights.inputs)}
        self.target = dict(zip(weights.targets or (), weights.places, strict=True))
        self.arenas: dict[tuple[int, ...], int] = {}
        self._tried: dict[tuple[Siblings, tuple[Way | None, ...]], bool] = {}
        known = {**kinds, **{t: ("target", kinds[weights.inputs[i]]) for t, i in self.target.items()}}
        self.groups = [g for g in siblings(calls, known) if _possible(g)]
        for _ in range(_ROUNDS):
            left = self._paying()
            if len(left) == len(self.groups):
                return
            self.groups = left
        self.groups = []

    def _paying(self) -> list[Siblings]:
        """The groups that pay as long as all others are there."""
        self.home = {x: g for g in self.groups for x in g.results if x is not None}
        self.arenas, self._owned = {}, set[int]()
        forms: dict[Siblings, list[Way | None]] = {}
        for (
            g
        ) in self.groups:  # operands before their users: those of a group that has gone are copied together
            forms[g] = [self.form(g, column) for column in g.columns]
            if not self._may_pay(g, forms[g]):
                for call in g.calls:
                    if call.result is not None:
                        del self.home[call.result]
        self.alone = self._used_alone(forms)
        whole = self._changed_whole()
        return [g for g in self.groups if self._pays(g, forms[g]) and (not _changes(g) or g in whole)]

    def form(self, group: Siblings, column: Sequence[Any]) -> Way | None:  # Any: as in Call
        """How one argument of a call of all branches is found; None: it is not."""
        x = column[0]
        if not isinstance(x, Traced):
            return None if next(traced_in(column), None) is not None else "one"
        if all(y is x for y in column):
            return "one"
        made = self.home[x].results if x in self.home else ()
        if len(made) == len(column) and all(map(operator.is_, made, column)):
            return "stack"
        if all(y in self.place for y in column) and self._arena(tuple(self.place[y] for y in column)):
            return "arena"
        if all(y in self.target for y in column):
            return "target" if tuple(self.target[y] for y in column) in self.arenas else None
        return "gather" if _may_gather(x, group) else None

    def _arena(self, places: tuple[int, ...]) -> bool:
        """Whether the weights at these places live together; each lives in one array only."""
        if places in self.arenas:
            return True
        first = self.weights.inputs[places[0]].value
        fit = is_host_array(first) and first.ndim and len(set(places)) == len(places)
        if not fit or not self._owned.isdisjoint(places):
            return False
        self.arenas[places] = len(self.arenas)
        self._owned.update(places)
        return True

    def _used_alone(self, forms: Mapping[Siblings, Sequence[Way | None]]) -> set[Traced]:
        """The results of branches that somebody takes one by one."""
        used = set(traced_in(tuple(self.outputs)))
        for g, of in forms.items():
            for column, form in zip(g.columns, of, strict=True):
                if form != "stack":
                    used.update(traced_in(column))
        stacked = {id(call) for g in self.groups for call in g.calls}
        for call in self.calls:
            if id(call) not in stacked:
                used.update(traced_in(call.arguments))
        return used & self.home.keys()

    def _changed_whole(self) -> set[Siblings]:
        """The groups of effects on arenas that nobody changes a single row of."""
        changing = [g for g in self.groups if _changes(g)]
        together = {id(call) for g in changing for call in g.calls}
        effects = [call for call in self.calls if call.result is None]
        single = {self.target[c.arguments[0]] for c in effects if id(c) not in together}
        return {g for g in changing if all(self.target[x] not in single for x in g.columns[0])}

    def _may_pay(self, group: Siblings, forms: Sequence[Way | None]) -> bool:
        """Whether the copies that bring the operands together cost less than the calls, and the bits are the same."""
        if None in forms or all(form == "one" for form in forms):
            return False
        return self._saved(group, forms) > 0 and self._agrees(group, forms)

    def _pays(self, group: Siblings, forms: Sequence[Way | None]) -> bool:
        """Cost with that to hand out results."""
        taken = sum(x in self.alone for x in group.results)
        if not self._may_pay(group, forms) or (taken and group.calls[0].function in WHOLE):
            return False
        return self._saved(group, forms) > (_SPREAD + _EACH * taken) * bool(taken)

    def _saved(self, group: Siblings, forms: Sequence[Way | None]) -> float:
        """Microseconds."""
        count = len(group.calls)
        saved = _CALL * (count - 1)
        for column, form in zip(group.columns, forms, strict=True):
            if form == "gather":
                saved -= _GATHER + count * (_GATHERED + _ELEMENT * getattr(column[0].value, "size", 1))
        return saved

    def _agrees(self, group: Siblings, forms: Sequence[Way | None]) -> bool:
        key = group, tuple(forms)
        if key not in self._tried:
            call = group.calls[0]
            columns = [tuple(map(concrete, column)) for column in group.columns]
            options = {name: concrete(x) for name, x in call.options.items()}
            apart, copied = [form != "one" for form in forms], [form == "gather" for form in forms]
            self._tried[key] = agrees(call.function, columns, apart, copied, options, concrete(call.result))
        return self._tried[key]


def _possible(group: Siblings) -> bool:
    """Whether there is a stacked form, and small arrays to put into it."""
    call = group.calls[0]
    if call.function not in FORMS or next(traced_in(tuple(call.options.values())), None) is not None:
        return False
    if not all(_small(x) for of in group.calls for x in traced_in((*of.arguments, of.result))):
        return False
    return len({(shape_of_result(call), type_of_result(call)) for call in group.calls}) == 1


def _small(x: Traced) -> bool:
    value = x.value
    return isinstance(value, (*_NUMBERS, Generic0d)) or (has_elements(value) and value.size <= SMALL)


def shape_of_result(call: Call) -> tuple[int, ...]:
    return () if call.result is None else getattr(call.result.value, "shape", ())


def type_of_result(call: Call) -> object:
    """Class of a result; None for one that no element of an array could stand for."""
    if call.result is None:
        return call.function
    value = call.result.value
    element = isinstance(value, Generic0d) or (is_host_array(value) and value.ndim)
    return value.dtype if element else call


def _changes(group: Siblings) -> bool:
    return group.calls[0].result is None


def _may_gather(x: Traced, group: Siblings) -> bool:
    """Whether such values may be copied together: no targets, and numbers only where they become floats."""
    if isinstance(x.value, _NUMBERS) and not isinstance(x.value, Generic0d):
        return getattr(type_of_result(group.calls[0]), "kind", "") == "f"  # as beside an array
    return x.function is not None or not _changes(group)
