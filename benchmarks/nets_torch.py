"""Networks as people train them in PyTorch: eager, functions and fused layers, with its fused optimizers.

Knows: PyTorch.
Refuses to know: sizes, and how time is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from itertools import cycle
from typing import Any

from benchmarks import nets_data as data
from benchmarks.nets_data import DECAY, EPS, RATE, Given, Sizes
from benchmarks.workload import Step

Value = Any  # a tensor


def _torch() -> Any:  # benchmarks type-check where no peer is installed
    library: Any = import_module("torch")
    library.set_num_threads(1)
    return library


class _Net:
    """Parameters by name, and batches as tensors."""

    def __init__(self, given: Given, *, trained: bool = True) -> None:
        self.torch = _torch()
        self.weights = {
            name: self.torch.tensor(x, requires_grad=trained) for name, x in given.weights.items()
        }
        self.batches = cycle([tuple(map(self.torch.tensor, batch)) for batch in given.batches])

    def __getitem__(self, name: str) -> Value:
        return self.weights[name]

    def linear(self, name: str, x: Value) -> Value:
        if x.dim() == 2:
            return self.torch.addmm(self[f"{name} bias"], x, self[name])
        return x @ self[name] + self[f"{name} bias"]

    def norm(self, name: str, x: Value) -> Value:
        return self.torch.nn.functional.layer_norm(x, x.shape[-1:], self[name], self[f"{name} bias"], EPS)

    def dense(self, x: Value) -> Value:
        names = [name for name in self.weights if not name.endswith("bias")]
        for name in names[:-1]:
            x = self.torch.relu(self.linear(name, x))
        return self.linear(names[-1], x)

    def stepping(self, loss: Callable[..., Value], optimizer: Any, *, more: tuple[Value, ...] = ()) -> Step:
        """Any: a class of `torch.optim`, handed the parameters."""
        stepped = optimizer([*self.weights.values(), *more], lr=RATE, fused=True)

        def step() -> float:
            value = loss(*next(self.batches))
            stepped.zero_grad(set_to_none=True)
            value.backward()
            stepped.step()
            return float(value.detach())

        return step


def _classified(given: Given, optimizer: str) -> Step:
    net = _Net(given)
    f: Any = net.torch.nn.functional
    return net.stepping(
        lambda x, labels: f.cross_entropy(net.dense(x), labels), getattr(net.torch.optim, optimizer)
    )


def mlp(sizes: Sizes) -> Step:
    return _classified(data.mlp(sizes), "Adam")


def varying(sizes: Sizes) -> Step:
    return _classified(data.varying(sizes), "SGD")


def prediction(sizes: Sizes) -> Step:
    """Inputs are numpy's, as in a service."""
    given = data.mlp(sizes)
    net = _Net(given, trained=False)
    torch, batches = net.torch, cycle([x for x, _ in given.batches])

    def step() -> float:
        with torch.inference_mode():
            return float(net.dense(torch.from_numpy(next(batches))).numpy()[0, 0])

    return step


def images(sizes: Sizes) -> Step:
    given = data.images(sizes)
    net = _Net(given)
    f: Any = net.torch.nn.functional
    kernels = [net[name] for name in given.weights if name.startswith("kernel")]
    pooled = len(kernels) - 2

    def loss(x: Value, labels: Value) -> Value:
        for i, kernel in enumerate(kernels):
            x = f.relu(f.conv2d(x, kernel, padding=1))
            x = f.max_pool2d(x, 2) if i >= pooled else x
        return f.cross_entropy(net.linear("dense", x.reshape(sizes.batch, -1)), labels)

    return net.stepping(loss, net.torch.optim.Adam)


def lstm(sizes: Sizes) -> Step:
    """`nn.LSTM`, whose second bias stays 0 and is not trained."""
    net = _Net(data.lstm(sizes))
    torch = net.torch
    (size,) = sizes.widths
    layer = torch.nn.LSTM(size, size)
    with torch.no_grad():
        layer.weight_ih_l0.copy_(net.weights.pop("inputs").T)
        layer.weight_hh_l0.copy_(net.weights.pop("hidden").T)
        layer.bias_ih_l0.copy_(net.weights.pop("inputs bias"))
        layer.bias_hh_l0.zero_().requires_grad_(False)
    trained = tuple(x for x in layer.parameters() if x.requires_grad)

    def loss(words: Value, labels: Value) -> Value:
        _, (h, _) = layer(words)
        return torch.nn.functional.cross_entropy(net.linear("dense", h[0]), labels)

    return net.stepping(loss, torch.optim.Adam, more=trained)


def transformer(sizes: Sizes) -> Step:
    net = _Net(data.transformer(sizes))
    torch, (width,) = net.torch, sizes.widths
    f: Any = torch.nn.functional

    def attention(i: int, x: Value) -> Value:
        cut = (sizes.batch, sizes.time, sizes.heads, width // sizes.heads)
        q, k, v = (
            net.linear(f"{part} {i}", x).view(cut).transpose(1, 2) for part in ("query", "key", "value")
        )
        seen = f.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(x.shape)
        return net.linear(f"output {i}", seen)

    def loss(x: Value, labels: Value) -> Value:
        h = f.embedding(x, net["words"]).reshape(-1, width)
        for i in range(sizes.layers):
            h = h + attention(i, net.norm(f"first {i}", h))
            h = h + net.linear(f"narrow {i}", f.gelu(net.linear(f"wide {i}", net.norm(f"second {i}", h))))
        return f.cross_entropy(net.linear("dense", net.norm("last", h)), labels.reshape(-1))

    def adamw(parameters: Value, lr: float, fused: bool) -> Any:
        return torch.optim.AdamW(parameters, lr=lr, weight_decay=DECAY, fused=fused)

    return net.stepping(loss, adamw)


def vae(sizes: Sizes) -> Step:
    net = _Net(data.vae(sizes))
    torch = net.torch
    f: Any = torch.nn.functional

    def loss(x: Value, noise: Value) -> Value:
        h = torch.relu(net.linear("encoder", x))
        m, v = net.linear("mean", h), net.linear("variance", h)
        seen = net.linear("pixels", torch.relu(net.linear("decoder", m + torch.exp(0.5 * v) * noise)))
        entropy = f.binary_cross_entropy_with_logits(seen, x, reduction="sum")
        return (entropy - 0.5 * torch.sum(1.0 + v - m.square() - torch.exp(v))) / sizes.batch

    return net.stepping(loss, torch.optim.Adam)


def dag(sizes: Sizes) -> Step:
    given = data.dag(sizes)
    net = _Net(given)
    torch, matrix, start = net.torch, net["matrix"], net["start"]
    net.batches = cycle([tuple(x.tolist() for x in batch) for batch in given.batches])

    def loss(kinds: list[int], left: list[int], right: list[int]) -> Value:
        nodes = [start]
        for kind, i, j in zip(kinds, left, right, strict=True):
            a, b = nodes[i], nodes[j]
            match kind:
                case 0:
                    node = a @ matrix
                case 1:
                    node = torch.tanh(a)
                case 2:
                    node = (a + b) * 0.5
                case _:
                    node = torch.tanh(a * b + start)
            nodes.append(node)
        return nodes[-1].square().mean()

    return net.stepping(loss, torch.optim.SGD)


def moons(sizes: Sizes) -> Step:
    torch = _torch()
    given = data.moons(sizes)
    weights = {
        name: [torch.tensor(float(value), dtype=torch.float64, requires_grad=True) for value in x.reshape(-1)]
        for name, x in given.weights.items()
    }
    names = [name for name in given.weights if not name.endswith("bias")]
    ((points, labels),) = given.batches
    stepped = torch.optim.SGD([w for several in weights.values() for w in several], lr=RATE, foreach=True)

    def score(units: list[Value]) -> Value:
        for name in names:
            biases = weights[f"{name} bias"]
            found = []
            for column, total in enumerate(biases):
                for row, unit in enumerate(units):
                    total = total + unit * weights[name][row * len(biases) + column]
                found.append(total if name == names[-1] else torch.relu(total))
            units = found
        return units[0]

    def step() -> float:
        total: Value = 0.0
        for point, label in zip(points.tolist(), labels.tolist(), strict=True):
            total = total + torch.relu(1.0 - label * score(point))
        loss = total / len(points)
        stepped.zero_grad(set_to_none=True)
        loss.backward()
        stepped.step()
        return float(loss.detach())

    return step
