"""Where the values of a listing lie: in what is given out, in what is kept, or in room that is used again.

Knows: how long each value is needed, which share memory, and which are views that can be made before anything runs.
Refuses to know: how many rows there are, and who owns the room.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from wengert.arrays import HOST
from wengert.arrays.kernels import VIEWS, kernel_of
from wengert.run.batching.assembling import Pieces
from wengert.run.batching.listing import Dims, Slot, Step, slots_in

Roots = frozenset[Slot]
_SLICES: Final = (int, slice, type(None), type(Ellipsis))


class Buffer(NamedTuple):
    """One array: its form, and what it is for."""

    dims: Dims
    dtype: Any  # Any: numpy's
    key: object  # who has the same key has the same array; None: room that is used again


@dataclass(slots=True)
class Places:
    """For the steps of one function: where results lie, and which are views of buffers."""

    buffers: list[Buffer] = field(default_factory=list)
    place: dict[Slot, int] = field(default_factory=dict)  # the number of the buffer of a result
    outputs: dict[Slot, int] = field(default_factory=dict)  # the number of what is given out
    pieces: dict[Slot, tuple[Slot, int]] = field(default_factory=dict)  # written as a piece of another
    early: list[Step] = field(default_factory=list)  # views of buffers, and constants: made with the buffers


def needed(steps: Sequence[Step], wanted: Iterable[object]) -> list[Step]:
    """The steps that lead to what is wanted."""
    slots = {s for x in wanted for s in slots_in(x)}
    found = []
    for step in reversed(steps):
        if step.result in slots:
            slots.update(slots_in(step.arguments))
            found.append(step)
    return found[::-1]


def memory(steps: Iterable[Step]) -> dict[Slot, Roots]:
    """For each result the values whose memory it may be: itself where it is new."""
    roots: dict[Slot, Roots] = {}
    for step in steps:
        alone = (
            isinstance(step.function, Pieces) or kernel_of(step.function).fresh or step.result.dims is None
        )
        shared = [(step.result,)] if alone else [roots.get(x, (x,)) for x in slots_in(step.arguments)]
        roots[step.result] = frozenset().union(*shared)
    return roots


def placed(
    steps: Sequence[Step], outputs: Sequence[Any], wanted: Sequence[Slot], kept: Mapping[Slot, object]
) -> Places:
    """Places for the results of steps: `outputs` as far as possible in what is given, `kept` by their keys.

    What is wanted is not written over.
    """
    return _Placing(steps, outputs, wanted, kept).places


class _Placing:
    def __init__(
        self,
        steps: Sequence[Step],
        outputs: Sequence[Any],
        wanted: Sequence[Slot],
        kept: Mapping[Slot, object],
    ) -> None:
        self.steps = steps
        self.places = Places()
        self.roots = memory(steps)
        self.kept: dict[Slot, object] = {}
        for x, key in kept.items():
            roots = self.roots.get(x, (x,))
            for i, root in enumerate(roots):  # of several that it may be, each needs memory of its own
                self.kept[root] = key if len(roots) == 1 else (key, i)
        foreign = [x for step in steps if not step.pure for x in slots_in(step.arguments)]
        self.lasting = {root for x in (*wanted, *kept, *foreign) for root in self.roots.get(x, (x,))}
        self.used: dict[Slot, int] = {}
        for x in [s for step in steps for s in slots_in(step.arguments)]:
            self.used[x] = self.used.get(x, 0) + 1
        self.able = {step.result for step in steps if can_be_placed(step)}
        for i, x in enumerate(outputs):
            if isinstance(x, Slot) and x in self.able and x not in self.places.outputs:
                self.places.outputs[x] = i
        self._assemble()
        self._lay()
        self._look()

    def _assemble(self) -> None:
        """Each piece that nobody else needs is computed where it belongs."""
        for step in self.steps:
            if isinstance(step.function, Pieces):
                for i, x in enumerate(step.arguments):
                    own = x in self.able and self.used[x] == 1 and x not in self.lasting
                    if own and x not in self.places.outputs and x not in self.places.pieces:
                        self.places.pieces[x] = step.result, i

    def _lay(self) -> None:
        free: dict[tuple[Dims, Any], list[int]] = {}
        last = self._last_uses()
        for at, step in enumerate(self.steps):
            dying = [r for r in last.get(at, ()) if r in self.places.place]
            elementwise = not isinstance(step.function, Pieces) and kernel_of(step.function).elementwise
            if elementwise:  # before the result's buffer is chosen: it may be an operand's
                self._release(dying, free)
            self._settle(step, free)
            if not elementwise:
                self._release(dying, free)

    def _last_uses(self) -> dict[int, list[Slot]]:
        final: dict[Slot, int] = {}
        for at, step in enumerate(self.steps):
            for x in (*slots_in(step.arguments), step.result):
                for root in self.roots.get(x, ()):
                    final[root] = at
        last: dict[int, list[Slot]] = {}
        for root, at in final.items():
            last.setdefault(at, []).append(root)
        return last

    def _settle(self, step: Step, free: dict[tuple[Dims, Any], list[int]]) -> None:
        x = step.result
        assemble = isinstance(step.function, Pieces)
        if x in self.places.outputs or x in self.places.pieces or not (assemble or x in self.able):
            return
        assert x.dims is not None, "able"
        key = self.kept.get(x)
        if key is None and not assemble and free.get((x.dims, x.dtype)):
            self.places.place[x] = free[x.dims, x.dtype].pop()
            return
        self.places.place[x] = len(self.places.buffers)
        self.places.buffers.append(Buffer(x.dims, x.dtype, key))

    def _release(self, dying: Iterable[Slot], free: dict[tuple[Dims, Any], list[int]]) -> None:
        pieces = {whole for whole, _ in self.places.pieces.values()}
        for root in dying:
            buffer = self.places.buffers[self.places.place[root]]
            if root not in self.lasting and root not in pieces:
                free.setdefault((buffer.dims, buffer.dtype), []).append(self.places.place[root])

    def _look(self) -> None:
        """Views of buffers, and views of these."""
        known = set(self.places.place)
        for step in self.steps:
            x, *others = step.arguments or (None,)
            if not slots_in((step.arguments, tuple(step.options.values()))):
                self.places.early.append(step)
            elif isinstance(x, Slot) and x in known and not slots_in(tuple(others)) and _is_view(step):
                self.places.early.append(step)
                known.add(step.result)


def can_be_placed(step: Step) -> bool:
    """Whether a step can write its result into a buffer."""
    x = step.result
    if isinstance(step.function, Pieces) or not x.ordered or not x.dims:
        return False
    return bool(slots_in(step.arguments)) and kernel_of(step.function).into is not None


def _is_view(step: Step) -> bool:
    (x, *others) = step.arguments
    if step.result.dims is None:  # a number, which is a copy
        return False
    if step.function is HOST.getitem:
        parts = others[0] if isinstance(others[0], tuple) else (others[0],)
        return all(isinstance(part, _SLICES) for part in parts)
    return step.function in VIEWS and x.ordered
