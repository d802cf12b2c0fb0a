"""Sine waves continued: two LSTM layers of 51 in doubles, trained by L-BFGS.

A step is one call of the minimizer, with 20 iterations. SciPy's, which `wengert.training.lbfgs` calls, searches along
a line, PyTorch's takes a fixed part of each step; so only the first losses are equal.

Knows: the network, and both minimizers.
Refuses to know: a way of training by batches.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np

import wengert as wg
from benchmarks.ports.port import TORCH, Port, Value, recurrent, torch
from benchmarks.workload import Step
from wengert import nn
from wengert.plugins import SGD
from wengert.training import lbfgs

WAVES, LENGTH, HIDDEN, ITERATIONS, CALLS = 10, 60, 51, 20, 6
Data = np.ndarray[tuple[int, int, int], np.dtype[np.float64]]


def waves(length: int = LENGTH) -> Data:
    """Each from another beginning; time first."""
    begin = np.random.default_rng(0).integers(-80, 80, (1, WAVES, 1))
    return np.sin((np.arange(length).reshape(-1, 1, 1) + begin) / 8.0)


@dataclass(frozen=True)
class Network:
    """The next value of each wave, at every time."""

    memory: nn.LSTM[Any, Any, Any, Any, np.float64]
    answer: nn.Linear[Any, Any, np.float64]

    def __call__(self, waves: Data) -> wg.ArrayLayer[Any, np.float64]:
        seen, _ = self.memory(waves)
        return self.answer(seen)


def network() -> Network:
    settings, chance = SGD(learning_rate=0.0), np.random.default_rng(0)
    return Network(
        nn.LSTM.make(settings, 1, HIDDEN, seed=chance, layers=2, dtype=np.float64),
        nn.Linear.make(settings, HIDDEN, 1, seed=chance, dtype=np.float64),
    )


def ours(length: int = LENGTH) -> Step:
    data, number = waves(length), 0
    net = network()
    loss = wg.mse_loss(net(data[:-1]), data[1:])

    def step() -> float:
        nonlocal net, loss, number
        if number and number % CALLS == 0:  # anew: near a minimum a call is short
            net = network()
            loss = wg.mse_loss(net(data[:-1]), data[1:])
        number += 1
        before = loss.predict().run().item()
        lbfgs(loss, net, iterations=ITERATIONS)
        return before

    return step


def theirs() -> Step:
    library, number = torch(), 0
    data = library.from_numpy(waves())

    def begun() -> tuple[Value, Value, Value]:
        net = network()
        memory = recurrent(library.nn.LSTM(1, HIDDEN, 2).double(), net.memory.cells)
        answer = library.nn.Linear(HIDDEN, 1).double()
        answer.weight.data = library.tensor(net.answer.weight.data.T).contiguous()
        answer.bias.data = library.tensor(net.answer.bias.data)
        learnt = [p for p in (*memory.parameters(), *answer.parameters()) if p.requires_grad]
        return memory, answer, library.optim.LBFGS(learnt, lr=0.8, max_iter=ITERATIONS)

    memory, answer, optimizer = begun()

    def loss() -> Value:
        optimizer.zero_grad()
        value = library.nn.functional.mse_loss(answer(memory(data[:-1])[0]), data[1:])
        value.backward()
        return value

    def step() -> float:
        nonlocal memory, answer, optimizer, number
        if number and number % CALLS == 0:
            memory, answer, optimizer = begun()
        number += 1
        return float(optimizer.step(loss).detach())

    return step


PORT: Final = Port(
    "time-sequence",
    "pytorch/examples, time_sequence_prediction",
    "two LSTMs of 51, 10 waves of 60 values, doubles, L-BFGS",
    TORCH,
    ours,
    theirs,
    (Network, network, ours),
    steps=6,
    compared=1,
    small=partial(ours, 6),
)
