"""Sentiment of sentences: a Tree-LSTM over the parse trees of the Stanford Sentiment Treebank, batched by itself.

`python examples/sentiment.py PATH` trains on `PATH/train.txt`, and measures on `dev.txt` and `test.txt`. The
network is written for one tree, as a walk along it; `run.Batched` runs a whole batch of trees of different
shapes at once. Every node has a label from 0, very negative, to 4; the loss is summed over all of them.

Words are learned from scratch, so that the accuracy is below that of published results, which begin with word
vectors of 840 billion tokens. Source: Tai, Socher and Manning 2015.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from functools import cache, reduce
from itertools import chain, islice
from pathlib import Path
from typing import Literal

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped] # ships no types

import wengert as wg
from wengert.data import Items, Leaf, Tree, sst
from wengert.nn import Embedding, Linear, TreeLSTM
from wengert.plugins import Adagrad, LearningRate
from wengert.run import Batched
from wengert.training import fit

Layer = wg.ArrayLayer
State = tuple[Layer, Layer]
PARTS: tuple[Literal["train", "dev", "test"], ...] = ("train", "dev", "test")


class Settings(Adagrad, LearningRate):
    """Each number has its own rate, smaller the more it has moved; the states start at 0."""


class Sentiment:
    """A vector and a memory for each node of a tree, and five scores at each."""

    def __init__(self, words: Iterable[str], size: int = 150, seed: int = 0) -> None:
        chance = np.random.default_rng(seed)
        settings, slow = Settings(learning_rate=0.05), Settings(learning_rate=0.005)
        self.known = {word: place for place, word in enumerate(dict.fromkeys(words), 1)}  # 0: not known
        self.rows = Embedding.make(slow, len(self.known) + 1, size, seed=chance, name="words")
        self.lstm = TreeLSTM.make(settings, size, size, seed=chance, name="tree")
        self.scores = Linear.make(settings, size, 5, seed=chance, name="scores")
        self.weights = (self.rows, self.lstm, self.scores)
        self.leaf, self.node = wg.cell(self.lstm.leaf), wg.cell(self.lstm.node)
        self.example = cache(self._example)  # built once a tree, and then recorded once

    def states(self, tree: Tree) -> list[tuple[State, int]]:
        """The state and the label of every node, the root's last."""
        found: list[tuple[State, int]] = []
        done: list[State] = []
        for node in below(tree):
            if isinstance(node, Leaf):
                done.append(self.leaf(self.rows(np.array(self.known.get(node.word, 0)))))
            else:
                right, left = done.pop(), done.pop()
                done.append(self.node(left, right))
            found.append((done[-1], node.label))
        return found

    @wg.cell
    def cost(self, h: Layer, label: np.ndarray) -> Layer:
        return wg.cross_entropy(self.scores(h), label)

    def _example(self, tree: Tree) -> Layer[tuple[()]]:
        return reduce(wg.add, [self.cost(h, np.array(y)) for (h, _), y in self.states(tree)])

    def loss(self, trees: Items[Tree], seed: object = None) -> Layer[tuple[()]]:
        """How surprising the labels of all nodes are, a tree on average."""
        return reduce(wg.add, map(self.example, trees)) / float(len(trees))

    def accuracy(self, trees: Iterable[Tree]) -> tuple[float, float]:
        """The shares of roots whose class is right, of five; and of two, where the root is not neutral."""
        fine, binary, run = [], [], Batched()
        left = iter(trees)
        while batch := list(islice(left, 100)):
            roots = [self.scores(self.states(tree)[-1][0][0]) for tree in batch]
            for tree, scores in zip(batch, wg.predict(wg.stack(roots)).run(run), strict=True):
                fine.append(scores.argmax() == tree.label)
                p = np.exp(scores - scores.max())
                binary += [(p[3:].sum() > p[:2].sum()) == (tree.label > 2)] if tree.label != 2 else []
        return float(np.mean(fine)), float(np.mean(binary))


def below(tree: Tree) -> list[Tree]:
    """All nodes of a tree, children before their parent; no tree is too deep."""
    found, waiting = [], [tree]
    while waiting:
        found.append(node := waiting.pop())
        waiting += () if isinstance(node, Leaf) else node.children
    return found[::-1]


def words(trees: Iterable[Tree]) -> Iterable[str]:
    """All words, in the order of the text."""
    return chain.from_iterable((n.word for n in below(t) if isinstance(n, Leaf)) for t in trees)


def some(trees: Items[Tree], most: int | None) -> Items[Tree]:
    """At most so many trees, from all over the file: a file begins with what people liked."""
    return trees if most is None else trees.take(np.random.default_rng(0).permutation(len(trees))[:most])


def main(folder: Path, epochs: int, size: int, batch: int, seed: int, most: int | None) -> float:
    """Train, print and return the accuracy on the roots of the test trees."""
    train, dev, test = (some(sst(folder, part), most) for part in PARTS)
    model = Sentiment(words(train), size, seed)
    with threadpool_limits(1):  # matrices this small are done before a second thread has woken up
        for epoch in range(1, epochs + 1):
            history = fit(
                model.loss,
                train,
                seed=seed + epoch,
                epochs=1,
                batch_size=batch,
                executor=Batched(),
                show=False,
            )
            fine, binary = model.accuracy(dev)
            print(
                f"epoch {epoch}: loss {history.epochs[-1].loss:.3f} a tree; dev {fine:.1%}, of two {binary:.1%}"
            )
        fine, binary = model.accuracy(test)
    print(f"test: {fine:.1%} of the roots in five classes, {binary:.1%} in two")
    return fine


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path, help="the folder of train.txt, dev.txt, test.txt")
    for name, default in (("epochs", 5), ("size", 150), ("batch", 64), ("seed", 0)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--most", type=int, help="trees of each file, for a quick look")
    given = parser.parse_args()
    main(given.path, given.epochs, given.size, given.batch, given.seed, given.most)
