"""The network of `sentiment` in PyTorch: node by node, as people write it, and batched level by level.

Knows: both ways; `optim.Adagrad` with sparse rows of words.
Refuses to know: any other library. PyTorch is imported when a model is made.
"""

from __future__ import annotations

from itertools import cycle
from typing import Any

from benchmarks.columns_torch import Tensor, load
from benchmarks.forest import Tree, Trees, below
from benchmarks.levels import planned
from benchmarks.sentiment import EPS, WORD_RATE, Sentiment
from benchmarks.trees_torch import Moves, moves
from benchmarks.workload import Step

State = tuple[Tensor, Tensor]


class Torch:
    """The weights and the step; how states are found is left to the two below."""

    def __init__(self, task: Sentiment) -> None:
        self.torch = torch = load(1)
        self.task = task
        self.weights = [torch.tensor(w, requires_grad=True) for w in task.weights()]
        words, *others = self.weights
        self.optimizer = torch.optim.Adagrad(
            [{"params": [words], "lr": WORD_RATE}, {"params": others}], lr=task.rate, eps=EPS
        )

    def leaves(self, words: Tensor) -> State:
        """A row for each word."""
        torch, (rows, leaf, bias) = self.torch, self.weights[:3]
        x = torch.nn.functional.embedding(words, rows, sparse=True)
        gates, u = torch.addmm(bias, x, leaf).split((2 * self.task.size, self.task.size), 1)
        i, o = gates.sigmoid().chunk(2, 1)
        c = i * u.tanh()
        return o * c.tanh(), c

    def node(self, h: Tensor, c: Tensor, k: Tensor, d: Tensor) -> State:
        """A row, or as many as there are."""
        torch, (left, right, bias) = self.torch, self.weights[3:6]
        z = torch.addmm(torch.addmm(bias, h, left), k, right)
        gates, u = z.split((4 * self.task.size, self.task.size), 1)
        i, f, g, o = gates.sigmoid().chunk(4, 1)
        memory = i * u.tanh() + f * c + g * d
        return o * memory.tanh(), memory

    def states(self, given: Any, /) -> tuple[Tensor, Tensor, int]:  # Any: what each way makes of a batch
        """The states of all nodes, their labels, and the number of trees."""
        raise NotImplementedError

    def step(self, given: Any) -> float:
        torch, (scores, bias) = self.torch, self.weights[6:]
        h, labels, count = self.states(given)
        entropy = torch.nn.functional.cross_entropy(torch.addmm(bias, h, scores), labels, reduction="sum")
        loss = entropy / count
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return float(loss.detach())


class ByNode(Torch):
    """A recursion along each tree; leaves and scores are computed at once, which favours it."""

    def states(self, given: Trees, /) -> tuple[Tensor, Tensor, int]:
        torch = self.torch
        words = torch.tensor([node.word for node in below(given) if not node.parts])
        h, c = self.leaves(words)
        rows = iter(zip(h.split(1), c.split(1), strict=True))
        found: list[Tensor] = []
        labels: list[int] = []

        def state(tree: Tree) -> State:
            made: State
            if tree.parts:
                left, right = tree.parts
                made = self.node(*state(left), *state(right))
            else:
                made = next(rows)
            found.append(made[0])
            labels.append(tree.label)
            return made

        for tree in given:
            state(tree)
        return torch.cat(found), torch.tensor(labels), len(given)


class ByLevel(Torch):
    """All nodes of a level at once."""

    def states(self, given: tuple[Tensor, Tensor, list[Moves], Tensor], /) -> tuple[Tensor, Tensor, int]:
        torch = self.torch
        words, labels, levels, roots = given
        h, c = self.leaves(words)
        found = [h]
        for at in levels:
            above, memory = self.node(h[at.left], c[at.left], h[at.right], c[at.right])
            found.append(above)
            h, c = torch.cat((above, h[at.rest])), torch.cat((memory, c[at.rest]))
        return torch.cat(found), labels, len(roots)

    def given(self, trees: Trees) -> tuple[Tensor, Tensor, list[Moves], Tensor]:
        plan, tensor = planned(trees), self.torch.from_numpy
        return (tensor(plan.words), tensor(plan.labels), *moves(self.torch, plan))


def by_node(task: Sentiment) -> Step:
    """A step on batches that come again."""
    model, around = ByNode(task), task.batches().again()
    return lambda: model.step(next(around))


def by_level(task: Sentiment) -> Step:
    """The same; plans are made before anything is timed."""
    model = ByLevel(task)
    around = cycle([model.given(trees) for trees in task.batches().seen])
    return lambda: model.step(next(around))
