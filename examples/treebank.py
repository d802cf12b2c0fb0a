"""Table 2 as a recipe: the network of `sentiment.py` with word vectors, dropout, the best weights and several seeds.

`python examples/treebank.py PATH` trains on `PATH/train.txt`, and measures on `dev.txt` and `test.txt`. The
network is written for one tree, as a walk along it; `run.Batched` runs a whole batch of trees of different
shapes at once. Every node has a label from 0, very negative, to 4; the loss is summed over all of them.

Table 2 of the paper on TensorFlow Fold is `--size 300 --batch 100 --epochs 20 --keep 0.75 --seeds 30 --vectors FILE`: a
file of word vectors, a word and its numbers a line, as GloVe's are. The weights after the best epoch on `dev.txt` are
kept; several seeds also answer together, by the mean of their probabilities. Without such a file words are learned from
scratch, and the accuracy is below that of published results, which begin with word vectors of 840 billion tokens.
Sources: Tai, Socher and Manning 2015; Looks et al. 2017, section 4.2; Semeniuta, Severyn and Barth 2016.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from functools import cache, reduce
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped] # ships no types

import wengert as wg
from wengert.data import Items, Leaf, Tree, sst
from wengert.nn import Embedding, Linear, TreeLSTM
from wengert.plugins import Adagrad, LearningRate
from wengert.run import Batched
from wengert.saving import load, save
from wengert.training import fit

Layer = wg.ArrayLayer
State = tuple[Layer, Layer]
Mask = np.ndarray[Any, np.dtype[np.float32]]  # Any: of every shape
PARTS: tuple[Literal["train", "dev", "test"], ...] = ("train", "dev", "test")


class Settings(Adagrad, LearningRate):
    """Each number has its own rate, smaller the more it has moved; the states start at 0."""


class Sentiment:
    """A vector and a memory for each node of a tree, and five scores at each.

    `keep` is the share of numbers that training keeps: of words, of candidates of the memory, and of what is scored.
    """

    def __init__(
        self,
        words: Iterable[str],
        size: int = 150,
        seed: int = 0,
        keep: float = 1.0,
        vectors: dict[str, np.ndarray] | None = None,
    ) -> None:
        chance = np.random.default_rng(seed)
        settings, slow = Settings(learning_rate=0.05), Settings(learning_rate=0.005)
        self.known = {word: place for place, word in enumerate(dict.fromkeys(words), 1)}  # 0: not known
        if vectors is None:
            self.rows = Embedding.make(slow, len(self.known) + 1, size, seed=chance, name="words")
        else:
            width = len(next(iter(vectors.values())))
            table = (0.1 * chance.standard_normal((len(self.known) + 1, width))).astype(np.float32)
            for word in self.known.keys() & vectors.keys():
                table[self.known[word]] = vectors[word]
            self.rows = Embedding(slow.array_weight(table, name="words.table"))
        self.lstm = TreeLSTM.make(settings, self.rows.table.shape[1], size, seed=chance, name="tree")
        self.scores = Linear.make(settings, size, 5, seed=chance, name="scores")
        self.weights = (self.rows, self.lstm, self.scores)
        self.leaf, self.node, self.keep = wg.cell(self._leaf), wg.cell(self._node), keep
        self.example = cache(self._example)  # built once a tree, and then recorded once

    def _leaf(self, word: Layer, masks: tuple[Mask, Mask] | None = None) -> State:
        return self.lstm.leaf(word) if masks is None else self.lstm.leaf(word * masks[0], mask=masks[1])

    def _node(self, left: State, right: State, mask: Mask | None = None) -> State:
        return self.lstm.node(left, right, mask=mask)

    def states(self, tree: Tree, chance: np.random.Generator | None = None) -> list[tuple[State, int]]:
        """The state and the label of every node, the root's last; numbers are dropped by `chance`."""
        found: list[tuple[State, int]] = []
        done: list[State] = []
        for node in below(tree):
            if isinstance(node, Leaf):
                word = self.rows(np.array(self.known.get(node.word, 0)))
                masks = None if chance is None else (self.mask(chance, *word.shape), self.mask(chance))
                done.append(self.leaf(word) if masks is None else self.leaf(word, masks))
            else:
                right, left = done.pop(), done.pop()
                done.append(
                    self.node(left, right) if chance is None else self.node(left, right, self.mask(chance))
                )
            found.append((done[-1], node.label))
        return found

    def mask(self, chance: np.random.Generator, size: int | None = None) -> Mask:
        """0 where a number is dropped, and elsewhere what keeps the mean."""
        kept = chance.random(self.lstm.left.shape[0] if size is None else size) < self.keep
        return (kept / self.keep).astype(np.float32)

    @wg.cell
    def cost(self, h: Layer, label: np.ndarray) -> Layer:
        return wg.cross_entropy(self.scores(h), label)

    def _example(self, tree: Tree) -> Layer[tuple[()]]:
        return reduce(wg.add, [self.cost(h, np.array(y)) for (h, _), y in self.states(tree)])

    def loss(self, trees: Items[Tree], seed: int | tuple[int, ...] | None = None) -> Layer[tuple[()]]:
        """How surprising the labels of all nodes are, a tree on average; numbers are dropped by the seed of a step."""
        if seed is None or self.keep == 1.0:
            return reduce(wg.add, map(self.example, trees)) / float(len(trees))
        chance = np.random.default_rng(seed)
        costs = [
            self.cost(h * self.mask(chance), np.array(y))
            for tree in trees
            for (h, _), y in self.states(tree, chance)
        ]
        return reduce(wg.add, costs) / float(len(trees))

    def probabilities(self, trees: Iterable[Tree]) -> np.ndarray:
        """Those of the five classes of each root."""
        found, run = [], Batched()
        left = iter(trees)
        while batch := list(islice(left, 100)):
            roots = [self.scores(self.states(tree)[-1][0][0]) for tree in batch]
            found.append(wg.softmax(wg.stack(roots)).predict().run(run))
        return np.concatenate(found)

    def accuracy(self, trees: Items[Tree]) -> tuple[float, float]:
        """The shares of roots whose class is right, of five; and of two, where the root is not neutral."""
        return accuracies(self.probabilities(trees), trees)


def accuracies(p: np.ndarray, trees: Iterable[Tree]) -> tuple[float, float]:
    """The shares of roots that probabilities name right, of five classes; and of two, where the root is not neutral."""
    labels = np.array([tree.label for tree in trees])
    told = p[:, 3:].sum(axis=1) > p[:, :2].sum(axis=1)
    return float(np.mean(p.argmax(axis=1) == labels)), float(np.mean((told == (labels > 2))[labels != 2]))


def vectors_of(path: Path, words: Iterable[str]) -> dict[str, np.ndarray]:
    """The vectors of these words in a file that has a word and its numbers a line, as GloVe's have."""
    wanted, found = set(words), {}
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            word, *numbers = line.rstrip("\n").split(" ")
            if word in wanted:
                found[word] = np.array(numbers, np.float32)
            if len(numbers) != len(found.get(word, numbers)) or (
                found and len(numbers) != len(next(iter(found.values())))
            ):
                raise ValueError(
                    f"{path}, line {number}: {len(numbers)} numbers, and lines before have others"
                )
    if not found:
        raise ValueError(f"{path} has a vector for none of the {len(wanted)} words of the trees")
    return found


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


def trained(
    model: Sentiment, train: Items[Tree], dev: Items[Tree], epochs: int, batch: int, seed: int
) -> None:
    """Train, and leave the weights that were best on the roots of `dev`."""
    best, executor = -1.0, Batched()
    with TemporaryDirectory() as folder:
        kept = Path(folder) / "best.safetensors"
        for epoch in range(1, epochs + 1):
            history = fit(
                model.loss,
                train,
                seed=seed + epoch,
                epochs=1,
                batch_size=batch,
                executor=executor,
                show=False,
            )
            fine, binary = model.accuracy(dev)
            print(
                f"epoch {epoch}: loss {history.epochs[-1].loss:.3f} a tree; dev {fine:.1%}, of two {binary:.1%}",
                flush=True,
            )
            if fine > best:
                best = fine
                save(kept, model.weights)
        load(kept, model.weights)


def main(
    folder: Path,
    epochs: int,
    size: int,
    batch: int,
    seed: int,
    most: int | None,
    keep: float = 1.0,
    vectors: Path | None = None,
    seeds: int = 1,
) -> float:
    """Train, print and return the accuracy on the roots of the test trees: of all models together."""
    train, dev, test = (some(sst(folder, part), most) for part in PARTS)
    known: Iterable[str] = words(train)
    begun = None
    if vectors is not None:
        begun = vectors_of(vectors, words(chain(train, dev, test)))
        known = chain(known, begun)
    known, told, found = list(known), [], []
    with threadpool_limits(1):  # matrices this small are done before a second thread has woken up
        for one in range(seed, seed + seeds):
            model = Sentiment(known, size, one, keep, begun)
            trained(model, train, dev, epochs, batch, one)
            told.append(model.probabilities(test))
            found.append(accuracies(told[-1], test))
            print(
                f"seed {one}: {found[-1][0]:.1%} of the test's roots in five classes, {found[-1][1]:.1%} in two"
            )
    fine, binary = accuracies(np.mean(told, axis=0), test)
    if seeds > 1:
        for name, values in zip(("five classes", "two"), zip(*found, strict=True), strict=True):
            print(f"{seeds} seeds: {np.mean(values):.1%} in {name}, deviation {np.std(values, ddof=1):.1%}")
    print(f"test: {fine:.1%} of the roots in five classes, {binary:.1%} in two" + " together" * (seeds > 1))
    return fine


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path, help="the folder of train.txt, dev.txt, test.txt")
    for name, default in (("epochs", 5), ("size", 150), ("batch", 64), ("seed", 0), ("seeds", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--most", type=int, help="trees of each file, for a quick look")
    parser.add_argument("--keep", type=float, default=1.0, help="the share of numbers that training keeps")
    parser.add_argument("--vectors", type=Path, help="word vectors: a word and its numbers a line")
    given = vars(parser.parse_args())
    main(given.pop("path"), **given)
