"""The network of `sentiment` as a user of Wengert writes it: a recursion along one tree.

Knows: expressions, and `nn.TreeLSTM`.
Refuses to know: batches of nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import add
from typing import Any

import numpy as np

import wengert as wg
from benchmarks.forest import Tree, Trees
from benchmarks.sentiment import WORD_RATE, Sentiment
from benchmarks.trees_ours import Layer, Scalar, State, losses, step_of
from benchmarks.workload import Step
from wengert.control import Executor
from wengert.nn import TreeLSTM
from wengert.plugins import Adagrad, LearningRate

Place = np.ndarray[Any, np.dtype[np.int64]]  # of rank 0


class Settings(Adagrad, LearningRate):
    """Each number has its own rate."""


class Ours:
    """The model of one task."""

    def __init__(self, task: Sentiment) -> None:
        first, *others = task.weights()
        words = Settings(learning_rate=WORD_RATE).array_weight(first)
        leaf, leaf_bias, left, right, bias, scores, score_bias = map(
            Settings(learning_rate=task.rate).array_weight, others
        )
        lstm = TreeLSTM(leaf, leaf_bias, left, right, bias)

        @wg.cell
        def read(word: Place) -> State:
            return lstm.leaf(wg.take(words, word, axis=0))

        @wg.cell
        def cost(h: Layer, label: Place) -> Scalar:
            return wg.cross_entropy(h @ scores + score_bias, label)

        self.read, self.node, self.cost = read, wg.cell(lstm.node), cost

    def state(self, tree: Tree, costs: list[Scalar]) -> State:
        """The state of a tree; the costs of all its nodes are added to the list."""
        if tree.parts:
            left, right = tree.parts
            found = self.node(self.state(left, costs), self.state(right, costs))
        else:
            found = self.read(np.array(tree.word))
        costs.append(self.cost(found[0], np.array(tree.label)))
        return found

    def example(self, tree: Tree) -> Scalar:
        """The sum of the costs of all nodes of a tree."""
        costs: list[Scalar] = []
        self.state(tree, costs)
        return reduce(add, costs)

    def loss(self, trees: Trees, example: Callable[[Tree], Scalar] | None = None) -> Scalar:
        return reduce(add, map(example or self.example, trees)) / float(len(trees))


def ours(task: Sentiment, executor: Executor, way: str) -> Step:
    """A step on expressions that are kept, or built for each batch as it comes."""
    coming = losses(Ours(task), task.batches(), way, task.warm)
    return step_of(lambda: float(next(coming).train().run(executor)), way)
