"""How much memory it takes to make a plan: the peak of the step that makes it over that of the step before.

Started by itself as `python -m benchmarks.memory_of_plans NETWORK STEPS`, a process for each network: the peaks of the
resident memory up to the seventh step, which the interpreter runs, and up to the eighth, which makes the plan; and
what is resident after either, and after twenty.

Knows: five networks of common kinds, and the bar.
Refuses to know: what the memory is taken for.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from typing import Any, Final

import numpy as np

import wengert as wg
from benchmarks.memory import MB, STATUS, resident
from benchmarks.report import Limit
from benchmarks.standing import at_known_runs
from benchmarks.timing import ROOT, Spread, environment
from benchmarks.workload import OURS, Step
from wengert.plugins import SGD, Adam, LearningRate

NAME: Final = "memory-of-plans"
BEFORE, MAKES, LATER = (
    7,
    8,
    20,
)  # steps: the last without a plan, the one that makes it, and one that it has run
MOST: Final = 1.15  # of the peak before
Value = Any  # an array or a layer: whatever has + and @


class _Settings(Adam, LearningRate):
    """Adam with a constant rate."""


class _Weights:
    """Weights of float32, drawn in turn; and the data of a batch."""

    def __init__(self) -> None:
        self.chance = np.random.default_rng(0)
        self._settings = _Settings(learning_rate=1e-3)

    def __call__(self, *shape: int) -> Value:
        fan = float(np.prod(shape[:-1])) if len(shape) == 2 else float(np.prod(shape[1:]))
        return self._settings.array_weight(self.data(*shape) * np.float32(fan**-0.5))

    def data(self, *shape: int) -> Value:
        return self.chance.standard_normal(shape).astype(np.float32)

    def labels(self, count: int, classes: int) -> Value:
        return self.chance.integers(0, classes, count)


def _tanh() -> Callable[[], Value]:
    of = _Weights()
    settings = SGD(learning_rate=1e-3)
    weights = [settings.array_weight(of.data(256, 256) / np.float32(16)) for _ in range(4)]
    x = of.data(2048, 256)

    def loss() -> Value:
        h: Value = x
        for k in range(24):
            h = wg.tanh(wg.matmul(h, weights[k % 4]))
        return wg.mean(wg.square(h))

    return loss


def _mlp() -> Callable[[], Value]:
    of = _Weights()
    sizes = (784, 512, 512, 10)
    layers = [of(a, b) for a, b in pairwise(sizes)]
    x, labels = of.data(128, 784), of.labels(128, 10)

    def loss() -> Value:
        h: Value = x
        for layer in layers[:-1]:
            h = wg.relu(h @ layer)
        return wg.cross_entropy(h @ layers[-1], labels)

    return loss


def _conv() -> Callable[[], Value]:
    of = _Weights()
    first, second, third, dense = of(64, 3, 3, 3), of(64, 64, 3, 3), of(64, 64, 3, 3), of(64 * 64, 10)
    images, labels = of.data(32, 3, 32, 32), of.labels(32, 10)

    def loss() -> Value:
        h: Value = wg.relu(wg.conv2d(images, first, padding=1))
        h = wg.max_pool2d(wg.relu(wg.conv2d(h, second, padding=1)), 2)
        h = wg.max_pool2d(wg.relu(wg.conv2d(h, third, padding=1)), 2)
        return wg.cross_entropy(wg.reshape(h, (32, -1)) @ dense, labels)

    return loss


def _lstm(size: int = 256) -> Callable[[], Value]:
    of = _Weights()
    gates, dense = of(2 * size, 4 * size), of(size, 10)
    words, labels = of.data(64, 32, size), of.labels(32, 10)

    def loss() -> Value:
        h: Value = np.zeros((32, size), np.float32)
        c: Value = h
        for word in words:
            i, f, g, o = wg.split(wg.concat([wg.lift(word), h], axis=1) @ gates, 4, axis=1)
            c = wg.sigmoid(f) * c + wg.sigmoid(i) * wg.tanh(g)
            h = wg.sigmoid(o) * wg.tanh(c)
        return wg.cross_entropy(h @ dense, labels)

    return loss


def _transformer(size: int = 128, heads: int = 4, time: int = 64, batch: int = 16) -> Callable[[], Value]:
    of = _Weights()
    layers = [(*(of(size, size) for _ in range(4)), of(size, 4 * size), of(4 * size, size)) for _ in range(4)]
    dense, x, labels = of(size, 50), of.data(batch * time, size), of.labels(batch * time, 50)

    def normal(h: Value) -> Value:
        h = h - wg.mean(h, axis=-1, keepdims=True)
        return h / wg.sqrt(wg.mean(h * h, axis=-1, keepdims=True) + 1e-5)

    def apart(h: Value) -> Value:
        return wg.permute_dims(wg.reshape(h, (batch, time, heads, size // heads)), (0, 2, 1, 3))

    def loss() -> Value:
        h: Value = wg.lift(x)
        for q, k, v, out, wide, narrow in layers:
            n = normal(h)
            scores = wg.matmul(apart(n @ q), wg.permute_dims(apart(n @ k), (0, 1, 3, 2)))
            seen = wg.permute_dims(wg.matmul(wg.softmax(scores * 0.17), apart(n @ v)), (0, 2, 1, 3))
            h = h + wg.reshape(seen, (batch * time, size)) @ out
            h = h + wg.gelu(normal(h) @ wide) @ narrow
        return wg.cross_entropy(normal(h) @ dense, labels)

    return loss


NETWORKS: Final[dict[str, Callable[[], Callable[[], Value]]]] = {
    "24 tanh layers": _tanh,
    "MLP": _mlp,
    "conv": _conv,
    "LSTM": _lstm,
    "transformer": _transformer,
}


def step_of(name: str) -> Step:
    """One training step."""
    loss, executor = NETWORKS[name](), at_known_runs()
    return lambda: float(loss().train().run(executor))


def taken(step: Step, last: int = LATER) -> dict[int, tuple[int, int]]:
    """After some steps the peak so far, and what is resident."""
    found = {}
    for number in range(1, last + 1):
        step()
        if number in (BEFORE, MAKES, LATER):
            found[number] = resident("VmHWM"), resident()
    return found


def limits(name: str, found: dict[int, tuple[int, int]]) -> list[Limit]:
    """What was found, in lines."""

    def limit(what: str, value: float, unit: str = "MB", most: float | None = None) -> Limit:
        return Limit(f"{NAME}: {name}", f"{OURS}, {what}", unit, Spread(value, value, value), most)

    of = {number: (peak / MB, rest / MB) for number, (peak, rest) in found.items()}
    return [
        limit(
            f"{name}: peak of step {MAKES} over step {BEFORE}", of[MAKES][0] / of[BEFORE][0], "times", MOST
        ),
        *(limit(f"{name}: peak up to step {number}", peak) for number, (peak, _) in of.items()),
        *(limit(f"{name}: resident after step {number}", rest) for number, (_, rest) in of.items()),
    ]


def measured(name: str, last: int = LATER) -> dict[int, tuple[int, int]]:
    """The same in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.memory_of_plans", name, str(last)]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT, env=environment(1)
    )
    lines = (map(int, line.split()) for line in done.stdout.splitlines())
    return {number: (peak, rest) for number, peak, rest in lines}


def asked(quick: bool) -> list[Limit]:
    """All networks, printed as they are measured; quickly: that each takes a step."""
    if not STATUS.exists():
        print(f"left out: {NAME}: this system does not say how much a process takes")
        return []
    found = []
    for name in NETWORKS:
        if quick:
            step_of(name)()
            print(f"ran: {NAME}: {name}", flush=True)
            continue
        for each in limits(name, measured(name)):
            found.append(each)
            print(each.text(), flush=True)
    return found


def main() -> None:
    name, last = sys.argv[1:]
    for number, (peak, rest) in taken(step_of(name), int(last)).items():
        print(number, peak, rest)


if __name__ == "__main__":
    main()
