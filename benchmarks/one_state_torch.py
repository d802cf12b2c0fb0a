"""The cell of `one_state` in PyTorch, node after node, a row a tree.

Knows: plain tensors.
Refuses to know: any other library. PyTorch is imported when a model is made.
"""

from __future__ import annotations

from itertools import cycle

from benchmarks.columns_torch import Tensor, load
from benchmarks.one_state import Cell, stacked
from benchmarks.workload import Step


class Torch:
    """The same in PyTorch."""

    def __init__(self, task: Cell) -> None:
        self.torch = torch = load(1)
        self.task = task
        self.weights = [torch.tensor(w, requires_grad=True) for w in task.weights()]

    def loss(self, words: Tensor, parts: list[tuple[int, int]]) -> Tensor:
        torch, size = self.torch, self.task.size
        rows, first, first_bias, second, second_bias = self.weights
        states = [*torch.nn.functional.embedding(words, rows).unbind(0)]
        for a, b in parts:
            h = torch.addmm(first_bias, torch.cat((states[a], states[b]), 1), first).relu()
            gates, g = torch.addmm(second_bias, h, second).split((3 * size, size), 1)
            f, k, i = gates.sigmoid().chunk(3, 1)
            states.append(f * states[a] + k * states[b] + i * g.tanh())
        return states[-1].square().sum() * (0.5 * self.task.scale)

    def step(self, words: Tensor, parts: list[tuple[int, int]]) -> float:
        if not self.task.train:
            with self.torch.no_grad():
                return float(self.loss(words, parts))
        loss = self.loss(words, parts)
        loss.backward()
        with self.torch.no_grad():
            for w in self.weights:
                w.sub_(w.grad, alpha=self.task.rate)
                w.grad = None
        return float(loss.detach())


def by_torch(task: Cell) -> Step:
    """A kept program for one shape; as far as PyTorch keeps one."""
    model, several = Torch(task), [stacked(trees) for trees in task.forest.batches().seen]
    around = cycle([(model.torch.from_numpy(x.words.copy()), x.parts) for x in several])
    return lambda: model.step(*next(around))
