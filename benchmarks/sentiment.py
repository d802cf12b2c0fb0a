"""Sentiment of parsed sentences: the trees, and the network's first weights.

A leaf is its word's row x: i, o, u = x W + b. A node has i, f, k, o, u = h_left L + h_right R + d. Every node has five
scores h S + s and a label; the loss is the cross-entropy of all nodes, a tree on average. Adagrad with rate 0.05,
word rows with 0.005, and only of words that were read.

Knows: where trees come from, and sizes.
Refuses to know: how anything is computed.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

import numpy as np

from benchmarks.forest import Batches, Tree, Trees
from benchmarks.network import Floats
from wengert.data import Leaf, sst
from wengert.data import Tree as Parsed

FOLDER = "WENGERT_SST"  # the environment's name for the folder with train.txt
CLASSES = 5
RATE, WORD_RATE, EPS = 0.05, 0.005, 1e-8
SEEN = 8  # batches that come again
WORDS, LEAVES = 18_278, (19.2, 9.3, 52)  # of the real ones: words; leaves' mean, deviation and most


@dataclass(frozen=True)
class Corpus:
    """Trees, and how many words there are."""

    trees: Trees
    words: int


@dataclass(frozen=True)
class Sentiment:
    """Sizes; `made`: of stand-ins for the real trees, so many."""

    size: int
    batch: int
    made: int | None = None
    rate: float = RATE
    warm: int = 3

    def corpus(self) -> Corpus:
        return real() if self.made is None else stand_in(self.made)

    def weights(self) -> list[Floats]:
        """Word rows, leaf and its bias, left, right and their bias, scores and their bias."""
        chance, n = np.random.default_rng(0), self.size

        def uniform(rows: int, columns: int, among: int) -> Floats:
            most = np.sqrt(6 / (rows + among))
            return chance.uniform(-most, most, (rows, columns)).astype(np.float32)

        words = chance.standard_normal((self.corpus().words, n)).astype(np.float32) / np.float32(np.sqrt(n))
        bias = np.repeat(np.array([0, 1, 1, 0, 0], np.float32), n)
        return [
            words,
            uniform(n, 3 * n, n),
            np.zeros(3 * n, np.float32),
            uniform(n, 5 * n, n),
            uniform(n, 5 * n, n),
            bias,
            uniform(n, CLASSES, CLASSES),
            np.zeros(CLASSES, np.float32),
        ]

    def batches(self) -> Batches:
        """All trees in a random order; the first batches are those that are seen."""
        trees = self.corpus().trees
        order = np.random.default_rng(1).permutation(len(trees)).tolist()
        starts = range(0, len(order) - self.batch + 1, self.batch)
        several = [[trees[i] for i in order[start : start + self.batch]] for start in starts]
        seen = min(SEEN, len(several) // 2)
        return Batches(several[:seen], lambda: several[seen:])


def absent() -> str | None:
    """Why the real trees cannot be read."""
    if FOLDER not in os.environ:
        return f"no trees: set {FOLDER}, or --sst, to the folder of the treebank's train.txt"
    path = Path(os.environ[FOLDER]) / "train.txt"
    return None if path.exists() else f"no trees: {path} is not there"


@cache
def real() -> Corpus:
    """The training trees of the Stanford Sentiment Treebank."""
    known: dict[str, int] = {}

    def read(tree: Parsed) -> Tree:
        if isinstance(tree, Leaf):
            return Tree(known.setdefault(tree.word, len(known)), (), tree.label)
        return Tree(0, tuple(map(read, tree.children)), tree.label)

    return Corpus([read(tree) for tree in sst(os.environ[FOLDER], "train")], len(known))


@cache
def stand_in(count: int) -> Corpus:
    """As many leaves and words as real trees have; common words are as common."""
    chance, (mean, deviation, most) = Random(3), LEAVES

    def grow(leaves: int) -> Tree:
        label = chance.randrange(CLASSES)
        if leaves == 1:
            return Tree(int(WORDS ** chance.random()) - 1, (), label)
        left = chance.randrange(1, leaves)
        return Tree(0, (grow(left), grow(leaves - left)), label)

    sizes = (min(max(round(chance.gauss(mean, deviation)), 2), most) for _ in range(count))
    return Corpus([grow(size) for size in sizes], WORDS)
