"""Table 1 of the paper on dynamic batching: what it costs that trees need not have one shape.

Batching by hand takes one shape for the whole batch and computes node after node, a row a tree, from a program that
it keeps. Ours is a recursion along one tree, built and scheduled in every step: "one shape" on batches such as
those, and "any shapes", with Python's collector or, as `fit` does it, without.

Knows: sizes, variants and bars; batches of 512 and 1024 trees are predicted only, within 10 GB in all.
Refuses to know: how any library computes them, and how time is taken.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial

from benchmarks.agreement import losses_apart, said_of_losses
from benchmarks.forest import Forest
from benchmarks.one_state import Cell, by_hand
from benchmarks.one_state_ours import dynamic, manual
from benchmarks.one_state_torch import by_torch
from benchmarks.overhead import REBUILT
from benchmarks.trees_ours import UNCOLLECTED
from benchmarks.workload import BY_HAND, OURS, Variant, Workload
from wengert.run import Batched

MS = 1e-3
SHAPE, SHAPES, MANUAL = f"{OURS}, one shape", f"{OURS}, any shapes", f"{OURS}, by hand"
TORCH = "torch, by hand"
UNCOLLECTED_SHAPES = f"{SHAPES}, no collector"
WAYS = {SHAPE: (True, REBUILT), SHAPES: (False, REBUILT), UNCOLLECTED_SHAPES: (False, UNCOLLECTED)}
SMALL = Cell(8, Forest(10, 20, 4, pool=64, alike=True))
LARGE = 512  # trees of a batch whose variants take 5 GB and a minute, or twice as much: one way, two rounds
FAST = 0.2  # a rate at which losses show every mistake


def check(name: str, task: Cell, wrong: float = 1.0) -> str:
    """Ours against plain numpy, on small trees at a high rate; `wrong` is what ours multiplies the rate by."""
    return said_of_losses(name, _apart(task.train, wrong))


@cache
def _apart(train: bool, wrong: float) -> dict[str, float]:
    """Workloads of one kind are checked once: the small trees are the same for all of them."""
    small = replace(SMALL, train=train, rate=FAST, warm=100)
    false = replace(small, rate=FAST * wrong)
    makers = {kind: partial(dynamic, false, *way, Batched()) for kind, way in WAYS.items()}
    return losses_apart(partial(by_hand, small), {**makers, MANUAL: partial(manual, false)})


def _workload(name: str, task: Cell, large: bool) -> Workload:
    doing, batch = "training" if task.train else "predicting", task.forest.batch
    most = 1.2 if batch >= 32 else 1.0 if batch == 1 else None
    ways = {kind: way for kind, way in WAYS.items() if not large or kind == UNCOLLECTED_SHAPES}
    return Workload(
        name,
        f"cell of state {task.size}, {task.forest.leaves} leaves a tree, batch {batch}, {doing}",
        unit="ms a tree",
        seconds_in_unit=MS,
        parts=batch,
        variants=(
            *(Variant(kind, partial(dynamic, task, *way, Batched())) for kind, way in ways.items()),
            Variant(MANUAL, partial(manual, task)),
            Variant(TORCH, partial(by_torch, task), ("torch",)),
            Variant(BY_HAND, partial(by_hand, task)),
        ),
        bars={} if most is None else {(kind, peer): most for kind in ways for peer in (BY_HAND, MANUAL)},
        warm=task.warm,
        rounds=2 if large else None,
        check=partial(check, name, task),
    )


def _table(size: int, batch: int, train: bool) -> Workload:
    name = f"table-1-{size}-{batch}" + ("" if train else "-predict")
    large = batch >= LARGE
    warm = (
        1 if large else 2 if size > 512 else 3
    )  # a step of a large state makes of a rounding error a hundred
    task = Cell(size, Forest(128, 128, batch, alike=True), train, warm=warm)
    small = _workload(name, replace(SMALL, train=train), large)
    return replace(_workload(name, task, large), small=small)


SIZES = {64: (1, 32, 256), 256: (1, 8, 32, 256), 1024: (1, 8, 32)}  # 256 trees of state 1024 take 12 s
WORKLOADS = (
    *(
        _table(size, batch, train)
        for train in (True, False)
        for size, several in SIZES.items()
        for batch in several
    ),
    *(_table(1024, batch, train=False) for batch in (512, 1024)),
)
