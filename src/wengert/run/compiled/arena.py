"""Weights that live side by side: their data are the rows of one array, so that a stacked call needs no copy.

Knows: how the data of weights move into an array, that others may put new data in a weight's place at any time,
and when rows may be changed in place (S6, S10). Nobody is ever given a view of a row (S11: see `store.exposed`).
Refuses to know: which weights belong together, and what is done to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_, itemgetter

from wengert.arrays import Value
from wengert.arrays.changes import Change, carry_out
from wengert.arrays.stacked import rows_of
from wengert.graph.store import STORE, Arena, Ref


class Home:
    """Arena in which a plan wants some weights to live; it tells them by their places among all of its weights."""

    def __init__(self, places: tuple[int, ...]) -> None:
        self._of = itemgetter(*places)
        self._first = places[0]

    def arena(self, cells: Sequence[Ref]) -> Arena | None:
        """The array in which the first of them lives."""
        return cells[self._first].arena

    def data(self, cells: Sequence[Ref], data: Sequence[Value], snapshot: int) -> Value:
        """The data of a snapshot as one array, in which they live from now on if they are the present ones."""
        arena = self.arena(cells)
        if arena is not None and _holds(arena, self._of(data)):
            return arena.data
        with STORE.lock:
            mine: tuple[Ref, ...] = self._of(cells)
            made = rows_of([cell.at(snapshot) for cell in mine])
            if all(cell.version <= snapshot for cell in mine):
                carry_out([*_moved(mine, Arena(made)), (setattr, STORE, "moved", STORE.moved + 1)])
            else:
                STORE.moved += 1  # they live where they may: `target` has to look
        return made

    def target(self, cells: Sequence[Ref], alone: bool, moved: int) -> Arena:
        """An arena with the data to be changed in place: their own where nobody else sees them.

        `moved` is what `Store.moved` was before the data were read; the store's lock is held.
        """
        arena = self.arena(cells) if alone else None
        if arena is not None and STORE.moved == moved:
            return arena
        present = [cell.data for cell in self._of(cells)]
        return arena if arena is not None and _holds(arena, present) else Arena(rows_of(present))

    def beside(self, cells: Sequence[Ref], arena: Arena) -> list[tuple[Ref, Value]]:
        """The new data of each weight, where the target is not their own array."""
        if self.arena(cells) is arena:
            return []
        return list(zip(self._of(cells), arena.rows, strict=True))

    def kept(self, cells: Sequence[Ref], arena: Arena, alone: bool) -> list[Change]:
        """Changes that make the target the array where they live, after its change; the store's lock is held.

        What was changed in place has no new version: nobody has a snapshot from before.
        """
        if self.arena(cells) is not arena:
            return _moved(self._of(cells), arena)
        if not (arena.fresh and alone):
            return []
        return [
            (setattr, arena, "fresh", False),
            *((setattr, cell, "history", []) for cell in self._of(cells)),
        ]


def _holds(arena: Arena, data: Sequence[Value]) -> bool:
    """Whether the data are the rows of the arena, all and in this order."""
    return len(arena.rows) == len(data) and all(map(is_, data, arena.rows))


def _moved(cells: Sequence[Ref], arena: Arena) -> list[Change]:
    """Changes that make the rows of an arena the data of weights; whoever sees the old buffers: they change no more."""
    found: list[Change] = []
    for cell, row in zip(cells, arena.rows, strict=True):
        found += (
            (setattr, cell, "data", row),
            (setattr, cell, "arena", arena),
            (setattr, cell, "exposed", False),
        )
    return found
