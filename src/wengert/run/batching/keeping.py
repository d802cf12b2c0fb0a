"""The forward programs of a launch: one that leaves what backward needs, and one that leaves nothing.

Knows: which values backward reads, and that what is one side of a weight's product lies where the rows of all
launches follow each other; whoever runs the program brings there what the program does not put there itself.
Refuses to know: deltas.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from wengert.lazy import Product
from wengert.run.batching.assembling import Pieces
from wengert.run.batching.listing import Listing, Slot, Sparse, Step, of_rows, slots_in
from wengert.run.batching.placing import Buffer, can_be_placed
from wengert.run.batching.writing import Function


class Keeping:
    """Forward, and what of it is kept: `kept`, in that order."""

    def __init__(self, listing: Listing, backward: Sequence[Step]) -> None:
        self.listing = listing
        self.steps = list(listing.forward)
        self.made = {*listing.inputs, *(step.result for step in self.steps)}
        used = [s for step in backward for s in slots_in(step.arguments)]
        used += [s for x in listing.deltas for s in slots_in(x)]
        self.kept = [x for x in dict.fromkeys(used) if x in self.made]
        keys: dict[Slot, object] = {x: ("kept", i) for i, x in enumerate(self.kept)}
        self.train = Function(listing.inputs, self.steps, listing.results, self.kept, keys)
        sides = dict.fromkeys(s for pair in products(listing) for s in pair)
        apart = [x for x in sides if x in self.made and x not in self.train.place]
        # Of what is to be brought; keys of their own, as what such a value is a view of may have its key in `train`.
        self.homes = {x: Buffer(x.dims or (), x.dtype, ("side", i)) for i, x in enumerate(apart)}

    @cached_property
    def predict(self) -> Function:
        """The one that leaves nothing: written when asked for, as text takes half of the time that a launch takes."""
        return Function(self.listing.inputs, self.steps, self.listing.results, (), {})

    def key(self, x: Slot) -> object:
        """What the place of a side is known by."""
        home = self.homes.get(x)
        return self.train.buffers[self.train.place[x]].key if home is None else home.key


def products(listing: Listing) -> list[tuple[Slot, Slot]]:
    """Both sides of each product that is a delta, and has lines for each row."""
    sparse = [x for x in listing.deltas if isinstance(x, Sparse)]
    pairs = [(parts[0], parts[1]) for x in sparse for cls, parts in x.terms if cls is Product]
    return [pair for pair in pairs if by_rows(*pair)]


def by_rows(left: Slot, right: Slot) -> bool:
    """Whether both sides of a product have lines for each row, as many."""
    if not left.dims or not right.dims:
        return False
    times = of_rows(left.dims)
    return times is not None and times == of_rows(right.dims)


def rooted(step: Step | None) -> bool:
    """Whether a step writes its result into a buffer of its own."""
    return step is not None and (isinstance(step.function, Pieces) or can_be_placed(step))
