"""The two kinds of block: one is a function, the other one asks the blocks inside it.

Knows: how each becomes part of a plan.
Refuses to know: any single block.
"""

from __future__ import annotations

from abc import abstractmethod

from wengert.fold.block import A, B, Block
from wengert.fold.calls import Calls, Direct
from wengert.fold.machine import Frames, flat
from wengert.fold.solver import Use


class Leaf(Block[A, B]):
    """A block whose value needs no other block."""

    @abstractmethod
    def direct(self, use: Use, calls: Calls) -> Direct:
        """The function of one use, whose types are known; it is called for every value."""

    def compile(self, use: Use, calls: Calls) -> None:
        use.direct = self.direct(use, calls)


class Composite(Block[A, B]):
    """A block that asks other blocks, which stand in `use.parts`, in the order of `constrain`."""

    @abstractmethod
    def frames(self, use: Use, calls: Calls) -> Frames:
        """Of one use: a generator that yields parts with their inputs, is sent their values, returns its own."""

    def direct(self, use: Use, frames: Frames) -> Direct:
        """The function of one use, all of whose parts have one."""
        return flat(frames)

    def compile(self, use: Use, calls: Calls) -> None:
        use.frames = self.frames(use, calls)
        if not self.waits and all(part.direct is not None for part in use.parts):
            use.direct = self.direct(use, use.frames)
