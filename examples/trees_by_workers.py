"""A Tree-LSTM over trees of many shapes, each step by workers, each of which batches the trees of its shard by itself.

Run: python examples/trees_by_workers.py, or with the folder of the Stanford Sentiment Treebank's train.txt behind it

Needs the extra `cluster`. The weights have the bits of a training by `Batched` in this process, which is done first.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import reduce
from pathlib import Path

import numpy as np

import wengert as wg
from wengert.cluster import Cluster, Distributed
from wengert.control import Executor
from wengert.data import Items, Leaf, Tree, sst, tree
from wengert.nn import Embedding, Linear, Seeds, TreeLSTM, weights
from wengert.plugins import Adam, LearningRate
from wengert.run import Batched
from wengert.training import fit

State = tuple[wg.ArrayLayer[tuple[int]], wg.ArrayLayer[tuple[int]]]


class Settings(Adam, LearningRate): ...


class Network:
    """The label of a tree from the state of its root."""

    def __init__(self, known: dict[str, int], size: int = 32) -> None:
        settings = Settings(learning_rate=0.01)
        self.known = known
        self.words = Embedding.make(settings, len(known), size, seed=0)
        self.lstm = TreeLSTM.make(settings, size, size, seed=1)
        self.scores = Linear.make(settings, size, 5, seed=2)

    def state(self, given: Tree) -> State:
        """The state of a tree; these trees are not deep."""
        if isinstance(given, Leaf):
            return self.lstm.leaf(self.words(np.array(self.known[given.word])))
        return reduce(self.lstm.node, map(self.state, given.children))

    def loss(self, trees: Items[Tree], _: Seeds | None) -> wg.ArrayLayer[tuple[()]]:
        """How surprising the labels of the roots are."""
        losses = [wg.cross_entropy(self.scores(self.state(x)[0]), np.array(x.label)) for x in trees]
        return reduce(wg.add, losses) / float(len(losses))


def drawn(count: int) -> Items[Tree]:
    """Trees of five to twelve words, whose label is how many of them are good, in fifths."""
    chance, found = np.random.default_rng(0), list[Tree]()
    for _ in range(count):
        words = chance.integers(0, 2, int(chance.integers(5, 13)))
        label = min(4, int(5 * words.mean()))
        parts = [f"({4 * word} {'good' if word else 'bad'})" for word in words]
        while len(parts) > 1:
            i = int(chance.integers(len(parts) - 1))
            parts[i : i + 2] = [f"({label} {parts[i]} {parts[i + 1]})"]
        found.append(tree(parts[0]))
    return Items(found)


def words(given: Tree) -> list[str]:
    """The words of a tree."""
    return [given.word] if isinstance(given, Leaf) else [x for child in given.children for x in words(child)]


def trained(trees: Items[Tree], executor: Executor) -> list[bytes]:
    """The bits of the network after two epochs in four shards."""
    model = Network({word: i for i, word in enumerate(dict.fromkeys(x for t in trees for x in words(t)))})
    history = fit(model.loss, trees, seed=0, epochs=2, batch_size=32, shards=4, executor=executor, show=False)
    print(f"{history.steps} steps, loss {history.epochs[-1].loss:.3f}")
    return [weight.data.tobytes() for weight in weights(model).values()]


def compared(trees: Items[Tree], distributed: Callable[[], Executor]) -> bool:
    """Whether both ways have the same bits."""
    same = trained(trees, Batched()) == trained(trees, distributed())
    print("the same bits" if same else "other bits")
    return same


def main() -> None:
    trees = sst(Path(sys.argv[1]), "train").take(np.arange(500)) if len(sys.argv) > 1 else drawn(200)
    with Cluster(workers=2) as cluster:
        compared(trees, lambda: Distributed(cluster, executor=Batched))


if __name__ == "__main__":
    main()
