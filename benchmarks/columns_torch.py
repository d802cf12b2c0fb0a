"""The network of `network` in PyTorch, in the three ways in which people write it.

Knows: plain tensors, modules with an optimizer, and a whole step that PyTorch compiles.
Refuses to know: any other library. PyTorch is imported when a model is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, NamedTuple

from benchmarks.network import CLASSES, FINE, HEAD, LAYERS, PIXELS, RATE, Batch, Network, Parameters

Tensor = Any  # benchmarks type-check where no peer is installed
Pairs = list[tuple[Tensor, Tensor]]


class Given(NamedTuple):
    """A batch of tensors that share the arrays' memory, and the layers that a step on it updates."""

    x: Tensor
    labels: Tensor
    fine: Tensor
    counts: tuple[
        Any, ...
    ]  # of each built head's loss: floats, or tensors where a float would be compiled in
    heads: Sequence[int]
    used: Pairs


def load(threads: int) -> Any:
    """PyTorch, with so many threads."""
    torch: Any = import_module("torch")
    torch.set_num_threads(threads)
    return torch


def pairs(torch: Any, network: Network, slopes: bool) -> Pairs:
    """All layers as tensors."""
    return [
        (torch.tensor(w, requires_grad=slopes), torch.tensor(b, requires_grad=slopes))
        for w, b in network.parameters()
    ]


def given(torch: Any, network: Network, batch: Batch, dense: Pairs) -> Given:
    x, labels, fine = (torch.from_numpy(a) for a in (batch.x, batch.labels, batch.fine))
    heads = network.heads(batch)
    counts = tuple(batch.counts[head] for head in heads)
    used = [dense[place] for place in network.used(batch)] if dense else []
    return Given(x, labels, fine, counts, heads, used)


def arrays(dense: Pairs) -> Parameters:
    return [(w.detach().numpy(), b.detach().numpy()) for w, b in dense]


def loss(torch: Any, network: Network, given: Given) -> Tensor:
    """The loss of a batch."""
    entropy, addmm, dense = torch.nn.functional.cross_entropy, torch.addmm, given.used
    h: Tensor = None
    for i in range(network.columns):
        (w, b), (v, c) = dense[2 * i : 2 * i + 2]
        y = addmm(c, addmm(b, given.x, w).relu(), v).relu()
        h = y if h is None else h + y
    w, b = dense[network.coarse]
    total = entropy(addmm(b, h, w), given.labels)
    for place, count in zip(range(network.coarse + 1, len(dense), LAYERS), given.counts, strict=True):
        (w1, b1), (w2, b2), (w3, b3) = dense[place : place + LAYERS]
        p = addmm(b1, h, w1).relu()
        fine = entropy(addmm(b3, addmm(b2, p, w2).relu(), w3), given.fine)
        total = total + (fine if network.skip else fine * count)
    return total


class Lean:
    """Without modules and optimizer objects: the faster way to write it."""

    def __init__(self, network: Network, threads: int = 1) -> None:
        self.torch = load(threads)
        self.network = network
        self.dense = pairs(self.torch, network, slopes=True)

    def given(self, batch: Batch) -> Given:
        return given(self.torch, self.network, batch, self.dense)

    def step(self, given: Given) -> float:
        total = loss(self.torch, self.network, given)
        total.backward()
        with self.torch.no_grad():
            for pair in given.used:
                for p in pair:
                    p.sub_(p.grad, alpha=RATE)
                    p.grad = None
        return float(total.detach())

    def weights(self) -> Parameters:
        return arrays(self.dense)


class Compiled:
    """The whole step as one graph: forward, backward and update in place."""

    def __init__(self, network: Network, threads: int = 1) -> None:
        self.torch = torch = load(threads)
        self.network = network
        self.dense = pairs(torch, network, slopes=False)

        def whole(given: Given) -> Tensor:
            slopes, total = torch.func.grad_and_value(
                lambda used: loss(torch, network, given._replace(used=used))
            )(given.used)
            for pair, both in zip(given.used, slopes, strict=True):
                for p, slope in zip(pair, both, strict=True):
                    p.sub_(slope, alpha=RATE)
            return total

        self.whole = torch.compile(whole)

    def given(self, batch: Batch) -> Given:
        made = given(self.torch, self.network, batch, self.dense)
        return made._replace(counts=tuple(map(self.torch.tensor, made.counts)), heads=())

    def step(self, given: Given) -> float:
        return float(self.whole(given))

    def weights(self) -> Parameters:
        return arrays(self.dense)


class Modules:
    """`nn.Module` and `optim.SGD`: the way of the tutorials."""

    def __init__(self, network: Network, threads: int = 1) -> None:
        self.torch = torch = load(threads)
        self.network = network
        nn, width = torch.nn, network.width
        self.model = nn.Module()
        self.model.columns = nn.ModuleList(
            nn.Sequential(nn.Linear(PIXELS, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
            for _ in range(network.columns)
        )
        self.model.coarse = nn.Linear(width, CLASSES)
        self.model.fine = nn.ModuleList(
            nn.Sequential(
                *(nn.Linear(width, HEAD), nn.ReLU(), nn.Linear(HEAD, HEAD), nn.ReLU(), nn.Linear(HEAD, FINE))
            )
            for _ in range(CLASSES)
        )
        order = [*self.model.columns, self.model.coarse, *self.model.fine]
        self.linear = [x for part in order for x in part.modules() if isinstance(x, nn.Linear)]
        with torch.no_grad():
            for layer, (w, b) in zip(self.linear, network.parameters(), strict=True):
                layer.weight.copy_(torch.from_numpy(w.T))
                layer.bias.copy_(torch.from_numpy(b))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=RATE)
        self.entropy = nn.CrossEntropyLoss()

    def given(self, batch: Batch) -> Given:
        return given(self.torch, self.network, batch, [])

    def step(self, given: Given) -> float:
        model = self.model
        self.optimizer.zero_grad()
        h = sum(column(given.x) for column in model.columns)
        total = self.entropy(model.coarse(h), given.labels)
        for head, count in zip(given.heads, given.counts, strict=True):
            fine = self.entropy(model.fine[head](h), given.fine)
            total = total + (fine if self.network.skip else fine * count)
        total.backward()
        self.optimizer.step()
        return float(total.detach())

    def weights(self) -> Parameters:
        return [(layer.weight.detach().numpy().T, layer.bias.detach().numpy()) for layer in self.linear]
