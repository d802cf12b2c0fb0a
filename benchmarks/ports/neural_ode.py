"""A vector field learnt from paths through it: a neural differential equation.

Knows: a network of two layers, integrated by the classical method of Runge and Kutta, whose steps are derived.
Refuses to know: adaptive steps and adjoint equations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np

import wengert as wg
from benchmarks.ports.port import TORCH, Port, Value, stepped, tensors, torch
from benchmarks.workload import Step
from wengert.nn import MLP
from wengert.plugins import LearningRate, RMSprop

BATCH, TIMES, WIDTH, RATE, SPAN = 20, 10, 50, 1e-3, 0.1
Starts = np.ndarray[tuple[int, int], np.dtype[np.float32]]
Paths = np.ndarray[tuple[int, int, int], np.dtype[np.float32]]


def paths(number: int) -> tuple[Starts, Paths]:
    """Where paths of a spiral begin, and where they are after each of some times."""
    matrix = np.array([[-0.1, 2.0], [-2.0, -0.1]])
    at: list[np.ndarray[Any, np.dtype[np.float64]]] = [
        np.random.default_rng(number).uniform(-1.5, 1.5, (BATCH, 2))
    ]
    for _ in range(TIMES * 20):
        at.append(at[-1] + SPAN / 20 * at[-1] ** 3 @ matrix)
    return at[0].astype(np.float32), np.stack(at[20::20]).astype(np.float32)


class Settings(RMSprop, LearningRate):
    """RMSprop with a rate."""


class Batch(int):
    """How many paths."""


Points = wg.ArrayLayer[tuple[Batch, Literal[2]]]


def network() -> MLP[Literal[2], Literal[2]]:
    return MLP.make(Settings(learning_rate=RATE, rho=0.99), 2, WIDTH, 2, seed=0, activation=wg.tanh)


@dataclass(frozen=True)
class RungeKutta:
    """A step of the field."""

    field: MLP[Literal[2], Literal[2]]

    def __call__(self, y: Points) -> Points:
        def slope(y: Points) -> Points:
            return self.field(y**3.0)

        first = slope(y)
        second = slope(y + first * (SPAN / 2.0))
        third = slope(y + second * (SPAN / 2.0))
        last = slope(y + third * SPAN)
        return y + (first + second * 2.0 + third * 2.0 + last) * (SPAN / 6.0)


def ours() -> Step:
    forward, number = wg.cell(RungeKutta(network())), 0

    def step() -> float:
        nonlocal number
        start, path = paths(number)
        number += 1
        y, seen = wg.literal(start, Batch, 2), []
        for _ in range(TIMES):
            y = forward(y)
            seen.append(y)
        return wg.l1_loss(wg.stack(seen), wg.literal(path, TIMES, Batch, 2)).train().run().item()

    return step


def theirs() -> Step:
    library, weights, number = torch(), tensors(network()), 0
    optimizer = library.optim.RMSprop(weights.values(), lr=RATE)
    first_weight, first_bias, top, top_bias = weights.values()

    def slope(y: Value) -> Value:
        return library.tanh(y**3 @ first_weight + first_bias) @ top + top_bias

    def step() -> float:
        nonlocal number
        y, path = map(library.from_numpy, paths(number))
        number += 1
        seen = []
        for _ in range(TIMES):
            first = slope(y)
            second = slope(y + first * (SPAN / 2.0))
            third = slope(y + second * (SPAN / 2.0))
            last = slope(y + third * SPAN)
            y = y + (first + second * 2.0 + third * 2.0 + last) * (SPAN / 6.0)
            seen.append(y)
        return stepped(optimizer, library.nn.functional.l1_loss(library.stack(seen), path))

    return step


PORT: Final = Port(
    "neural-ode",
    "rtqichen/torchdiffeq, ode_demo",
    "2-50-2, 20 paths of 10 steps of Runge and Kutta, RMSprop",
    TORCH,
    ours,
    theirs,
    (Settings, Batch, network, RungeKutta, ours),
)
