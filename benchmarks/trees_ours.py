"""The Tree-LSTM of `tree_lstm` as a user of Wengert writes it: a recursion along one tree.

Knows: expressions; that another executor is all that batches it.
Refuses to know: batches of nodes.
"""

from __future__ import annotations

from functools import reduce
from itertools import cycle
from operator import add
from typing import Any

import numpy as np

import wengert as wg
from benchmarks.forest import Tree, Trees
from benchmarks.tree_lstm import Task
from benchmarks.workload import Step
from wengert.control import Executor
from wengert.plugins import SGD

Layer = wg.ArrayLayer[Any, np.float32]  # Any: shapes, which differ from task to task
State = tuple[Layer, Layer]


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
        def cost(h: Layer) -> wg.ArrayLayer[tuple[()], np.float32]:
            return wg.sum(h * h) * scale

        self.node, self.cost = node, cost

    def state(self, tree: Tree) -> State:
        if not tree.parts:
            return wg.take(self.words, np.array(tree.word), axis=0), self.zero
        left, right = tree.parts
        return self.node(*self.state(left), *self.state(right))

    def loss(self, trees: Trees) -> wg.ArrayLayer[tuple[()], np.float32]:
        return reduce(add, [self.cost(self.state(tree)[0]) for tree in trees])


def ours(task: Task, executor: Executor, kept: bool) -> Step:
    """A step on expressions that are kept, or built for each batch as it comes."""
    model, batches = Ours(task), task.batches()
    coming = (
        cycle([model.loss(trees) for trees in batches.seen])
        if kept
        else map(model.loss, batches.new(task.warm))
    )

    def step() -> float:
        loss = next(coming)
        return float((loss.train() if task.train else loss.predict()).run(executor))

    return step
