"""The names on the way of a batch: what modules of `run` call of each other, from `run(Batched())` to the first launch.

Knows: a call of one module by another one is a name that a reader has to look up; what a module calls of itself is not.
Refuses to know: which names those should be.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType

import numpy as np

import wengert as wg
from wengert.plugins import SGD
from wengert.run import Batched

ROOM = "/wengert/run/"


def names_on_the_way(
    call: Callable[[Batched], object], executor: Batched, ends: Callable[[str], bool]
) -> list[str]:
    """Functions and methods of `run` which another module called, in order, until one whose name `ends` the way."""
    found: dict[str, None] = {}

    def look(frame: FrameType, event: str, _: object) -> None:
        code, caller = frame.f_code, frame.f_back
        if event != "call" or ROOM not in code.co_filename or code.co_name.startswith("<"):
            return
        if caller is not None and caller.f_code.co_filename != code.co_filename:
            name = f"{code.co_filename.partition(ROOM)[2]}: {code.co_qualname}"
            found[name] = None
            if ends(name):
                sys.setprofile(None)

    sys.setprofile(look)
    try:
        call(executor)
    finally:
        sys.setprofile(None)
    return [*found]


def batch_names() -> list[str]:
    """The names on the way of two trees that no cache knows."""
    w = SGD(learning_rate=0.1).array_weight(np.ones((4, 4), np.float32))

    @wg.cell
    def joined(a: wg.ArrayLayer, b: wg.ArrayLayer) -> wg.ArrayLayer:
        return wg.tanh((a + b) @ w)

    def tree(depth: int) -> wg.ArrayLayer:
        return joined(tree(depth - 1), tree(depth - 1)) if depth else wg.lift(np.ones(4, np.float32))

    both, batched = wg.sum(tree(3)) + wg.sum(tree(2)), Batched()
    return names_on_the_way(both.predict().run, batched, lambda name: name.endswith("BatchedKernel.forward"))


if __name__ == "__main__":
    print("\n".join(batch_names()))
