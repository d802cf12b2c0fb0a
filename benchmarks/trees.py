"""Workloads of trees: a Tree-LSTM over random binary trees of 128 leaves, trained and predicting.

Ours is a recursion along one tree. "kept" runs expressions that were built once; "kept, shuffled" those of trees that
were built once, and other trees together in every step; "rebuilt" builds those of trees that it has never seen, and
schedules them, in every step, with Python's collector or, as `fit` does it, without. Plans of what is batched by hand
are made before anything is timed, except in "by hand, planning", which sees the same trees as ours when it is rebuilt.

Knows: sizes, variants and bars.
Refuses to know: how any library computes them, and how time is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial

from benchmarks.agreement import losses_apart, said_of_losses
from benchmarks.forest import Forest
from benchmarks.overhead import KEPT, REBUILT
from benchmarks.tree_lstm import Task, planning, prepared
from benchmarks.trees_ours import SHUFFLED, UNCOLLECTED, ours
from benchmarks.trees_torch import by_level, by_node
from benchmarks.workload import BY_HAND, OURS, Step, Variant, Workload
from wengert.run import Batched, Sequential

MS = 1e-3
LEAVES, WORDS = 128, 1000
PLANNING = f"{BY_HAND}, planning"
NODE, LEVEL = "torch, node by node", "torch, by level"
SEQUENTIAL = f"{OURS}, Sequential"
SMALL = Task(8, Forest(10, 20, 4, pool=64))
FAST = 5.0  # a rate at which losses show every mistake


def _ours(way: str, task: Task) -> Step:
    return ours(task, Batched(), way)


def _sequential(task: Task) -> Step:
    return ours(task, Sequential(), KEPT)


WAYS = (KEPT, SHUFFLED, REBUILT, UNCOLLECTED)
MAKERS: dict[str, Callable[[Task], Step]] = {way: partial(_ours, way) for way in WAYS}
MAKERS[SEQUENTIAL] = _sequential


def check(name: str, task: Task, wrong: float = 1.0) -> str:
    """Ours against plain numpy, on small trees at a high rate; `wrong` is what ours multiplies the rate by."""
    return said_of_losses(name, _apart(task.train, wrong))


@cache
def _apart(train: bool, wrong: float) -> dict[str, float]:
    """Workloads of one kind are checked once: the small trees are the same for all of them."""
    small = replace(SMALL, train=train, rate=FAST, warm=100)
    false = replace(small, rate=FAST * wrong)
    makers = {kind: partial(make, false) for kind, make in MAKERS.items()}
    makers |= {PLANNING: partial(planning, false)}
    return losses_apart(partial(prepared, small), makers)


def _bars(task: Task) -> dict[tuple[str, str], float]:
    many = task.forest.batch >= 32
    bars = {(KEPT, BY_HAND): 1.10, (SHUFFLED, BY_HAND): 1.15, (REBUILT, BY_HAND): 1.30}
    bars[UNCOLLECTED, BY_HAND] = 1.20
    if task.train:
        bars |= {(KEPT, LEVEL): 0.60 if many else 0.75, (KEPT, NODE): 0.10 if many else 0.17}
        bars |= {(KEPT, SEQUENTIAL): 0.10} if many else {}
    else:
        bars |= {(KEPT, NODE): 0.33} if many else {}
    return bars


def _workload(name: str, task: Task) -> Workload:
    batch = task.forest.batch
    doing = "training" if task.train else "predicting"
    return Workload(
        name,
        f"Tree-LSTM of state {task.size}, {task.forest.leaves} leaves a tree, batch {batch}, {doing}",
        unit="ms a tree",
        seconds_in_unit=MS,
        parts=batch,
        variants=(
            *(Variant(way, partial(_ours, way, task)) for way in WAYS),
            Variant(SEQUENTIAL, partial(_sequential, task)),
            Variant(LEVEL, partial(by_level, task), ("torch",)),
            Variant(NODE, partial(by_node, task), ("torch",)),
            Variant(BY_HAND, partial(prepared, task)),
            Variant(PLANNING, partial(planning, task)),
        ),
        bars=_bars(task),
        warm=task.warm,
        check=partial(check, name, task),
    )


def _trees(size: int, batch: int, train: bool) -> Workload:
    name = f"trees-{size}-{batch}" + ("" if train else "-predict")
    task = Task(size, Forest(LEAVES, WORDS, batch), train)
    return replace(_workload(name, task), small=_workload(name, replace(SMALL, train=train)))


_TRAINED = ((128, 1), (128, 32), (256, 1), (256, 32), (256, 64))
_PREDICTED = ((128, 1), (128, 32), (256, 64))
WORKLOADS = (
    *(_trees(size, batch, True) for size, batch in _TRAINED),
    *(_trees(size, batch, False) for size, batch in _PREDICTED),
)
