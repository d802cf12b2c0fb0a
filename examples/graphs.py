"""Message passing over graphs with cycles, in blocks: which nodes are near the marked one: `wengert.fold`.

`python examples/graphs.py` makes up graphs of any size, marks a node in each, and learns which nodes are at most three
edges away from it. Edges are two columns of numbers of nodes, as long as each graph has them; `segment_sum` adds up all
messages that reach a node, so that a round is a few operations however many edges there are.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped] # ships no types

import wengert as wg
from wengert import fold as td
from wengert.plugins import Adam, LearningRate
from wengert.training import InferPlan, TrainPlan

ROUNDS = 3
Graph = dict[str, Any]  # lists: a vector for each node, the two ends of each edge, and a label for each node


class Settings(Adam, LearningRate):
    """A rate for each number."""


def network(size: int, seed: int) -> td.Block[Graph, Any]:  # Any: a row of scores for each node
    """Two scores for each node of a graph."""
    settings = Settings(learning_rate=0.005)
    chance = np.random.default_rng(seed)

    def matrix(name: str, rows: int, columns: int) -> Any:  # Any: a weight of this shape
        begin = chance.normal(0.0, rows**-0.5, (rows, columns)).astype(np.float32)
        return settings.array_weight(begin, name=name)

    first, own, sent, last = (
        matrix(name, n, m)
        for name, n, m in (("first", 2, size), ("own", size, size), ("sent", size, size), ("last", size, 2))
    )

    def passed(x: td.Tensors, start: wg.IntegerArray, end: wg.IntegerArray) -> td.Tensors:
        h = wg.relu(x @ first)
        for _ in range(ROUNDS):
            reached = wg.segment_sum(wg.take(h @ sent, start), end, num_segments=x.shape[0])
            h = wg.relu(h @ own + wg.tanh(reached))
        scores: td.Tensors = h @ last
        return scores

    numbers = td.Map(td.Scalar("int64")) >> td.Stack()
    parts = td.Record([("nodes", td.Map(td.Vector(2)) >> td.Stack()), ("start", numbers), ("end", numbers)])
    graph: td.Block[Graph, Any] = parts >> td.Function(passed)
    return graph


def graphs(count: int, seed: int) -> list[Graph]:
    """Cycles with a few chords, on which edges lead both ways."""
    chance, found = np.random.default_rng(seed), []
    for n in chance.integers(8, 17, size=count):
        ring = [(i, (i + 1) % n) for i in range(n)]
        chords = [tuple(chance.choice(n, 2, replace=False)) for _ in range(int(n) // 6)]
        ends = [(int(a), int(b)) for a, b in ring + chords]
        ends += [(b, a) for a, b in ends]
        marked, near = int(chance.integers(n)), np.zeros(n, bool)
        near[marked] = True
        for _ in range(ROUNDS):
            near[[b for a, b in ends if near[a]]] = True
        found.append(
            {
                "nodes": [[1.0, float(i == marked)] for i in range(n)],
                "start": [a for a, _ in ends],
                "end": [b for _, b in ends],
                "near": near.astype(int).tolist(),
            }
        )
    return found


def main(count: int = 400, epochs: int = 20, size: int = 24, seed: int = 0) -> float:
    """Train, print and return the part of the nodes of new graphs that are told right."""
    block = network(size, seed)
    labels = td.GetItem("near") >> td.Map(td.Scalar("int64")) >> td.Stack()
    both = td.AllOf(block, labels)
    compiler = td.Compiler.create(both >> td.Function(lambda scores, tags: wg.cross_entropy(scores, tags)))
    train, test = graphs(count, 1), graphs(200, 2)
    with threadpool_limits(1):  # matrices this small are done before a second thread has woken up
        plan = TrainPlan(compiler=compiler, examples=train, epochs=epochs, batch_size=20, seed=seed)
        plan.losses = {"near": lambda batch: wg.mean(batch.output_tensors[0])}
        history = plan.run()
        said = InferPlan(compiler=td.Compiler.create(block, lists=True), examples=test).run()
        right = np.concatenate(
            [scores.argmax(axis=1) == graph["near"] for (scores,), graph in zip(said, test, strict=True)]
        )
    accuracy = float(right.mean())
    usual = float(np.mean([label for graph in test for label in graph["near"]]))
    print(f"loss {history.epochs[0].loss:.3f} in the first epoch, {history.epochs[-1].loss:.3f} in the last")
    print(
        f"graphs.py: {accuracy:.1%} of the nodes of new graphs are told right, as near the marked one or far; "
        f"{max(usual, 1 - usual):.1%} would be by saying the same of all"
    )
    return accuracy


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("count", 400), ("epochs", 20), ("size", 24), ("seed", 0)):
        parser.add_argument(f"--{name}", type=int, default=default)
    main(**vars(parser.parse_args()))
