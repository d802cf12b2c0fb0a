"""Two kinds of block: one is a function, the other one asks the blocks inside it as it goes. A third is in `code`.

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

    def compile(self, use: Use, calls: Calls) -> None:
        use.frames = self.frames(use, calls)
        if use.plain:
            use.direct = flat(use)
        else:
            use.within = flat(use)
