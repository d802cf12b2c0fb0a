"""The cell of `one_state` as a user of Wengert writes it: a recursion along one tree; or batched by hand.

Knows: expressions.
Refuses to know: how an executor computes.
"""

from __future__ import annotations

from functools import reduce
from itertools import cycle
from operator import add

import numpy as np

import wengert as wg
from benchmarks.forest import Tree, Trees
from benchmarks.one_state import Cell, stacked
from benchmarks.trees_ours import Layer, step_of
from benchmarks.workload import Step
from wengert.control import Executor
from wengert.plugins import SGD
from wengert.run import Sequential


class Ours:
    """One model, for one example or for rows of them."""

    def __init__(self, task: Cell) -> None:
        settings, scale = SGD(learning_rate=task.rate), 0.5 * task.scale
        self.words, first, first_bias, second, second_bias = map(settings.array_weight, task.weights())

        def node(left: Layer, right: Layer) -> Layer:
            h = wg.relu(wg.concat((left, right), axis=-1) @ first + first_bias)
            f, k, i, g = wg.split(h @ second + second_bias, 4, axis=-1)
            made: Layer = wg.sigmoid(f) * left + wg.sigmoid(k) * right + wg.sigmoid(i) * wg.tanh(g)
            return made

        def cost(y: Layer) -> wg.ArrayLayer[tuple[()], np.float32]:
            return wg.sum(y * y) * scale

        self.rows, self.rows_cost = node, cost
        self.node, self.cost = wg.cell(node), wg.cell(cost)

    def state(self, tree: Tree) -> Layer:
        if not tree.parts:
            return wg.take(self.words, np.array(tree.word), axis=0)
        left, right = tree.parts
        return self.node(self.state(left), self.state(right))

    def loss(self, trees: Trees) -> wg.ArrayLayer[tuple[()], np.float32]:
        return reduce(add, [self.cost(self.state(tree)) for tree in trees])

    def by_hand(self, trees: Trees) -> wg.ArrayLayer[tuple[()], np.float32]:
        """The same as one program for a whole batch."""
        given = stacked(trees)
        states: list[Layer] = [wg.take(self.words, words, axis=0) for words in given.words]
        for a, b in given.parts:
            states.append(self.rows(states[a], states[b]))
        return self.rows_cost(states[-1])


def dynamic(task: Cell, alike: bool, way: str, executor: Executor) -> Step:
    """Built and scheduled in every step."""
    coming = map(Ours(task).loss, task.forest.batches(alike).new(task.warm))
    return step_of(lambda: _run(task, next(coming), executor), way)


def manual(task: Cell) -> Step:
    """A kept program for one shape."""
    around, executor = cycle(map(Ours(task).by_hand, task.forest.batches().seen)), Sequential()
    return lambda: _run(task, next(around), executor)


def _run(task: Cell, loss: wg.ArrayLayer[tuple[()], np.float32], executor: Executor) -> float:
    return float((loss.train() if task.train else loss.predict()).run(executor))
