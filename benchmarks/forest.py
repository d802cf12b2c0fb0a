"""Trees for every library: random ones, and batches of them, seen and unseen.

A random tree of n leaves splits them r and n - r, r uniform, and so on down. An unseen batch has trees of other
shapes, so that nothing which was remembered of earlier steps fits; it costs about as much to compute.

Knows: what a tree is, and in which order batches come, the same for all.
Refuses to know: any library, and what is computed at a node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, cycle, islice
from random import Random
from typing import NamedTuple


class Tree(NamedTuple):
    """A leaf with a word, or a node with two parts; both have a label."""

    word: int
    parts: tuple[Tree, ...] = ()
    label: int = 0


Trees = Sequence[Tree]
EPOCH = 8  # batches that are shuffled
POOL = 2048  # trees of all unseen batches together; then they come again


@dataclass(frozen=True)
class Batches:
    """`seen` come again and again; `unseen` gives those that come but once."""

    seen: Sequence[Trees]
    unseen: Callable[[], Sequence[Trees]]

    def again(self) -> Iterator[Trees]:
        """The seen ones, round and round."""
        return cycle(self.seen)

    def shuffled(self, warm: int, trees: Trees) -> Iterator[Trees]:
        """First as `new`; then batches of these trees, epoch by epoch, each in another order."""
        yield from islice(self.again(), warm)
        chance, size, order = Random(4), len(self.seen[0]), [*trees]
        while True:
            chance.shuffle(order)
            for start in range(0, len(order), size):
                yield order[start : start + size]

    def epoch(self) -> Trees:
        """Some unseen trees."""
        return [*chain.from_iterable(islice(self.unseen(), EPOCH))]

    def new(self, warm: int) -> Iterator[Trees]:
        """First as many of the seen ones as nobody times, then unseen ones."""
        return chain(islice(self.again(), warm), cycle(self.unseen()))


@dataclass(frozen=True)
class Forest:
    """Sizes of random trees; `alike`: all trees of the seen batch have one shape."""

    leaves: int
    words: int
    batch: int
    pool: int = POOL
    alike: bool = False

    def batches(self, alike: bool = False) -> Batches:
        """One batch that is seen, and unseen ones, as many as the pool has trees for.

        `alike`: all trees of an unseen batch have one shape, each batch another.
        """
        count = max(self.pool // self.batch, 2)
        return Batches(self._some(1, 1, self.alike), lambda: self._some(count, 2, alike))

    def _some(self, count: int, seed: int, alike: bool) -> list[Trees]:
        chance = Random(seed)
        return [self._batch(chance, alike) for _ in range(count)]

    def _batch(self, chance: Random, alike: bool) -> Trees:
        if not alike:
            return [grown(self.leaves, self.words, chance) for _ in range(self.batch)]
        first = grown(self.leaves, self.words, chance)
        return [relabelled(first, self.words, chance) for _ in range(self.batch)]


def grown(leaves: int, words: int, chance: Random) -> Tree:
    """A tree whose parts are of any sizes."""
    if leaves == 1:
        return Tree(chance.randrange(words))
    left = chance.randrange(1, leaves)
    return Tree(0, (grown(left, words, chance), grown(leaves - left, words, chance)))


def relabelled(tree: Tree, words: int, chance: Random) -> Tree:
    """The same shape with other words at its leaves."""
    if not tree.parts:
        return Tree(chance.randrange(words))
    return Tree(0, tuple(relabelled(part, words, chance) for part in tree.parts))


def below(trees: Trees) -> list[Tree]:
    """All nodes, parts before their whole."""
    found, waiting = [], list(trees)
    while waiting:
        found.append(node := waiting.pop())
        waiting += node.parts
    return found[::-1]
