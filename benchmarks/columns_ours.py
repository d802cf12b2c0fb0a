"""The network of `network` as a user of Wengert writes it.

Knows: expressions, that each kind of run is the same program for another executor, and that a loss may be a cell.
Refuses to know: how the executor computes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from operator import add
from typing import Any, NamedTuple, TypeAlias

import numpy as np

import wengert as wg
from benchmarks.network import LAYERS, RATE, Batch, Integers, Network, Parameters
from wengert.control import Executor
from wengert.plugins import SGD

Numbers: TypeAlias = wg.ArrayLayer[Any, np.float32]  # Any: the shape, which no step asks for
Loss: TypeAlias = wg.ArrayLayer[tuple[()], np.float32]


class Given(NamedTuple):
    """A batch whose images are a literal, which is copied once and not each step."""

    x: Numbers
    batch: Batch
    counts: Sequence[Numbers | float]  # of each head's loss


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
        return Given(wg.literal(batch.x), batch, batch.counts)

    def apply(self, place: int, x: Numbers) -> Numbers:
        w, b = self.dense[place]
        y: Numbers = x @ w + b
        return y

    def loss(self, given: Given) -> Loss:
        x, batch, counts = given
        return self.loss_of(self.network.heads(batch), x, batch.labels, batch.fine, counts)

    def loss_of(
        self,
        heads: Sequence[int],
        x: Numbers,
        labels: Integers,
        fine: Integers,
        counts: Sequence[Numbers | float],
    ) -> Loss:
        network = self.network
        h = reduce(add, [self.column(i, x) for i in range(network.columns)])
        loss = wg.cross_entropy(self.apply(network.coarse, h), labels)
        for head in heads:
            of_head = wg.cross_entropy(self.head(network.fine(head), h), fine)
            loss = loss + (of_head if network.skip else of_head * counts[head])
        return loss

    def column(self, i: int, x: Numbers) -> Numbers:
        return wg.relu(self.apply(2 * i + 1, wg.relu(self.apply(2 * i, x))))

    def head(self, place: int, h: Numbers) -> Numbers:
        for layer in range(LAYERS - 1):
            h = wg.relu(self.apply(place + layer, h))
        return self.apply(place + LAYERS - 1, h)

    def step(self, given: Given) -> float:
        return float(self.loss(given).train().run(self.executor))

    def weights(self) -> Parameters:
        return [(w.data, b.data) for w, b in self.dense]


class InCells(Ours):
    """The same with its loss as a cell, one for each choice of heads: a step builds one node."""

    def __init__(self, network: Network, executor: Executor | None = None) -> None:
        super().__init__(network, executor)
        choices = {tuple(network.heads(batch)) for batch in network.batches()}
        self.cells = {heads: wg.cell(partial(self.loss_of, heads)) for heads in choices}

    def given(self, batch: Batch) -> Given:
        counts = () if self.network.skip else [wg.literal(np.array(c, np.float32)) for c in batch.counts]
        return Given(wg.literal(batch.x), batch, tuple(counts))

    def loss(self, given: Given) -> Loss:
        x, batch, counts = given
        return self.cells[tuple(self.network.heads(batch))](x, batch.labels, batch.fine, counts)
