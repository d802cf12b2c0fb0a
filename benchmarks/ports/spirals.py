"""Which way a spiral turns: the recurrent network of Equinox's documentation.

Knows: one GRU over a sequence, whose last state says yes or no; the reference is JAX, compiled.
Refuses to know: sequences of several lengths.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

import numpy as np

import wengert as wg
from benchmarks.ports.port import JAX, Port, Value
from benchmarks.workload import Step
from wengert import nn
from wengert.plugins import Adam, LearningRate

BATCH, LENGTH, HIDDEN, RATE = 32, 16, 16, 3e-3
Paths = np.ndarray[tuple[int, int, int], np.dtype[np.float32]]
Labels = np.ndarray[tuple[int, int], np.dtype[np.float32]]


def spirals(number: int) -> tuple[Paths, Labels]:
    """Points along spirals, time first, and which turn clockwise."""
    chance = np.random.default_rng(number)
    t = np.linspace(0.0, 2.0 * np.pi, LENGTH)[:, None]
    right = chance.random(BATCH) < 0.5
    shift, radius = chance.uniform(0.0, 2.0 * np.pi, BATCH), t / (1.0 + t)
    x, y = radius * np.cos(t + shift), radius * np.sin(t + shift)
    paths = np.stack([np.where(right, -x, x), y], axis=2)
    return paths.astype(np.float32), right.astype(np.float32)[:, None]


class Settings(Adam, LearningRate):
    """Adam with a rate."""


@dataclass(frozen=True)
class Reader:
    """A path to the logit that it turns clockwise."""

    memory: nn.GRU
    answer: nn.Linear

    def __call__(self, paths: Paths) -> wg.ArrayLayer:
        _, last = self.memory(paths)
        return self.answer(last)


def reader() -> Reader:
    settings, chance = Settings(learning_rate=RATE), np.random.default_rng(0)
    return Reader(
        nn.GRU.make(settings, 2, HIDDEN, seed=chance), nn.Linear.make(settings, HIDDEN, 1, seed=chance)
    )


def ours() -> Step:
    model, number = reader(), 0

    def step() -> float:
        nonlocal number
        paths, labels = spirals(number)
        number += 1
        return wg.binary_cross_entropy_with_logits(model(paths), labels).train().run().item()

    return step


def theirs() -> Step:
    jax: Any = import_module("jax")  # Any: benchmarks type-check where no peer is installed
    np_: Any = jax.numpy
    weights = [np_.asarray(w.data) for w in nn.weights(reader()).values()]
    number, sums = 0, ([np_.zeros_like(w) for w in weights], [np_.zeros_like(w) for w in weights])

    def loss(weights: Value, paths: Value, labels: Value) -> Value:
        inputs, hidden, bias, candidate_bias, top, top_bias = weights

        def cell(h: Value, x: Value) -> tuple[Value, None]:
            from_x, from_h = x @ inputs + bias, h @ hidden
            reset, update = np_.split(jax.nn.sigmoid((from_x + from_h)[:, : 2 * HIDDEN]), 2, axis=1)
            fresh = np_.tanh(from_x[:, 2 * HIDDEN :] + reset * (from_h[:, 2 * HIDDEN :] + candidate_bias))
            return (1.0 - update) * fresh + update * h, None

        last, _ = jax.lax.scan(cell, np_.zeros((paths.shape[1], HIDDEN)), paths)
        logits = last @ top + top_bias
        return np_.mean(jax.nn.softplus(logits) - labels * logits)

    def updated(weights: Value, sums: Value, t: Value, paths: Value, labels: Value) -> Value:
        value, deltas = jax.value_and_grad(loss)(weights, paths, labels)
        means = [0.9 * m + 0.1 * d for m, d in zip(sums[0], deltas, strict=True)]
        squares = [0.999 * v + 0.001 * d * d for v, d in zip(sums[1], deltas, strict=True)]
        weights = [
            w - RATE * (m / (1.0 - 0.9**t)) / (np_.sqrt(v / (1.0 - 0.999**t)) + 1e-8)
            for w, m, v in zip(weights, means, squares, strict=True)
        ]
        return value, weights, (means, squares)

    update = jax.jit(updated)

    def step() -> float:
        nonlocal number, weights, sums
        paths, labels = spirals(number)
        number += 1
        value, weights, sums = update(weights, sums, float(number), paths, labels)
        return float(value)

    return step


PORT: Final = Port(
    "spirals",
    "equinox, train_rnn",
    "GRU of 16, 32 paths of 16 points, Adam",
    JAX,
    ours,
    theirs,
    (Settings, Reader, reader, ours),
)
