"""micrograd's demo: a network of numbers separates two moons.

Knows: 2-16-16-1 with the loss of a support vector machine, by numbers.
Refuses to know: arrays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

import numpy as np

import wengert as wg
from benchmarks.ports.port import PLAIN, Port
from benchmarks.workload import Step
from wengert.plugins import LearningRateSchedule, schedules

POINTS, WIDTHS, DECAY = 20, (2, 16, 16, 1), 1e-4


def moons() -> list[tuple[float, float, float]]:
    """Points of two half circles, and 1 or -1."""
    chance = np.random.default_rng(0)
    angle, upper = chance.uniform(0.0, np.pi, POINTS), np.arange(POINTS) % 2 == 0
    x = np.where(upper, np.cos(angle), 1.0 - np.cos(angle)) + 0.1 * chance.standard_normal(POINTS)
    y = np.where(upper, np.sin(angle), 0.5 - np.sin(angle)) + 0.1 * chance.standard_normal(POINTS)
    return list(zip(x.tolist(), y.tolist(), np.where(upper, 1.0, -1.0).tolist(), strict=True))


class Neuron:
    """Σ w x + b of numbers."""

    def __init__(self, settings: LearningRateSchedule, inputs: int, chance: np.random.Generator) -> None:
        self.weights = [settings.double_weight(w) for w in chance.uniform(-1.0, 1.0, inputs).tolist()]
        self.bias = settings.double_weight(0.0)

    def __call__(self, xs: Sequence[wg.DoubleLayer]) -> wg.DoubleLayer:
        total: wg.DoubleLayer = wg.lift(self.bias)
        for w, x in zip(self.weights, xs, strict=True):
            total = total + w * x
        return total


class Network:
    """Neurons in layers."""

    def __init__(self) -> None:
        settings = LearningRateSchedule(schedule=schedules.LinearLR(1.0, 0.1, steps=100))
        chance = np.random.default_rng(1)
        self.layers = [[Neuron(settings, n, chance) for _ in range(m)] for n, m in pairwise(WIDTHS)]

    def weights(self) -> list[wg.DoubleWeight]:
        return [w for layer in self.layers for neuron in layer for w in (*neuron.weights, neuron.bias)]

    def __call__(self, x: wg.DoubleLayer, y: wg.DoubleLayer) -> wg.DoubleLayer:
        xs = [x, y]
        for layer in self.layers[:-1]:
            xs = [wg.relu(neuron(xs)) for neuron in layer]
        return self.layers[-1][0](xs)


def ours() -> Step:
    network, points = Network(), moons()
    score = wg.cell(network)

    def step() -> float:
        margins = [wg.relu(1.0 - label * score(wg.lift(x), wg.lift(y))) for x, y, label in points]
        decay = sum((w * w for w in network.weights()), wg.lift(0.0)) * DECAY
        return (sum(margins, wg.lift(0.0)) / POINTS + decay).train().run()

    return step


class Number:
    """A number that knows how it was made."""

    def __init__(self, data: float, parents: tuple[Number, ...] = (), back: tuple[float, ...] = ()) -> None:
        self.data, self.parents, self.slopes, self.grad = data, parents, back, 0.0

    def __add__(self, other: Number) -> Number:
        return Number(self.data + other.data, (self, other), (1.0, 1.0))

    def __mul__(self, other: Number) -> Number:
        return Number(self.data * other.data, (self, other), (other.data, self.data))

    def relu(self) -> Number:
        return Number(max(self.data, 0.0), (self,), (float(self.data > 0.0),))

    def backward(self) -> None:
        order: list[Number] = []
        seen: set[Number] = {self}
        stack: list[tuple[Number, Iterator[Number]]] = [(self, iter(self.parents))]
        while stack:
            node, rest = stack[-1]
            parent = next(rest, None)
            if parent is None:
                order.append(node)
                stack.pop()
            elif parent not in seen:
                seen.add(parent)
                stack.append((parent, iter(parent.parents)))
        self.grad = 1.0
        for node in reversed(order):
            for parent, slope in zip(node.parents, node.slopes, strict=True):
                parent.grad += slope * node.grad


def theirs() -> Step:
    parameters = [Number(w.data) for w in Network().weights()]
    points, commits = moons(), 0

    def score(xs: list[Number]) -> Number:
        rest = iter(parameters)
        for depth, width in enumerate(WIDTHS[1:]):
            made = []
            for _ in range(width):
                weights, total = [next(rest) for _ in xs], next(rest)
                for w, x in zip(weights, xs, strict=True):
                    total = total + w * x
                made.append(total.relu() if depth < len(WIDTHS) - 2 else total)
            xs = made
        return xs[0]

    def step() -> float:
        nonlocal commits
        loss = Number(0.0)
        for x, y, label in points:
            margin = Number(1.0) + Number(-label) * score([Number(x), Number(y)])
            loss = loss + margin.relu() * Number(1.0 / POINTS)
        for w in parameters:
            loss = loss + w * w * Number(DECAY)
        for w in parameters:
            w.grad = 0.0
        loss.backward()
        rate, commits = 1.0 - 0.9 * min(commits, 100) / 100, commits + 1
        for w in parameters:
            w.data -= rate * w.grad
        return loss.data

    return step


PORT: Final = Port(
    "micrograd",
    "karpathy/micrograd, demo",
    "337 numbers, 20 points, SVM loss, a falling rate",
    PLAIN,
    ours,
    theirs,
    (Neuron, Network, ours),
)
