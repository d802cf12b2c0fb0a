"""Workloads of blocks: a network over graphs and one over binary trees, trained as a plan trains them, beside PyTorch.

Examples come shuffled. "kept" has the expressions of examples from the second epoch on, as `TrainPlan` has; "rebuilt"
builds those of each batch, as for examples that were never seen. PyTorch is batched by hand: graphs are one graph with
many parts, trees go level by level by plans that are made in the first epoch, so that batches of trees change in their
order only.

Knows: sizes, variants and bars, and that all have to see the same losses.
Refuses to know: how time is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from random import Random
from typing import Any

import numpy as np

import wengert as wg
from benchmarks.agreement import check_losses
from benchmarks.columns_torch import load
from benchmarks.forest import Forest, Tree
from benchmarks.levels import planned
from benchmarks.overhead import REBUILT
from benchmarks.trees_ours import SHUFFLED
from benchmarks.trees_torch import moves
from benchmarks.workload import Step, Variant, Workload
from wengert import fold as td
from wengert.plugins import SGD
from wengert.run import Batched, without_collector

TORCH = "torch, batched by hand"
ROUNDS, RATE, WARM = 3, 0.01, 40
Example = Any  # a graph, or a tree


@dataclass(frozen=True)
class Task:
    """Sizes; examples of several batches, which are shuffled from epoch to epoch."""

    size: int
    batch: int
    parts: int  # leaves of a tree, or at most so many nodes of a graph
    batches: int = 8
    warm: int = WARM

    def shuffled(self, examples: list[Example], mixed: bool) -> Iterator[list[Example]]:
        """Batches, epoch by epoch; of examples that are mixed, or in another order of the same batches."""
        chance, n = Random(4), self.batch
        groups = [examples[i : i + n] for i in range(0, len(examples), n)]
        while True:
            if mixed:
                chance.shuffle(examples)
                groups = [examples[i : i + n] for i in range(0, len(examples), n)]
            else:
                chance.shuffle(groups)
            yield from groups

    def weights(self, *shapes: tuple[int, ...]) -> list[Any]:  # Any: arrays
        """First numbers, of a size that keeps variances alike."""
        chance = np.random.default_rng(0)
        return [chance.normal(0.0, s[0] ** -0.5, s).astype(np.float32) for s in shapes]


def stepped(block: td.Block[Any, Any], batches: Iterator[list[Example]], way: str) -> Step:
    """Training of the mean of what a block gives, as a plan does it."""
    compiler: Any = td.Compiler.create(block)  # Any: a column of losses
    kept, batched = td.KeptExpressions(2**30 if way == SHUFFLED else 0), Batched()

    def step() -> float:
        (column,) = compiler.build(next(batches), kept=kept).output_tensors
        return float(wg.mean(column).train().run(batched))

    return without_collector()(step)


def descended(torch: Any, weights: list[Any], loss: Callable[[], Any]) -> float:  # Any: tensors
    """A step of gradient descent."""
    total = loss()
    total.backward()
    with torch.no_grad():
        for w in weights:
            w.sub_(w.grad, alpha=RATE)
            w.grad = None
    return float(total.detach())


# -- graphs ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Graph:
    """Nodes with vectors, edges both ways, and a label for each node."""

    nodes: Any  # Any: arrays
    start: Any
    end: Any
    labels: Any


def graphs(task: Task) -> list[Example]:
    """Rings with chords."""
    chance, found = np.random.default_rng(1), []
    for n in chance.integers(task.parts // 2, task.parts + 1, size=task.batch * task.batches):
        ring = np.stack([np.arange(n), np.roll(np.arange(n), -1)])
        ends = np.concatenate([ring, chance.integers(n, size=(2, n // 4))], axis=1)
        start, end = np.concatenate([ends, ends[::-1]], axis=1)
        nodes = chance.normal(size=(n, 2)).astype(np.float32)
        found.append(Graph(nodes, start, end, chance.integers(2, size=n)))
    return found


def of_graphs(task: Task) -> list[Any]:  # Any: arrays
    n = task.size
    return task.weights((2, n), (n, n), (n, n), (n, 2))


def graphs_ours(way: str, task: Task) -> Step:
    """Blocks over one graph."""
    first, own, sent, last = map(SGD(learning_rate=RATE).array_weight, of_graphs(task))

    def loss(x: Any, start: Any, end: Any, labels: Any) -> Any:  # Any: layers and integers
        h = wg.relu(x @ first)
        for _ in range(ROUNDS):
            h = wg.relu(h @ own + wg.segment_sum(wg.take(h @ sent, start), end, num_segments=x.shape[0]))
        return wg.cross_entropy(h @ last, labels)

    def column(name: str) -> Any:  # Any: a block
        return (
            td.InputTransform(lambda graph: getattr(graph, name)) >> td.Map(td.Scalar("int64")) >> td.Stack()
        )

    of_one: Any = loss  # Any: a function of four
    nodes: Any = td.InputTransform(lambda graph: graph.nodes) >> td.Map(td.Vector(2)) >> td.Stack()
    together: Any = td.AllOf(nodes, *map(column, ("start", "end", "labels")))
    block: Any = together >> td.Function(of_one)
    return stepped(block, task.shuffled(graphs(task), mixed=True), way)


def graphs_torch(task: Task) -> Step:
    """One graph of many parts."""
    torch = load(1)
    weights = [torch.tensor(w, requires_grad=True) for w in of_graphs(task)]
    first, own, sent, last = weights
    batches = task.shuffled(graphs(task), mixed=True)

    def loss() -> Any:  # Any: a tensor
        batch = next(batches)
        sizes = np.array([len(graph.nodes) for graph in batch])
        before = np.cumsum(sizes) - sizes
        x, labels = (
            torch.from_numpy(np.concatenate(part))
            for part in zip(*((graph.nodes, graph.labels) for graph in batch), strict=True)
        )
        start, end = (
            torch.from_numpy(
                np.concatenate([getattr(g, name) + at for g, at in zip(batch, before, strict=True)])
            )
            for name in ("start", "end")
        )
        weight = torch.from_numpy(np.repeat(1.0 / sizes, sizes).astype(np.float32)) / len(batch)
        h = torch.relu(x @ first)
        for _ in range(ROUNDS):
            h = torch.relu(h @ own + torch.zeros_like(h).index_add(0, end, (h @ sent)[start]))
        return (torch.nn.functional.cross_entropy(h @ last, labels, reduction="none") * weight).sum()

    return lambda: descended(torch, weights, loss)


# -- trees -------------------------------------------------------------------------------------------

WORDS = 100


def trees(task: Task) -> list[Example]:
    """Random ones."""
    forest = Forest(task.parts, WORDS, task.batch, pool=task.batch * task.batches)
    return [tree for trees in forest.batches().unseen() for tree in trees]


def of_trees(task: Task) -> list[Any]:  # Any: arrays
    return task.weights((WORDS, task.size), (2 * task.size, task.size))


def trees_ours(way: str, task: Task) -> Step:
    """Blocks over one tree: a layer for every pair."""
    words, pairs = of_trees(task)
    settings, size = SGD(learning_rate=RATE), task.size
    subtree = td.ForwardDeclaration(td.PyObjectType(), size)
    row: Any = td.GetItem(0) >> td.Scalar("int64") >> td.Embedding(WORDS, size, words, settings=settings)
    layer = td.FC(size, wg.tanh, pairs, settings=settings)
    pair: Any = td.GetItem(1) >> td.Record((subtree(), subtree())) >> td.Concat() >> layer
    block: Any = td.OneOf(lambda tree: bool(tree.parts), {False: row, True: pair})
    subtree.resolve_to(block)
    cost: Any = td.Function(lambda h: wg.sum(h * h) * (0.5 / size))
    return stepped(block >> cost, task.shuffled(trees(task), mixed=False), way)


def trees_torch(task: Task) -> Step:
    """All nodes of a level at once."""
    torch = load(1)
    weights = [
        torch.tensor(w, requires_grad=True) for w in (*of_trees(task), np.zeros(task.size, np.float32))
    ]
    words, pairs, bias = weights
    plans: dict[int, Any] = {}
    batches = task.shuffled(trees(task), mixed=False)

    def given(batch: list[Tree]) -> Any:  # Any: tensors
        if id(batch[0]) not in plans:
            plan = planned(batch)
            plans[id(batch[0])] = torch.from_numpy(plan.words), *moves(torch, plan)
        return plans[id(batch[0])]

    def loss() -> Any:  # Any: a tensor
        batch = next(batches)
        places, levels, roots = given(batch)
        h = torch.nn.functional.embedding(places, words)
        for at in levels:
            above = torch.tanh(torch.addmm(bias, torch.cat((h[at.left], h[at.right]), 1), pairs))
            h = torch.cat((above, h[at.rest]))
        return h[roots].square().sum() * (0.5 / (task.size * len(batch)))

    return lambda: descended(torch, weights, loss)


# -- workloads ---------------------------------------------------------------------------------------

Makers = tuple[Callable[[str, Task], Step], Callable[[Task], Step]]


def check(name: str, makers: Makers, task: Task) -> str:
    """All see the same losses; PyTorch's are the right ones, or, where it is not installed, those of "rebuilt"."""
    made, peer = makers
    right = partial(peer, task) if find_spec("torch") else partial(made, REBUILT, task)
    return check_losses(name, right, {way: partial(made, way, task) for way in (SHUFFLED, REBUILT)})


def _workload(name: str, what: str, makers: Makers, task: Task, small: Task, kept: float) -> Workload:
    made, peer = makers

    def of(task: Task) -> Workload:
        return Workload(
            name,
            f"{what}, size {task.size}, batches of {task.batch}, training",
            unit="ms an example",
            seconds_in_unit=1e-3,
            parts=task.batch,
            variants=(
                *(Variant(way, partial(made, way, task)) for way in (SHUFFLED, REBUILT)),
                Variant(TORCH, partial(peer, task), ("torch",)),
            ),
            bars={(SHUFFLED, TORCH): kept, (REBUILT, TORCH): 2.5},
            warm=task.warm,
            check=partial(check, name, makers, small),
        )

    return replace(of(task), small=of(small))


GRAPHS: Makers = (graphs_ours, graphs_torch)
TREES: Makers = (trees_ours, trees_torch)
WORKLOADS = (
    _workload(
        "blocks-graphs", "messages over graphs in blocks", GRAPHS, Task(32, 32, 16), Task(4, 4, 6, 2, 2), 1.5
    ),
    _workload("blocks-trees", "binary tree RNN in blocks", TREES, Task(64, 64, 20), Task(4, 4, 5, 2, 2), 1.0),
)
