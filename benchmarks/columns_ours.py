"""The network of `network` as a user of Wengert writes it.

Knows: expressions, and that each kind of run is the same program for another executor.
Refuses to know: how the executor computes.
"""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np

import wengert as wg
from benchmarks.network import LAYERS, RATE, Batch, Network, Parameters
from wengert.control import Executor
from wengert.plugins import SGD


class Given(NamedTuple):
    """A batch whose images are a literal, which is copied once and not each step."""

    x: wg.ArrayLayer[Any, np.float32]  # Any: the shape, which no step asks for
    batch: Batch


class Ours:
    """One dense layer after another; the executor is the default one where none is given."""

    def __init__(self, network: Network, executor: Executor | None = None, column_rate: float = RATE) -> None:
        self.network = network
        self.executor = executor
        columns, heads = SGD(learning_rate=column_rate), SGD(learning_rate=RATE)
        self.dense = [
            (settings.array_weight(w), settings.array_weight(b))
            for place, (w, b) in enumerate(network.parameters())
            for settings in (columns if place < network.coarse else heads,)
        ]

    def given(self, batch: Batch) -> Given:
        return Given(wg.literal(batch.x), batch)

    def apply(self, place: int, x: wg.ArrayLayer[Any, np.float32]) -> wg.ArrayLayer[Any, np.float32]:
        w, b = self.dense[place]
        y: wg.ArrayLayer[Any, np.float32] = x @ w + b
        return y

    def loss(self, given: Given) -> wg.ArrayLayer[tuple[()], np.float32]:
        network, (x, batch) = self.network, given
        h = reduce(add, [self.column(i, x) for i in range(network.columns)])
        loss = wg.cross_entropy(self.apply(network.coarse, h), batch.labels)
        for head in network.heads(batch):
            fine = wg.cross_entropy(self.head(network.fine(head), h), batch.fine)
            loss = loss + (fine if network.skip else fine * batch.counts[head])
        return loss

    def column(self, i: int, x: wg.ArrayLayer[Any, np.float32]) -> wg.ArrayLayer[Any, np.float32]:
        return wg.relu(self.apply(2 * i + 1, wg.relu(self.apply(2 * i, x))))

    def head(self, place: int, h: wg.ArrayLayer[Any, np.float32]) -> wg.ArrayLayer[Any, np.float32]:
        for layer in range(LAYERS - 1):
            h = wg.relu(self.apply(place + layer, h))
        return self.apply(place + LAYERS - 1, h)

    def step(self, given: Given) -> float:
        return float(self.loss(given).train().run(self.executor))

    def weights(self) -> Parameters:
        return [(w.data, b.data) for w, b in self.dense]
