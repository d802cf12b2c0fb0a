"""The network of `network` in JAX and in autograd: one function of all weights, which the library differentiates.

Knows: the loss in numpy's words, which both libraries have, and what each needs to be fast.
Refuses to know: any other library. Both are imported when a model is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from benchmarks.network import LAYERS, RATE, Batch, Network, Parameters

Value = Any  # benchmarks type-check where no peer is installed
Pairs = list[tuple[Value, Value]]


class Given(NamedTuple):
    """A batch as the library likes it; `used` has the places of the layers that a step on it updates."""

    x: Value
    labels: Value
    fine: Value
    counts: Value
    used: Sequence[int] = ()


def given(network: Network, batch: Batch) -> Given:
    counts = np.array([batch.counts[head] for head in network.heads(batch)], np.float32)
    return Given(batch.x, batch.labels, batch.fine, counts, network.used(batch))


def loss(numpy: Any, network: Network, used: Pairs, given: Given) -> Value:
    """The loss of a batch, where `used` has the layers that are built."""
    lines = np.arange(network.lines)

    def relu(x: Value, place: int) -> Value:
        w, b = used[place]
        return numpy.maximum(numpy.dot(x, w) + b, 0.0)

    def entropy(h: Value, place: int, labels: Value) -> Value:
        w, b = used[place]
        z = numpy.dot(h, w) + b
        z = z - numpy.max(z, axis=1, keepdims=True)
        return numpy.mean(numpy.log(numpy.sum(numpy.exp(z), axis=1)) - z[lines, labels])

    h = relu(relu(given.x, 0), 1)
    for i in range(1, network.columns):
        h = h + relu(relu(given.x, 2 * i), 2 * i + 1)
    total = entropy(h, network.coarse, given.labels)
    for i, place in enumerate(range(network.coarse + 1, len(used), LAYERS)):
        fine = entropy(relu(relu(h, place), place + 1), place + 2, given.fine)
        total = total + (fine if network.skip else fine * given.counts[i])
    return total


class Jax:
    """The whole step is compiled, and the old weights' memory is given away for the new ones."""

    def __init__(self, network: Network) -> None:
        self.jax: Any = import_module("jax")
        self.jax.config.update("jax_enable_x64", False)  # another workload of this process may have asked
        self.network = network
        self.dense: Pairs = [tuple(map(self.jax.numpy.asarray, pair)) for pair in network.parameters()]

        def whole(used: Pairs, batch: tuple[Value, ...]) -> tuple[Value, Pairs]:
            total, slopes = self.jax.value_and_grad(
                lambda used: loss(self.jax.numpy, network, used, Given(*batch))
            )(used)
            return total, self.jax.tree.map(lambda p, slope: p - RATE * slope, used, slopes)

        self.whole = self.jax.jit(whole, donate_argnums=0)

    def given(self, batch: Batch) -> Given:
        made = given(self.network, batch)
        x, labels, fine, counts = map(self.jax.numpy.asarray, made[:-1])
        return Given(x, labels, fine, counts, made.used)

    def step(self, given: Given) -> float:
        total, changed = self.whole([self.dense[place] for place in given.used], given[:-1])
        for place, pair in zip(given.used, changed, strict=True):
            self.dense[place] = pair
        return float(total)

    def weights(self) -> Parameters:
        return [(np.asarray(w), np.asarray(b)) for w, b in self.dense]


class Autograd:
    """Arrays of numpy, updated in place."""

    def __init__(self, network: Network) -> None:
        library: Any = import_module("autograd")
        numpy: Any = import_module("autograd.numpy")
        self.network = network
        self.dense = network.parameters()
        self.both = library.value_and_grad(lambda used, given: loss(numpy, network, used, given))

    def given(self, batch: Batch) -> Given:
        return given(self.network, batch)

    def step(self, given: Given) -> float:
        used = [self.dense[place] for place in given.used]
        total, slopes = self.both(used, given)
        for pair, both in zip(used, slopes, strict=True):
            for p, slope in zip(pair, both, strict=True):
                p -= RATE * slope
        return float(total)

    def weights(self) -> Parameters:
        return self.dense
