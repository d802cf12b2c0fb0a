"""The backward program of a launch, for one set of deltas that arrive.

Knows: which deltas outlive the launch: those of shared operands, which get memory of their own, and the sides of
products and the values of rows, which lie in the room until the run is over.
Refuses to know: how a weight uses its delta.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

from wengert.arrays import Value
from wengert.lazy import LazyDelta, Product, Term
from wengert.run.batching.keeping import Keeping, by_rows, rooted
from wengert.run.batching.listing import Listing, NotGeneral, Slot, Sparse, Step, slots_in
from wengert.run.batching.rooms import Room
from wengert.run.batching.writing import Function

Terms = list[tuple[type[Term], tuple[Any, ...]]]  # Any: as in `Sparse`


class Sending:
    """From what arrives at the results to the deltas of operands."""

    def __init__(
        self, keeping: Keeping, steps: Sequence[Step], listing: Listing, shared: Sequence[bool]
    ) -> None:
        self._keeping = keeping
        self._steps = list(steps)
        self._made = {step.result: step for step in steps}
        self._keys: dict[Slot, object] = {}
        self._check()
        sides: list[tuple[int, Slot, Slot]] = []
        self._deltas = [
            self._lasting(self._without_products(i, x, sides) if isinstance(x, Sparse) else x, one)
            for i, (x, one) in enumerate(zip(listing.deltas, shared, strict=True))
        ]
        for step in self._steps:
            if not step.pure:  # it may have kept what it was given
                self._last(step.arguments)
        wanted = [s for x in self._deltas for s in slots_in(x)] + [s for _, *pair in sides for s in pair]
        self._wanted = list(dict.fromkeys(wanted))
        at = {x: i for i, x in enumerate(self._wanted)}
        # of operands: the number of a value, None, or what is made of values
        self._made_of = [at[x] if isinstance(x, Slot) else x for x in self._deltas]
        present = [x for x in listing.arriving if x is not None]
        self.function = Function([*keeping.kept, *present], self._steps, (), self._wanted, self._keys)
        self.joined = [(i, self._key(a), self._key(b)) for i, a, b in sides]

    def _check(self) -> None:
        known = set(self._keeping.kept)
        for step in self._steps:
            if any(x in self._keeping.made and x not in known for x in slots_in(step.arguments)):
                raise NotGeneral("backward needs what forward does not keep")

    def run(
        self, rows: int, room: Room, start: int, kept: Sequence[Value], arrived: Sequence[Value]
    ) -> list[Value | LazyDelta | None]:
        """The deltas of operands, without the products that the room joins."""
        frame = room.frame(self.function, start, rows)
        values = self.function.run(rows, *kept, *arrived, *frame)
        for operand, left, right in self.joined:
            room.note(operand, left, right, start, rows)
        return [values[x] if type(x) is int else self._sent(x, values) for x in self._made_of]

    def _sent(self, x: Any, values: tuple[Value, ...]) -> Any:  # Any: as in `Listing`, and deltas
        return None if x is None else _given(x, dict(zip(self._wanted, values, strict=True)))

    # -- what outlives a launch -------------------------------------------------------------------------

    def _without_products(
        self, index: int, delta: Sparse, sides: list[tuple[int, Slot, Slot]]
    ) -> Sparse | None:
        rest: Terms = []
        for cls, parts in delta.terms:
            if cls is Product and by_rows(*parts):
                at = index, len(sides)
                left, right = (self._home(x, (*at, side, x.dims, x.dtype)) for side, x in enumerate(parts))
                sides.append((index, left, right))
            else:
                rest.append((cls, parts))
        return Sparse(rest, delta.rest) if rest or delta.rest is not None else None

    def _home(self, x: Slot, key: object) -> Slot:
        """Where one side of a product lies."""
        if x in self._keeping.made:
            return x
        if not rooted(self._made.get(x)):
            x = self._copied(x, True)
        self._keys.setdefault(x, key)
        return x

    def _lasting(self, delta: Any, shared: bool) -> Any:  # Any: as in `Listing`
        if isinstance(delta, Sparse):
            self._last(delta)
        elif shared and isinstance(delta, Slot) and delta.dims is not None:
            return self._copied(delta, False)
        return delta

    def _last(self, x: object) -> None:
        for slot in slots_in(x):
            if slot not in self._keeping.made:
                self._keys.setdefault(slot, object())

    def _copied(self, x: Slot, placed: bool) -> Slot:
        copy = Slot(x.dims, x.dtype, placed)
        self._steps.append(Step(operator.pos, (x,), {}, copy, True))
        return copy

    def _key(self, x: Slot) -> object:
        at = self.function.place.get(x)
        return self._keeping.key(x) if at is None else self.function.buffers[at].key


def _given(x: Any, found: Mapping[Slot, Value]) -> Any:  # Any: as in `Listing`, and deltas
    """A delta with the values of this launch."""
    if isinstance(x, Slot):
        return found[x]
    if isinstance(x, Sparse):
        terms = [cls(*_given(parts, found)) for cls, parts in x.terms]
        return LazyDelta(terms, 1.0, _given(x.rest, found))
    if isinstance(x, slice):
        return slice(*_given((x.start, x.stop, x.step), found))
    return tuple(_given(item, found) for item in x) if isinstance(x, tuple) else x
