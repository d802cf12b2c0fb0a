"""What batching costs besides computing: building, recording and scheduling, in us a tree node.

An unseen batch is built, recorded and scheduled. One of a structure that has been scheduled is built, recorded and
looked up. Of trees that are kept, each batch another selection, only what is above them is built, and all of it is
scheduled. An expression that has run needs none of it. And how many launches 100 sentences take: one for all
leaves, one for all scores, and one for each level of nodes is the least.

Knows: which parts of `Batched` these are, and the bars.
Refuses to know: how they work.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from typing import Final, TypeVar

from benchmarks.forest import Forest, Trees
from benchmarks.levels import planned
from benchmarks.report import Limit
from benchmarks.sentiment import Sentiment, absent
from benchmarks.sentiment_ours import Ours as Sentences
from benchmarks.timing import Spread
from benchmarks.tree_lstm import Task
from benchmarks.trees_ours import Kept, Ours, Scalar
from wengert.graph.node import next_serial
from wengert.run import Batched
from wengert.run.batching.cache import ScheduleCache

R = TypeVar("R")
NAME: Final = "bookkeeping"
US: Final = 1e-6
BUILD, FRESH, SHUFFLED, AGAIN, KEPT = (
    "build",
    "record and schedule what is new",
    "record and schedule other selections of trees that are kept",
    "record what is rebuilt, and look its schedule up",
    "find the schedule of what is kept",
)
MOST: Final = {BUILD: None, FRESH: 1.5, SHUFFLED: 1.0, AGAIN: None, KEPT: 0.15}
LAUNCHES: Final = "launches over the fewest possible"
FOREST, SIZE, SENTENCES = Forest(128, 1000, 32, pool=12 * 32), 128, 100


def taken(do: Callable[[], R]) -> tuple[float, R]:
    """CPU seconds, and what came of it."""
    begun = time.process_time()
    made = do()
    return time.process_time() - begun, made


def booked(library: ScheduleCache, loss: Scalar, before: int = 0) -> float:
    """CPU seconds to record and schedule; what has a serial up to `before` may have been recorded already."""
    return taken(lambda: library.bound(library.record([loss], None, before), [loss]))[0]


def times(batches: Sequence[Trees], size: int) -> dict[str, list[float]]:
    """CPU seconds of each part, once a batch; none of them has been seen before."""
    first = batches[0]
    model, library, executor = Ours(Task(size, Forest(2, 1000, len(first)))), ScheduleCache(), Batched()
    found: dict[str, list[float]] = {what: [] for what in MOST}

    book = partial(booked, library)
    book(model.loss(first))  # forms of the cells are made once
    for trees in batches[1:]:
        seconds, loss = taken(lambda: model.loss(trees))  # called at once
        found[BUILD].append(seconds)
        found[FRESH].append(book(loss))
        found[AGAIN].append(book(model.loss(trees)))
        loss.predict().run(executor)
        before = executor.report.bookkeeping
        loss.predict().run(executor)
        found[KEPT].append(executor.report.bookkeeping - before)
    found[SHUFFLED] = shuffled(model, batches[1:])
    return found


def shuffled(model: Ours, batches: Sequence[Trees]) -> list[float]:
    """CPU seconds for as many selections of all trees, each of which has been in one before."""
    library, kept, chance = ScheduleCache(), Kept(model.example), Random(4)
    trees = [tree for batch in batches for tree in batch]
    model.loss(trees, kept)  # all are there before any selection is
    found = []
    for again in range(2):
        before = next_serial()
        order = trees if not again else chance.sample(trees, len(trees))
        size = len(batches[0])
        for start in range(0, len(order), size):
            loss = model.loss(order[start : start + size], kept)
            found += [booked(library, loss, before)] * again
    return found


def launches(task: Sentiment, count: int) -> tuple[int, int]:
    """Launches of more than a row that so many sentences take, and the fewest that are possible."""
    trees, executor = task.corpus().trees[:count], Batched()
    Sentences(task).loss(trees).predict().run(executor)
    made = sum(line.launches for line in executor.report.lines.values() if line.rows > 1)
    return made, len(planned(trees).levels) + 2


def asked(quick: bool) -> list[Limit]:
    """All figures; `quick`: of small trees, and nothing is said of times."""
    forest, size = (Forest(10, 20, 4, pool=12), 8) if quick else (FOREST, SIZE)
    batches = forest.batches().unseen()
    gc.collect()
    gc.freeze()
    found = times(batches, size)
    made, fewest = launches(Sentiment(8, 4, made=SENTENCES if quick or absent() else None), SENTENCES)
    print(f"{NAME}: {made} launches for sentences, {fewest} are the fewest possible")
    if quick:
        return []
    nodes = forest.batch * (2 * forest.leaves - 1)
    limits = [_limit(what, "us a node", [x / US / nodes for x in found[what]], MOST[what]) for what in MOST]
    limits.append(_limit(LAUNCHES, "", [made / fewest], 1.0))
    print("\n".join(limit.text() for limit in limits), flush=True)
    return limits


def _limit(what: str, unit: str, values: list[float], most: float | None) -> Limit:
    return Limit(NAME, what, unit, Spread.of(values), most)
