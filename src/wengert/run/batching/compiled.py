"""A launch as programs for any number of rows: forward, and backward for each set of deltas that arrive.

Knows: which program serves which launch, and what passes from forward to backward.
Refuses to know: batching rules, and when a program is worth making.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wengert.arrays import Value
from wengert.arrays.kernels import new_buffer
from wengert.graph.kinds import Column
from wengert.graph.operation import Signature
from wengert.lazy import LazyDelta
from wengert.run.batching.assembling import assembled
from wengert.run.batching.general import listing_of
from wengert.run.batching.keeping import Keeping
from wengert.run.batching.listing import NotGeneral, Slot, Sparse, Step
from wengert.run.batching.rooms import Room, shape_for
from wengert.run.batching.sending import Sending

Pattern = tuple[bool, ...]  # which results a delta arrives at


@dataclass(slots=True, eq=False)
class Kept:
    """What one launch has left for backward."""

    room: Room
    own: bool  # the room is for this launch alone
    start: int
    values: tuple[Value, ...]


class Compiled:
    """The programs of one signature."""

    def __init__(self, signature: Signature, shared: tuple[bool, ...], pattern: Pattern) -> None:
        self._signature = signature
        self._shared = shared
        self._listing = listing = listing_of(signature, shared, pattern)
        if not all(isinstance(x, Slot) and x.dims for x in listing.results):
            raise NotGeneral("a result is no array of rows")
        backward = assembled(listing.backward, listing.deltas)
        self._keeping = Keeping(listing, backward)
        self._sending = {pattern: Sending(self._keeping, backward, listing, shared)}
        self._forms = [(x.dims, x.dtype) for x in listing.results]
        homes = self._keeping.homes
        self._brought = [(self._keeping.kept.index(x), home) for x, home in homes.items()]
        self._homes = [(listing.inputs.index(x), homes[x]) for x in homes if x in listing.inputs]
        self._numbers = [  # given as doubles, which take on the dtype of what they meet
            (i, x.dtype)
            for i, (x, k) in enumerate(zip(listing.inputs, signature.kinds, strict=True))
            if k.column is Column.NUMBER and x.dims is not None
        ]

    def forward(
        self,
        rows: int,
        operands: Sequence[Value],
        out: Sequence[Value | None] | None,
        room: Room | None,
        keep: bool,
    ) -> tuple[tuple[Value, ...], Kept | None]:
        """The results, and what backward needs."""
        if self._numbers:
            operands = list(operands)
            for i, dtype in self._numbers:
                operands[i] = operands[i].astype(dtype, copy=False)
        given = out or (None,) * len(self._forms)
        results = tuple(
            new_buffer(shape_for(dims, rows), dtype) if x is None else x
            for x, (dims, dtype) in zip(given, self._forms, strict=True)
        )
        own = room is None
        if room is None:
            room = Room(rows)
        if not keep:
            function = self._keeping.predict
            function.run(rows, *operands, *results, *room.frame(function, 0, rows))
            return results, None
        function, start = self._keeping.train, room.claim(rows)
        values = function.run(rows, *operands, *results, *room.frame(function, start, rows))
        for at, home in self._brought:
            room.bring(home, values[at], start, rows)
        return results, Kept(room, own, start, values)

    def homes(self, rows: int, room: Room) -> dict[int, Value]:
        """As `Launch.homes`."""
        return {i: room.part(home, room.used, rows) for i, home in self._homes}

    def backward(
        self, rows: int, kept: Kept, deltas: Sequence[Value | None]
    ) -> list[Value | LazyDelta | None]:
        """The deltas of operands; what the room joins is left to it, unless it is for this launch alone."""
        pattern = tuple(x is not None for x in deltas)
        sending = self._sending.get(pattern) or self._other(pattern)
        arrived = [x for x in deltas if x is not None]
        sent = sending.run(rows, kept.room, kept.start, kept.values, arrived)
        if kept.own and sending.joined:
            for i, delta in enumerate(kept.room.deltas(len(sent))):
                if delta is not None:
                    sent[i] = delta if sent[i] is None else sent[i] + delta
        return sent

    def _other(self, pattern: Pattern) -> Sending:
        """The program for another set of deltas, on what forward keeps for all of them."""
        listing = listing_of(self._signature, self._shared, pattern)
        same = dict(zip(listing.inputs, self._listing.inputs, strict=True))
        same |= {a.result: b.result for a, b in zip(listing.forward, self._listing.forward, strict=True)}
        backward = [
            Step(s.function, _mapped(s.arguments, same), s.options, s.result, s.pure)
            for s in assembled(listing.backward, listing.deltas)
        ]
        listing.deltas = [_mapped(x, same) for x in listing.deltas]
        found = self._sending[pattern] = Sending(self._keeping, backward, listing, self._shared)
        return found


def _mapped(x: Any, same: Mapping[Slot, Slot]) -> Any:  # Any: arguments and deltas
    if isinstance(x, Slot):
        return same.get(x, x)
    if isinstance(x, Sparse):
        return Sparse([(cls, _mapped(parts, same)) for cls, parts in x.terms], _mapped(x.rest, same))
    if isinstance(x, slice):
        return slice(*_mapped((x.start, x.stop, x.step), same))
    return tuple(_mapped(item, same) for item in x) if isinstance(x, tuple) else x
