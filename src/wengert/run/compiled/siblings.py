"""Calls that do the same thing to other values: where a program repeats itself.

Knows: that calls of one function whose operands were made in the same way, from inputs of the same kind, are
siblings. They are as deep as each other, so none depends on another, and siblings can become one call without
a cycle, whatever else becomes one.
Refuses to know: what such a call is, and whether it pays.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from wengert.arrays import Generic0d, is_array, is_host_array
from wengert.arrays.agreement import bits_of
from wengert.run.compiled.tracing import Call, Traced, traced_in

_SHORT = 65_536  # bytes of a constant that are compared
LEAST = 6  # siblings: fewer are not worth the calls that bring their values together


class Siblings:
    """Calls that may become one, in the order of their branches."""

    def __init__(self, calls: Sequence[Call], last: int) -> None:
        self.calls = calls
        self.last = last  # where the last of them stands in the program
        self.columns: list[tuple[Any, ...]] = list(
            zip(*(c.arguments for c in calls), strict=True)
        )  # Any: as in Call

    @property
    def results(self) -> tuple[Traced | None, ...]:
        """Of all branches."""
        return tuple(call.result for call in self.calls)


def siblings(calls: Sequence[Call], inputs: Mapping[Traced, Hashable]) -> list[Siblings]:
    """All siblings, operands before their users; `inputs` has the kind of each input.

    Branches stand in the same order wherever they meet. It is the reverse of the program's where nothing else
    says: deltas are added up on the way back.
    """
    places = _Places()
    return [Siblings(places.ordered(found), last) for last, found in _alike(calls, inputs)]


def _alike(calls: Sequence[Call], inputs: Mapping[Traced, Hashable]) -> list[tuple[int, list[Call]]]:
    """Siblings, each with the place of the last of them."""
    classes = _classes(calls, inputs)
    sizes = Counter(classes)
    known: dict[Hashable, int] = {}
    users: dict[Traced, set[tuple[int, int]]] = {}
    found: dict[int, list[tuple[int, Call]]] = {}
    for at in range(len(calls) - 1, -1, -1):
        call, of = calls[at], classes[at]
        if sizes[of] < LEAST:
            continue
        # made alike, and used alike by those who may be siblings themselves
        mine = known.setdefault((of, _used(call.result, users)), len(known))
        for i, x in enumerate(call.arguments):
            for y in traced_in(x):
                users.setdefault(y, set()).add((mine, i))
        found.setdefault(mine, []).append((at, call))
    many = [
        (group[0][0], [call for _, call in group[::-1]]) for group in found.values() if len(group) >= LEAST
    ]
    return sorted(many, key=lambda pair: pair[0])


def _used(x: Traced | None, users: Mapping[Traced, set[tuple[int, int]]]) -> frozenset[tuple[int, int]]:
    return frozenset() if x is None else frozenset(users.get(x, ()))


def _classes(calls: Sequence[Call], inputs: Mapping[Traced, Hashable]) -> list[int]:
    """Of each call the number of those that are made like it."""
    classes: dict[Traced, int] = {}
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
        if call.result is not None:
            classes[call.result] = mine
        found.append(mine)
    return found


def _kind(x: Any, classes: dict[Traced, int]) -> Hashable:  # Any: as in Call
    """Key that has to be equal in two siblings: the class of a value, or a constant itself."""
    if isinstance(x, Traced):
        return Traced, classes.get(x)
    if isinstance(x, tuple):
        return tuple(_kind(item, classes) for item in x)
    return known_by(x)


def known_by(x: Any) -> Hashable:  # Any: as in Call
    """Key of the constants that may stand for each other, as long as both live."""
    if is_array(x):
        return bits_of(x) if x.nbytes <= _SHORT and is_host_array(x) else (type(x), id(x))
    return type(x), repr(x) if isinstance(x, (float, Generic0d)) else x  # 0.0 and -0.0 are two


class _Places:
    """Place of each branch among its siblings."""

    def __init__(self) -> None:
        self._at: dict[Traced, tuple[int, int]] = {}  # the number of the siblings, and the place in them
        self._count = 0

    def ordered(self, calls: Sequence[Call]) -> list[Call]:
        """The calls in the order of their operands' branches."""
        self._count += 1
        columns = list(zip(*(c.arguments for c in calls), strict=True))
        order = next(filter(None, map(self._order, columns)), range(len(calls) - 1, -1, -1))
        made = [calls[i] for i in order]
        for place, call in enumerate(made):
            for x in (*traced_in(call.arguments), call.result):
                if x is not None:
                    self._at.setdefault(x, (self._count, place))
        return made

    def _order(self, column: Sequence[Any]) -> Sequence[int] | None:  # Any: as in Call
        """Which branch comes when, as far as one argument tells; None if it does not."""
        at = [self._at.get(x) if isinstance(x, Traced) else None for x in column]
        places = [place for place in at if place is not None]
        if (
            len(places) < len(at)
            or len({number for number, _ in places}) > 1
            or len(set(places)) < len(places)
        ):
            return None
        return sorted(range(len(at)), key=lambda i: places[i])
