"""The network of `sentiment` in DyNet, which batches single operations by itself.

Knows: DyNet's names for it. A collection for words, as they have a rate of their own.
Refuses to know: any other library. DyNet is imported when a model is made.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from benchmarks.forest import Tree
from benchmarks.sentiment import EPS, WORD_RATE, Sentiment
from benchmarks.workload import Step

Expression = Any  # benchmarks type-check where no peer is installed
State = tuple[Expression, Expression]


class DyNet:
    """A recursion along each tree; all that batches it is an option."""

    def __init__(self, task: Sentiment) -> None:
        config: Any = import_module("dynet_config")
        config.set(mem=1024, autobatch=True)
        self.dy: Any = import_module("dynet")
        self.task = task
        first, *others = task.weights()
        rows, rest = self.dy.ParameterCollection(), self.dy.ParameterCollection()
        self.collections = rows, rest  # a trainer does not keep its collection alive
        self.words = rows.lookup_parameters_from_numpy(first)
        self.parameters = [rest.parameters_from_numpy(w.T.copy()) for w in others]
        self.trainers = [
            self.dy.AdagradTrainer(collection, learning_rate=rate, eps=EPS**2)
            for collection, rate in ((rows, WORD_RATE), (rest, task.rate))
        ]
        for trainer in self.trainers:
            trainer.set_clip_threshold(-1.0)  # as nobody else does

    def memory(self, z: Expression, gates: int) -> list[Expression]:
        """The sigmoids, and last the tangent."""
        dy, n = self.dy, self.task.size
        parts = [dy.pick_range(z, k * n, (k + 1) * n) for k in range(gates)]
        return [*map(dy.logistic, parts[:-1]), dy.tanh(parts[-1])]

    def state(self, tree: Tree, costs: list[Expression]) -> State:
        dy = self.dy
        leaf, leaf_bias, left, right, bias, scores, score_bias = self.parameters
        if tree.parts:
            (h, c), (k, d) = (self.state(part, costs) for part in tree.parts)
            i, f, g, o, u = self.memory(dy.affine_transform([bias, left, h, right, k]), 5)
            c = dy.cmult(i, u) + dy.cmult(f, c) + dy.cmult(g, d)
        else:
            i, o, u = self.memory(dy.affine_transform([leaf_bias, leaf, self.words[tree.word]]), 3)
            c = dy.cmult(i, u)
        h = dy.cmult(o, dy.tanh(c))
        costs.append(dy.pickneglogsoftmax(dy.affine_transform([score_bias, scores, h]), tree.label))
        return h, c


def dynet(task: Sentiment) -> Step:
    """A step on batches that come again."""
    model, around = DyNet(task), task.batches().again()
    dy = model.dy

    def step() -> float:
        dy.renew_cg()
        costs: list[Expression] = []
        trees = next(around)
        for tree in trees:
            model.state(tree, costs)
        loss = dy.esum(costs) / len(trees)
        value = float(loss.value())
        loss.backward()
        for trainer in model.trainers:
            trainer.update()
        return value

    return step
