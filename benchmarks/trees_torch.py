"""The Tree-LSTM of `tree_lstm` in PyTorch: node by node, as people write it, and batched level by level.

Knows: both ways; that word rows of a tree are looked up at once, which is faster than leaf by leaf.
Refuses to know: any other library. PyTorch is imported when a model is made.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import cycle
from typing import Any

import numpy as np

from benchmarks.columns_torch import Tensor, load
from benchmarks.forest import Tree, Trees, below
from benchmarks.levels import Places, Plan, planned
from benchmarks.tree_lstm import Task
from benchmarks.workload import Step


@dataclass(frozen=True)
class Moves:
    """A level's parts as places in the table of states that nobody has read, and which of those stay."""

    left: Tensor
    right: Tensor
    rest: Tensor


def moves(torch: Any, plan: Plan) -> tuple[list[Moves], Tensor]:
    """For each level; at the end, where the roots stand. Every state is read once, so tables grow narrow."""
    made = []
    waiting: Places = np.arange(plan.leaves)  # rows of the plan whose wholes are still to come
    for level in plan.levels:
        place = np.full(plan.size, -1)
        place[waiting] = np.arange(len(waiting))
        left, right = place[level.left], place[level.right]
        stays = np.ones(len(waiting), bool)
        stays[left] = stays[right] = False
        rest = np.flatnonzero(stays)
        made.append(Moves(*map(torch.from_numpy, (left, right, rest))))
        waiting = np.concatenate((np.arange(level.rows.start, level.rows.stop), waiting[rest]))
    place = np.full(plan.size, -1)
    place[waiting] = np.arange(len(waiting))
    return made, torch.from_numpy(place[plan.roots])


class Torch:
    """The weights and the step; how states are found is left to the two below."""

    def __init__(self, task: Task) -> None:
        self.torch = torch = load(1)
        self.task = task
        self.words, self.gates, self.bias = self.weights = [
            torch.tensor(w, requires_grad=True) for w in task.weights()
        ]

    def node(self, h: Tensor, c: Tensor, k: Tensor, d: Tensor) -> tuple[Tensor, Tensor]:
        """A row, or as many as there are."""
        torch, size = self.torch, self.task.size
        z = torch.addmm(self.bias, torch.cat((h, k), 1), self.gates)
        gates, u = z.split((4 * size, size), 1)
        i, f, g, o = gates.sigmoid().chunk(4, 1)
        memory = i * u.tanh() + f * c + g * d
        return o * memory.tanh(), memory

    def roots(self, given: Any, /) -> Tensor:  # Any: what each way makes of a batch
        raise NotImplementedError

    def loss(self, given: Any) -> Tensor:
        roots = self.roots(given)
        return roots.square().sum() * (0.5 / (self.task.size * len(roots)))

    def step(self, given: Any) -> float:
        torch = self.torch
        if not self.task.train:
            with torch.no_grad():
                return float(self.loss(given))
        loss = self.loss(given)
        loss.backward()
        with torch.no_grad():
            for w in self.weights:
                w.sub_(w.grad, alpha=self.task.rate)
                w.grad = None
        return float(loss.detach())


class ByNode(Torch):
    """A recursion along each tree."""

    def roots(self, given: Trees, /) -> Tensor:
        torch = self.torch
        words = torch.tensor([node.word for node in below(given) if not node.parts])
        rows = iter(torch.nn.functional.embedding(words, self.words).split(1))
        zero = torch.zeros(1, self.task.size)

        def state(tree: Tree) -> tuple[Tensor, Tensor]:
            if not tree.parts:
                return next(rows), zero
            left, right = tree.parts
            return self.node(*state(left), *state(right))

        found: list[Tensor] = [state(tree)[0] for tree in given]
        return torch.cat(found)


class ByLevel(Torch):
    """All nodes of a level at once."""

    def roots(self, given: tuple[Tensor, list[Moves], Tensor], /) -> Tensor:
        torch = self.torch
        words, levels, roots = given
        h = torch.nn.functional.embedding(words, self.words)
        c = torch.zeros_like(h)
        for at in levels:
            above, memory = self.node(h[at.left], c[at.left], h[at.right], c[at.right])
            h, c = torch.cat((above, h[at.rest])), torch.cat((memory, c[at.rest]))
        return h[roots]

    def given(self, trees: Trees) -> tuple[Tensor, list[Moves], Tensor]:
        plan = planned(trees)
        return (self.torch.from_numpy(plan.words), *moves(self.torch, plan))


def by_node(task: Task) -> Step:
    """A step on the batch that comes again."""
    model, around = ByNode(task), task.batches().again()
    return lambda: model.step(next(around))


def by_level(task: Task) -> Step:
    """The same; plans are made before anything is timed."""
    model = ByLevel(task)
    around = cycle([model.given(trees) for trees in task.batches().seen])
    return lambda: model.step(next(around))
