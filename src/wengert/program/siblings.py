"""Equations that do the same to other values, as one: a stacked call in place of the calls of each branch.

Knows: that equations of one function whose operands were made in the same way, from inputs of the same kind, are
siblings: they are as deep as each other, so none depends on another, and they can become one without a cycle, whatever
else becomes one; what a call, a copy and a view cost; that weights which are met together can live in one array (an
arena); that each stack has to hold the bits of the single results, which one evaluation shows.
Refuses to know: what the functions compute, and where the data of weights are kept.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property
from math import prod
from operator import itemgetter
from typing import Any, Final, Literal, NamedTuple

from wengert.arrays import Generic0d, all_quiet, is_array, is_host_array
from wengert.arrays.abstract import Aval, sizes_for
from wengert.arrays.agreement import agrees, bits_of, same_bits
from wengert.arrays.stacked import FORMS, WHOLE, Case, Operand, branch, gathered, rows_of
from wengert.program.build import Builder, Tracer
from wengert.program.program import Argument, Eqn, Program, Values, Var, assign, in_order, now, vars_in

_SHORT = 65_536  # bytes of a constant that are compared
LEAST = 6  # siblings: fewer are not worth the calls that bring their values together
_SMALL: Final = 8192  # elements
_ROUNDS: Final = 50  # until no group goes any more
# microseconds, as numpy takes them: to call a function, to bring values together, to hand them out
_CALL: Final = 0.6
_GATHER, _GATHERED = 1.5, 0.15
_ELEMENT: Final = 1e-4
_SPREAD, _EACH = 0.1, 0.12
# of the calls that may be left: where more are, stacks cost as much as they save (0.9 to 1.1 of the time)
_WORTH: Final = 0.8


class Siblings:
    """Calls that may become one, in the order of their branches."""

    def __init__(self, calls: Sequence[Eqn], last: int) -> None:
        self.calls = calls
        self.last = last  # where the last of them stands in the program
        # Any: as in Argument
        self.columns: list[tuple[Any, ...]] = list(zip(*(c.arguments for c in calls), strict=True))

    @property
    def results(self) -> tuple[Var, ...]:
        """Of all branches."""
        return tuple(call.result for call in self.calls)


def siblings(calls: Sequence[Eqn], inputs: Mapping[Var, Hashable]) -> list[Siblings]:
    """All siblings, operands before their users; `inputs` has the kind of each input.

    Branches stand in the same order wherever they meet. It is the reverse of the program's where nothing else
    says: deltas are added up on the way back.
    """
    places = _Places()
    return [Siblings(places.ordered(found), last) for last, found in _alike(calls, inputs)]


def _alike(calls: Sequence[Eqn], inputs: Mapping[Var, Hashable]) -> list[tuple[int, list[Eqn]]]:
    """Siblings, each with the place of the last of them."""
    classes = _classes(calls, inputs)
    sizes = Counter(classes)
    known: dict[Hashable, int] = {}
    users: dict[Var, set[tuple[int, int]]] = {}
    found: dict[int, list[tuple[int, Eqn]]] = {}
    for at in range(len(calls) - 1, -1, -1):
        call, of = calls[at], classes[at]
        if sizes[of] < LEAST:
            continue
        # made alike, and used alike by those who may be siblings themselves
        mine = known.setdefault((of, frozenset(users.get(call.result, ()))), len(known))
        for i, x in enumerate(call.arguments):
            for y in vars_in(x):
                users.setdefault(y, set()).add((mine, i))
        found.setdefault(mine, []).append((at, call))
    many = [
        (group[0][0], [call for _, call in group[::-1]]) for group in found.values() if len(group) >= LEAST
    ]
    return sorted(many, key=lambda pair: pair[0])


def _classes(calls: Sequence[Eqn], inputs: Mapping[Var, Hashable]) -> list[int]:
    """Of each call the number of those that are made like it."""
    classes: dict[Var, int] = {}
    known: dict[Hashable, int] = {}
    for x, what in inputs.items():
        classes[x] = known.setdefault(what, len(known))
    found = []
    for call in calls:
        options = tuple((name, _kind(x, classes)) for name, x in call.options.items())
        key: Hashable = (call.function, tuple(_kind(x, classes) for x in call.arguments), options)
        try:
            mine = known.setdefault(key, len(known))
        except TypeError:  # a constant that has no hash
            mine = known.setdefault(id(call), len(known))
        classes[call.result] = mine
        found.append(mine)
    return found


def _kind(x: Any, classes: dict[Var, int]) -> Hashable:  # Any: as in Argument
    """Key that has to be equal in two siblings: the class of a value, or a constant itself."""
    if isinstance(x, Var):
        return Var, classes.get(x)
    if isinstance(x, tuple):
        return tuple(_kind(item, classes) for item in x)
    return known_by(x)


def known_by(x: Any) -> Hashable:  # Any: as in Argument
    """Key of the constants that may stand for each other, as long as both live."""
    if is_array(x):
        return bits_of(x) if x.nbytes <= _SHORT and is_host_array(x) else (type(x), id(x))
    return type(x), repr(x) if isinstance(x, (float, Generic0d)) else x  # 0.0 and -0.0 are two


class _Places:
    """Place of each branch among its siblings."""

    def __init__(self) -> None:
        self._at: dict[Var, tuple[int, int]] = {}  # the number of the siblings, and the place in them
        self._count = 0

    def ordered(self, calls: Sequence[Eqn]) -> list[Eqn]:
        """The calls in the order of their operands' branches."""
        self._count += 1
        columns = list(zip(*(c.arguments for c in calls), strict=True))
        order = next(filter(None, map(self._order, columns)), range(len(calls) - 1, -1, -1))
        made = [calls[i] for i in order]
        for place, call in enumerate(made):
            for x in (*call.reads, call.result):
                self._at.setdefault(x, (self._count, place))
        return made

    def _order(self, column: Sequence[Any]) -> Sequence[int] | None:  # Any: as in Argument
        """Which branch comes when, as far as one argument tells; None if it does not."""
        at = [self._at.get(x) if isinstance(x, Var) else None for x in column]
        places = [place for place in at if place is not None]
        if (
            len(places) < len(at)
            or len({number for number, _ in places}) > 1
            or len(set(places)) < len(places)
        ):
            return None
        return sorted(range(len(at)), key=lambda i: places[i])


# How one argument of all branches is found: one value for all, the stack of siblings, the data or the targets of
# weights that live together, or values that have to be copied together in each run.
Way = Literal["one", "stack", "arena", "target", "gather"]


class Weights(NamedTuple):
    """Weights that a program reads and changes."""

    inputs: Sequence[Var]  # their data, at the places of the weights
    places: Sequence[int]  # of the weights that the program's targets are


class Chosen:
    """The siblings that become one. `data` gives values of the program's inputs, should they be asked for."""

    def __init__(
        self,
        p: Program,
        weights: Weights,
        kinds: Mapping[Var, Hashable],
        data: Callable[[], Sequence[Any]],  # Any: of every type
    ) -> None:
        self.program = p
        self.calls = [*p.eqns, *p.effects]
        self.weights = weights
        self.place = {x: i for i, x in enumerate(weights.inputs)}
        self.target = dict(zip(p.targets or (), weights.places, strict=True))
        self.arenas: dict[tuple[int, ...], int] = {}
        self._made = {e.result for e in p.eqns}
        self._data = data
        self._tried: dict[tuple[Siblings, tuple[Way | None, ...]], bool] = {}
        known = {**kinds, **{t: ("target", kinds[weights.inputs[i]]) for t, i in self.target.items()}}
        self.groups = [g for g in siblings(self.calls, known) if _possible(g)]
        for _ in range(_ROUNDS):
            left = self._paying()
            if len(left) == len(self.groups):
                return
            self.groups = left
        self.groups = []

    @cached_property
    def values(self) -> Values:
        """The values that siblings have in one evaluation."""
        p, data = self.program, self._data()
        values = dict(zip(p.inputs, data, strict=True))
        wanted = {x for g in self.groups for e in g.calls for x in (*e.reads, e.result)}
        assign(p.eqns, values, (*wanted, *p.inputs))
        return values | {t: data[i] for t, i in self.target.items()}

    def _paying(self) -> list[Siblings]:
        """The groups that pay as long as all others are there."""
        self.home = {x: g for g in self.groups for x in g.results}
        self.arenas, self._owned = {}, set[int]()
        forms: dict[Siblings, list[Way | None]] = {}
        for g in self.groups:  # operands before users: those of a group that has gone are copied together
            forms[g] = [self.form(g, column) for column in g.columns]
            if not self._may_pay(g, forms[g]):
                for call in g.calls:
                    del self.home[call.result]
        self.alone = self._used_alone(forms)
        whole = self._changed_whole()
        return [g for g in self.groups if self._pays(g, forms[g]) and (not _changes(g) or g in whole)]

    def form(self, group: Siblings, column: Sequence[Any]) -> Way | None:  # Any: as in Argument
        """How one argument of a call of all branches is found; None: it is not."""
        x = column[0]
        if not isinstance(x, Var):
            return None if next(vars_in(column), None) is not None else "one"
        if all(y is x for y in column):
            return "one"
        made = self.home[x].results if x in self.home else ()
        if len(made) == len(column) and all(map(operator.is_, made, column)):
            return "stack"
        if all(y in self.place for y in column) and self._arena(tuple(self.place[y] for y in column)):
            return "arena"
        if all(y in self.target for y in column):
            return "target" if tuple(self.target[y] for y in column) in self.arenas else None
        if x.aval.form == "number":  # only where numbers become floats, as beside an array
            return "gather" if getattr(type_of_result(group.calls[0]), "kind", "") == "f" else None
        return "gather" if x in self._made or not _changes(group) else None  # targets cannot be copied

    def _arena(self, places: tuple[int, ...]) -> bool:
        """True if the weights at these places live together; each lives in one array only."""
        if places in self.arenas:
            return True
        first = self.weights.inputs[places[0]].aval
        fit = first.form == "array" and len(set(places)) == len(places)
        if not fit or not self._owned.isdisjoint(places):
            return False
        self.arenas[places] = len(self.arenas)
        self._owned.update(places)
        return True

    def _used_alone(self, forms: Mapping[Siblings, Sequence[Way | None]]) -> set[Var]:
        """The results of branches that somebody takes one by one."""
        used = set(vars_in(tuple(self.program.outputs)))
        for g, of in forms.items():
            for column, form in zip(g.columns, of, strict=True):
                if form != "stack":
                    used.update(vars_in(column))
        stacked = {id(call) for g in self.groups for call in g.calls}
        for call in self.calls:
            if id(call) not in stacked:
                used.update(call.reads)
        return used & self.home.keys()

    def _changed_whole(self) -> set[Siblings]:
        """The groups of effects on arenas that nobody changes a single row of."""
        changing = [g for g in self.groups if _changes(g)]
        together = {id(call) for g in changing for call in g.calls}
        single = {self.target[e.arguments[0]] for e in self.program.effects if id(e) not in together}
        return {g for g in changing if all(self.target[x] not in single for x in g.columns[0])}

    def _may_pay(self, group: Siblings, forms: Sequence[Way | None]) -> bool:
        """True if the copies that bring the operands together cost less than the calls, and the bits are the same."""
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
                saved -= _GATHER + count * (_GATHERED + _ELEMENT * _size(column[0]))
        return saved

    def _agrees(self, group: Siblings, forms: Sequence[Way | None]) -> bool:
        key = group, tuple(forms)
        if key not in self._tried:
            call = group.calls[0]
            columns = [tuple(now(x, self.values) for x in column) for column in group.columns]
            apart, copied = [form != "one" for form in forms], [form == "gather" for form in forms]
            like = columns[0][0] if call.effect else self.values[call.result]
            self._tried[key] = agrees(call.function, columns, apart, copied, call.options, like)
        return self._tried[key]


def _possible(group: Siblings) -> bool:
    """True if there is a stacked form, and small arrays to put into it."""
    call = group.calls[0]
    if call.function not in FORMS or next(vars_in(tuple(call.options.values())), None) is not None:
        return False
    results = () if call.effect else group.results
    if not all(map(_is_small, (*(x for of in group.calls for x in of.reads), *results))):
        return False
    return len({(call.result.shape, type_of_result(call)) for call in group.calls}) == 1


def _is_small(x: Var) -> bool:
    return x.aval.form in ("number", "scalar") or (x.aval.form == "array" and _size(x) <= _SMALL)


def _size(x: Var) -> int:
    return prod(n for n in x.shape if isinstance(n, int))


def type_of_result(call: Eqn) -> object:
    """Class of a result; of one that no element of an array could stand for the equation itself."""
    if call.effect:
        return call.function
    return call.result.dtype if call.result.aval.form in ("scalar", "array") else call


def _changes(group: Siblings) -> bool:
    return group.calls[0].effect


class Stacked(NamedTuple):
    """A program with stacked calls, and what it needs besides the inputs of the one without."""

    program: Program  # its inputs end with the arenas; its targets are those that are left, then the changed arenas
    arenas: list[tuple[int, ...]]  # of each, the places of the weights whose data are its rows
    changed: list[int]  # the arenas that are changed as a whole
    kept: list[int]  # of the targets those that are changed by themselves


def stacked(
    p: Program, weights: Weights, kinds: Mapping[Var, Hashable], data: Callable[[], Sequence[Any]]
) -> Stacked | None:  # Any: as in `Chosen`
    """A program with its siblings as one; None where there are none that pay.

    `kinds` says of each input which others it may stand in one array with.
    """
    if any(e.opaque for e in p.eqns):
        return None  # it may change what it is given: the order has to stay
    with all_quiet():
        chosen = Chosen(p, weights, kinds, data)
        return _Stacking(chosen).written() if chosen.groups else None


class _Stacking:
    """The equations of a program, the chosen ones stacked."""

    def __init__(self, chosen: Chosen) -> None:
        self.chosen = chosen
        self.builder = Builder()
        self.arenas = {places: self._arena(places) for places in chosen.arenas}
        self.targets: dict[tuple[int, ...], Tracer] = {}
        self.stacks: dict[Siblings, Tracer] = {}

    def _arena(self, places: tuple[int, ...]) -> Tracer:
        first = self.chosen.weights.inputs[places[0]].aval
        return self.builder.input(Aval((len(places), *first.shape), first.dtype))

    def written(self) -> Stacked | None:
        """The program; None if a stack holds other bits than the branches of one evaluation."""
        chosen, p = self.chosen, self.chosen.program
        units = [(g.last, self._stacked(g)) for g in chosen.groups]
        if not self._right():
            return None
        together = {id(call) for g in chosen.groups for call in g.calls}
        units += [(at, [call]) for at, call in enumerate(chosen.calls) if id(call) not in together]
        eqns = _in_order(units)
        if len(eqns) > _WORTH * len(chosen.calls):
            return None
        arenas = list(self.arenas)
        rows = {place for places in self.targets for place in places}
        kept = [i for i, place in enumerate(chosen.weights.places) if place not in rows]
        targets = None
        if p.targets is not None:
            targets = [*(p.targets[i] for i in kept), *(x.var for x in self.targets.values())]
        made = Program(
            [*p.inputs, *(x.var for x in self.arenas.values())],
            [e for e in eqns if not e.effect],
            p.outputs,
            targets=targets,
            effects=[e for e in eqns if e.effect],
            before={**p.before, **{x.var: self.arenas[places].var for places, x in self.targets.items()}},
            apart=p.apart,
        )
        return Stacked(made, arenas, [arenas.index(places) for places in self.targets], kept)

    def _stacked(self, group: Siblings) -> list[Eqn]:
        """One call for all branches, those that bring its operands together, and those that hand out results."""
        builder, call = self.builder, group.calls[0]
        begin, effects = len(builder.eqns), len(builder.effects)
        builder.source = call.source
        operands = [self._operand(group, column) for column in group.columns]
        shape = sizes_for(call.result.shape, 0)
        case = Case(call.function, operands, call.options, shape, len(group.calls))
        emit = builder.effect if call.effect else builder.call
        result = FORMS[call.function](emit, case)
        made = [*builder.eqns[begin:], *builder.effects[effects:]]
        if isinstance(result, Tracer):
            self.stacks[group] = result
            made += [
                Eqn(branch, (result.var, i), {}, x, source=call.source)
                for i, x in enumerate(group.results)
                if x in self.chosen.alone
            ]
        return made

    def _operand(self, group: Siblings, column: Sequence[Argument]) -> Operand:
        x, form = column[0], self.chosen.form(group, column)
        rank = len(getattr(x, "shape", ()))
        if form == "one":
            return Operand(self.builder.tracer(x), rank, False)
        if form == "stack":
            return Operand(self.stacks[self.chosen.home[x]], rank, True)
        if form == "arena":
            return Operand(self.arenas[tuple(self.chosen.place[y] for y in column)], rank, True)
        if form == "target":
            places = tuple(self.chosen.target[y] for y in column)
            if places not in self.targets:
                self.targets[places] = self.builder.input(self.arenas[places].var.aval)
            return Operand(self.targets[places], rank, True)
        dtype = type_of_result(group.calls[0]) if x.aval.form == "number" else x.dtype
        return Operand(self.builder.call(gathered, dtype, *map(self.builder.tracer, column)), rank, True)

    def _right(self) -> bool:
        """True if the stacks hold what the branches give in one evaluation."""
        chosen = self.chosen
        compared = {g: x.var for g, x in self.stacks.items() if g.calls[0].function not in WHOLE}
        values = {**chosen.values}
        for places, x in self.arenas.items():
            values[x.var] = rows_of([values[chosen.weights.inputs[i]] for i in places])
        assign(self.builder.eqns, values, (*compared.values(), *chosen.values))
        return all(
            same_bits(x, values[y])
            for g, stack in compared.items()
            for x, y in zip(values[stack], g.results, strict=True)
        )


def _in_order(units: Sequence[tuple[int, Sequence[Eqn]]]) -> list[Eqn]:
    """All calls after those whose results they take, else as in the program; effects last.

    There is no circle, as siblings are as deep as each other.
    """
    maker = {call.result: i for i, (_, calls) in enumerate(units) for call in calls}
    waits = {
        i: {maker[x] for call in calls for x in call.reads if x in maker} - {i}
        for i, (_, calls) in enumerate(units)
    }
    ordered = in_order(waits, {i: at for i, (at, _) in enumerate(units)})
    pure = [call for i in ordered for call in units[i][1] if not call.effect]
    effects = sorted(units, key=itemgetter(0))
    return [*pure, *(call for _, calls in effects for call in calls if call.effect)]
