"""The Tree-LSTM of `tree_lstm` as a user of Wengert writes it: a recursion along one tree.

Knows: expressions; that another executor is all that batches it.
Refuses to know: batches of nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from itertools import cycle
from operator import add
from typing import Any, Protocol

import numpy as np

import wengert as wg
from benchmarks.forest import Batches, Tree, Trees
from benchmarks.overhead import KEPT, REBUILT
from benchmarks.tree_lstm import Task
from benchmarks.workload import Step
from wengert.control import Executor
from wengert.plugins import SGD
from wengert.run import without_collector

Layer = wg.ArrayLayer[Any, np.float32]  # Any: shapes, which differ from task to task
State = tuple[Layer, Layer]
Scalar = wg.ArrayLayer[tuple[()], np.float32]
SHUFFLED = f"{KEPT}, shuffled"
UNCOLLECTED = f"{REBUILT}, no collector"


class Model(Protocol):
    """What trees are given to."""

    def example(self, tree: Tree, /) -> Scalar: ...

    def loss(self, trees: Trees, example: Callable[[Tree], Scalar] | None = None, /) -> Scalar: ...


class Ours:
    """The model of one task."""

    def __init__(self, task: Task) -> None:
        settings = SGD(learning_rate=task.rate)
        self.words, gates, bias = map(settings.array_weight, task.weights())
        self.zero = wg.lift(np.zeros(task.size, np.float32))
        scale = 0.5 / (task.size * task.forest.batch)

        @wg.cell
        def node(h: Layer, c: Layer, k: Layer, d: Layer) -> State:
            i, f, g, o, u = wg.split(wg.concat((h, k)) @ gates + bias, 5)
            memory = wg.sigmoid(i) * wg.tanh(u) + wg.sigmoid(f) * c + wg.sigmoid(g) * d
            return wg.sigmoid(o) * wg.tanh(memory), memory

        @wg.cell
        def cost(h: Layer) -> Scalar:
            return wg.sum(h * h) * scale

        self.node, self.cost = node, cost

    def state(self, tree: Tree) -> State:
        if not tree.parts:
            return wg.take(self.words, np.array(tree.word), axis=0), self.zero
        left, right = tree.parts
        return self.node(*self.state(left), *self.state(right))

    def example(self, tree: Tree) -> Scalar:
        """The loss of one tree."""
        return self.cost(self.state(tree)[0])

    def loss(self, trees: Trees, example: Callable[[Tree], Scalar] | None = None) -> Scalar:
        return reduce(add, map(example or self.example, trees))


class Kept:
    """The expression of each tree, built once."""

    def __init__(self, example: Callable[[Tree], Scalar]) -> None:
        self.example = example
        self.made: dict[int, tuple[Tree, Scalar]] = {}  # by identity

    def __call__(self, tree: Tree) -> Scalar:
        found = self.made.get(id(tree))
        if found is None:
            found = self.made[id(tree)] = tree, self.example(tree)
        return found[1]


def losses(model: Model, batches: Batches, way: str, warm: int) -> Iterator[Scalar]:
    """What each step runs: expressions that are kept, or built for each batch of those that it is kept of."""
    if way == KEPT:
        return cycle([model.loss(trees) for trees in batches.seen])
    if way == SHUFFLED:
        kept, epoch = Kept(model.example), batches.epoch()
        for tree in epoch:
            kept(tree)
        return (model.loss(trees, kept) for trees in batches.shuffled(warm, epoch))
    return map(model.loss, batches.new(warm))


def ours(task: Task, executor: Executor, way: str) -> Step:
    """A step on expressions that are kept, or built for each batch as it comes."""
    coming = losses(Ours(task), task.batches(), way, task.warm)

    def step() -> float:
        loss = next(coming)
        return float((loss.train() if task.train else loss.predict()).run(executor))

    return step_of(step, way)


def step_of(step: Step, way: str) -> Step:
    """The same as `fit` does it: Python's collector rests during the step, if that is the way."""
    return without_collector()(step) if way == UNCOLLECTED else step
