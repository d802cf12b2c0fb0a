"""A pool that prepares batches while the last one is trained on, beside one process that does both in turn.

Each example is a text of which Python counts the letters that follow each other, as people do who write features by
hand: a function of data that takes longer than the network's part. Two processes prepare; wall time, as several work.

Knows: the text, the network, both variants and the bar.
Refuses to know: how time is taken.
"""

from __future__ import annotations

import atexit
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np

import wengert as wg
from benchmarks.agreement import check_losses
from benchmarks.workload import OURS, Step, Variant, Workload
from wengert import fold as td
from wengert.plugins import SGD
from wengert.run import Batched

ALONE, POOL = f"{OURS}, one process", f"{OURS}, two prepare"
LETTERS = "abcdefghijklmnop"
RATE = 0.01


def counts(text: str) -> list[float]:
    """How often each letter comes after each other one, a character of the text on average."""
    found = [0.0] * len(LETTERS) ** 2
    for a, b in pairwise(text):
        found[LETTERS.index(a) * len(LETTERS) + LETTERS.index(b)] += 1.0 / len(text)
    return found


def texts(batch: int, length: int) -> Iterator[list[str]]:
    """Batches without an end."""
    chance = Random(3)
    while True:
        yield ["".join(chance.choices(LETTERS, k=length)) for _ in range(batch)]


def compiler(size: int) -> td.Compiler[str, Any]:  # Any: a column
    """The loss of one text."""
    begin, settings = np.random.default_rng(0), SGD(learning_rate=RATE)
    pairs = len(LETTERS) ** 2
    hidden = begin.normal(0.0, pairs**-0.5, (pairs, size)).astype(np.float32)
    last = begin.normal(0.0, size**-0.5, (size, 1)).astype(np.float32)
    rows: Any = td.InputTransform(counts) >> td.Vector(pairs)
    layers: Any = td.FC(size, wg.tanh, hidden, settings=settings) >> td.FC(1, None, last, settings=settings)
    return td.Compiler.create(rows >> layers >> td.Function(lambda y: wg.square(y[0] - 1.0)))


def alone(batch: int, length: int, size: int) -> Step:
    """Everything in this process."""
    made, given, run = compiler(size), texts(batch, length), Batched()
    return lambda: float(wg.mean(made.build(next(given)).output_tensors[0]).train().run(run))


def pooled(batch: int, length: int, size: int) -> Step:
    """Data in two other processes."""
    made, run, left = compiler(size), Batched(), ExitStack()
    pool = left.enter_context(made.multiprocessing_pool(2))
    atexit.register(left.close)
    ready = pool.batches(texts(batch, length))
    return lambda: float(wg.mean(made.build(next(ready)).output_tensors[0]).train().run(run))


def _of(batch: int, length: int, size: int) -> Workload:
    given = batch, length, size
    return Workload(
        "blocks-pool",
        f"letters of {length} counted by Python, batches of {batch}, training; wall time on two cores",
        unit="ms an example",
        seconds_in_unit=1e-3,
        parts=batch,
        variants=(Variant(ALONE, partial(alone, *given)), Variant(POOL, partial(pooled, *given))),
        bars={(POOL, ALONE): 0.75},
        cores=2,
        check=lambda: check_losses("blocks-pool", partial(alone, 4, 9, 3), {POOL: partial(pooled, 4, 9, 3)}),
    )


WORKLOADS = (replace(_of(64, 2000, 64), small=_of(4, 9, 3)),)
