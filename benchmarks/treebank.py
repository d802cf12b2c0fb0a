"""Workload `sst`: training on the trees of the Stanford Sentiment Treebank, state and words of 128, batch 64.

The trees come from the folder that `--sst` or the environment's WENGERT_SST names. Whoever is kept or prepared
sees the same batches again and again; "rebuilt", with Python's collector and without it, and "planning" see all
others. "kept, shuffled" keeps the expression of each sentence, and sees other batches of them.

Knows: variants and bars.
Refuses to know: how any library computes them, and how time is taken.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from benchmarks.agreement import check_losses
from benchmarks.overhead import KEPT, REBUILT
from benchmarks.sentiment import RATE, Sentiment, absent
from benchmarks.sentiment_by_hand import planning, prepared
from benchmarks.sentiment_dynet import dynet
from benchmarks.sentiment_ours import ours
from benchmarks.sentiment_torch import by_level, by_node
from benchmarks.trees import LEVEL, NODE, PLANNING, WAYS
from benchmarks.trees_ours import SHUFFLED, UNCOLLECTED
from benchmarks.workload import BY_HAND, Step, Variant, Workload
from wengert.run import Batched

MS = 1e-3
DYNET = "dynet, autobatch"
TASK = Sentiment(128, 64, warm=2)  # the first steps of Adagrad make of a rounding error a step of its own
SMALL = Sentiment(8, 4, made=64)
FAST = 2 * RATE  # losses show every mistake
BARS = {
    (KEPT, BY_HAND): 1.10,
    (SHUFFLED, BY_HAND): 1.15,
    (REBUILT, BY_HAND): 1.25,
    (UNCOLLECTED, BY_HAND): 1.25,
    (KEPT, LEVEL): 0.9,
    (KEPT, NODE): 0.10,
    (KEPT, DYNET): 1 / 1.5,
    (REBUILT, DYNET): 1 / 1.5,
    (UNCOLLECTED, DYNET): 1 / 1.5,
}


def _ours(way: str, task: Sentiment) -> Step:
    return ours(task, Batched(), way)


def check(name: str, wrong: float = 1.0) -> str:
    """Ours against plain numpy, on small trees; `wrong` is what ours multiplies the rate by."""
    right = replace(SMALL, made=2 * SMALL.batch, warm=100, rate=FAST)  # one batch, which is soon learned
    false = replace(right, rate=FAST * wrong)
    makers = {way: partial(_ours, way, false) for way in WAYS} | {PLANNING: partial(planning, false)}
    return check_losses(name, partial(prepared, right), makers)


def _workload(name: str, task: Sentiment) -> Workload:
    return Workload(
        name,
        f"Tree-LSTM on the Sentiment Treebank, state {task.size}, words {task.size}, batch {task.batch}, training",
        unit="ms a tree",
        seconds_in_unit=MS,
        parts=task.batch,
        variants=(
            *(Variant(way, partial(_ours, way, task)) for way in WAYS),
            Variant(LEVEL, partial(by_level, task), ("torch",)),
            Variant(NODE, partial(by_node, task), ("torch",)),
            Variant(DYNET, partial(dynet, task), ("dynet",)),
            Variant(BY_HAND, partial(prepared, task)),
            Variant(PLANNING, partial(planning, task)),
        ),
        bars=BARS,
        # 2,000 and 1,800 trees a second
        most={KEPT: 1 / 2.0, SHUFFLED: 1 / 2.0, REBUILT: 1 / 1.8, UNCOLLECTED: 1 / 1.8},
        warm=task.warm,
        check=partial(check, name),
    )


WORKLOADS = (replace(_workload("sst", TASK), small=_workload("sst", SMALL), absent=absent),)
