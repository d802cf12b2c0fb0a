"""Blocks of two shapes at the far ends: trees with any number of children, and one chain, which has no width.

The child-sum Tree-LSTM reads trees whose nodes have up to four children; batches are shuffled, and expressions of
examples are kept, or built anew. The chain is one recurrent network over a list in a batch of one, by `Batched` and by
`Sequential`.

Knows: both networks, sizes and bars.
Refuses to know: how time is taken.

Source: K. Tai, R. Socher, C. Manning, "Improved Semantic Representations From Tree-Structured Long Short-Term Memory
Networks", 2015, equations 2 to 8.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any, NamedTuple

import numpy as np

import wengert as wg
from benchmarks.agreement import check_losses
from benchmarks.blocks import Task, stepped
from benchmarks.overhead import REBUILT
from benchmarks.trees_ours import SHUFFLED
from benchmarks.workload import OURS, Step, Variant, Workload
from wengert import fold as td
from wengert.control import Executor
from wengert.plugins import SGD
from wengert.run import Batched, Sequential, without_collector

WORDS, MOST, RATE = 100, 4, 0.01
BATCHED, SEQUENTIAL = f"{OURS}, Batched", f"{OURS}, Sequential"


class Tree(NamedTuple):
    """A word, and the trees below it."""

    word: int
    children: tuple[Tree, ...]


def grown(chance: Random, nodes: int) -> Tree:
    """A tree of so many nodes, each with at most four children."""
    sizes: list[int] = []
    left = nodes - 1
    while left:
        sizes.append(chance.randint(1, left) if len(sizes) + 1 < MOST else left)
        left -= sizes[-1]
    return Tree(chance.randrange(WORDS), tuple(grown(chance, n) for n in sizes))


def child_sum(way: str, task: Task) -> Step:
    """Training on the mean square of the root's state."""
    size, settings = task.size, SGD(learning_rate=RATE)
    rows, gates, inner, forget, kept = map(
        settings.array_weight,
        task.weights((WORDS, size), (size, 3 * size), (size, 3 * size), (size, size), (size, size)),
    )

    def child(x: Any, state: Any) -> Any:  # Any: layers, here and below
        h, c = state
        return h, wg.sigmoid(x @ forget + h @ kept) * c

    def node(x: Any, below: Any) -> Any:
        h, c = below
        i, o, u = wg.split(x @ gates + h @ inner, 3, axis=-1)
        c = wg.sigmoid(i) * wg.tanh(u) + c
        return wg.sigmoid(o) * wg.tanh(c), c

    def both(a: Any, b: Any) -> Any:
        return a[0] + b[0], a[1] + b[1]

    state: Any = td.TupleType(td.TensorType((size,)), td.TensorType((size,)))
    tree: Any = td.ForwardDeclaration(td.PyObjectType(), state)

    def row(i: Any) -> Any:
        return wg.take(rows, i)

    number: Any = td.GetItem(0) >> td.Scalar("int64")
    word: Any = number >> td.Function(row)
    parts: Any = td.AllOf(word >> td.Broadcast(), td.GetItem(1) >> td.Map(tree()))
    below: Any = parts >> td.ZipWith(td.Function(child)) >> td.Reduce(td.Function(both), td.Zeros(state))
    block: Any = td.AllOf(word, below) >> td.Function(node)
    tree.resolve_to(block)
    cost: Any = td.GetItem(0) >> td.Function(lambda h: wg.mean(h * h))
    chance = Random(5)
    trees = [
        grown(chance, chance.randint(task.parts // 2, task.parts)) for _ in range(task.batch * task.batches)
    ]
    return stepped(block >> cost, task.shuffled(trees, mixed=True), way)


def lists(length: int) -> Iterator[list[list[list[float]]]]:
    """Batches of one list of vectors, a few in turn."""
    chance = np.random.default_rng(6)
    given = [chance.normal(size=(length, 2)).tolist() for _ in range(4)]
    while True:
        yield from ([one] for one in given)


def chain(executor: type[Executor], size: int, length: int) -> Step:
    """One list at a time, whose expression is kept."""
    settings, begin = SGD(learning_rate=RATE), np.random.default_rng(7)
    first, own = (
        settings.array_weight(begin.normal(0.0, n**-0.5, (n, size)).astype(np.float32)) for n in (2, size)
    )
    cell: Any = td.Function(lambda h, x: wg.tanh(x @ first + h @ own))
    block: Any = (
        td.Map(td.Vector(2)) >> td.Fold(cell, td.Zeros(size)) >> td.Function(lambda h: wg.mean(h * h))
    )
    compiler: Any = td.Compiler.create(block)
    kept, run, batches = td.KeptExpressions(2**30), executor(), lists(length)

    def step() -> float:
        (column,) = compiler.build(next(batches), kept=kept).output_tensors
        return float(wg.mean(column).train().run(run))

    return without_collector()(step)


def _trees(task: Task) -> Workload:
    return Workload(
        "blocks-child-sum",
        f"child-sum Tree-LSTM in blocks, size {task.size}, up to {task.parts} nodes, batches of {task.batch}, training",
        unit="ms a tree",
        seconds_in_unit=1e-3,
        parts=task.batch,
        variants=tuple(Variant(f"{way}", partial(child_sum, way, task)) for way in (SHUFFLED, REBUILT)),
        most={SHUFFLED: 0.2},
        warm=task.warm,
        check=lambda: check_losses(
            "blocks-child-sum",
            partial(child_sum, REBUILT, Task(4, 4, 6, 2, 2)),
            {SHUFFLED: partial(child_sum, SHUFFLED, Task(4, 4, 6, 2, 2))},
        ),
    )


def _chains(size: int, length: int) -> Workload:
    return Workload(
        "blocks-chains",
        f"a chain of width 1 in blocks, size {size}, {length:,} steps, training",
        unit="us a step of the chain",
        seconds_in_unit=1e-6,
        parts=length,
        variants=(
            Variant(BATCHED, partial(chain, Batched, size, length)),
            Variant(SEQUENTIAL, partial(chain, Sequential, size, length)),
        ),
        bars={(BATCHED, SEQUENTIAL): 1.1},
        check=lambda: check_losses(
            "blocks-chains", partial(chain, Sequential, 3, 5), {BATCHED: partial(chain, Batched, 3, 5)}
        ),
    )


WORKLOADS = (
    replace(_trees(Task(64, 32, 30)), small=_trees(Task(4, 4, 6, 2, 2))),
    replace(_chains(64, 1000), small=_chains(3, 5)),
)
