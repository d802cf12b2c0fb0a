"""Diffusion in two dimensions: a network that takes noise away, step by step, draws points of a spiral.

In training a point x is mixed with noise e, x_t = sqrt(a_t) x + sqrt(1 - a_t) e; the network learns e from x_t and t.
Sampling begins with noise alone and goes back through all t.
Source: Ho, Jain and Abbeel 2020, "Denoising Diffusion Probabilistic Models", algorithms 1 and 2.
"""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias

import numpy as np

import wengert as wg
from wengert.nn import Linear
from wengert.plugins import Adam, LearningRate

STEPS: Final = 60
BETA: Final = np.linspace(1e-4, 0.12, STEPS)
KEPT: Final = np.cumprod(1.0 - BETA)  # the share a_t of a point that is left at step t
Floats: TypeAlias = np.ndarray[Any, np.dtype[np.float32]]


class Settings(Adam, LearningRate):
    """Adam with a learning rate."""


class Batch(int):
    """How many points."""


def spiral(count: int, chance: np.random.Generator) -> Floats:
    """Points of a spiral, with a little noise."""
    angle = 1.5 * np.pi * (1.0 + 2.0 * chance.random(count))
    points = np.stack([angle * np.cos(angle), angle * np.sin(angle)], axis=1) / 8.0
    return (points + 0.03 * chance.standard_normal((count, 2))).astype(np.float32)


def inputs(points: Floats, t: Any) -> Floats:
    """Points and the step, as sines and cosines of several frequencies."""
    step = np.asarray(t).reshape(-1, 1) / STEPS * np.array([0.5, 1.0, 2.0, 4.0]) * np.pi
    phase = np.concatenate([step, points, 2.0 * points, 4.0 * points], axis=1)
    return np.concatenate([points, np.sin(phase), np.cos(phase)], axis=1).astype(np.float32)


class Network:
    """Points and a step to the noise that is in the points."""

    def __init__(self, seed: int = 0) -> None:
        settings = Settings(learning_rate=2e-3)
        self.first = Linear.make(settings, 22, 128, seed=seed)
        self.second = Linear.make(settings, 128, 128, seed=seed + 1)
        self.top = Linear.make(settings, 128, 2, seed=seed + 2)

    def __call__(self, points: Floats, t: Any) -> wg.ArrayLayer[tuple[Batch, Literal[2]]]:
        x = wg.literal(inputs(points, t), Batch, 22)
        return self.top(wg.silu(self.second(wg.silu(self.first(x)))))


def sample(model: Network, count: int, chance: np.random.Generator) -> Floats:
    """New points out of noise."""
    x = chance.standard_normal((count, 2)).astype(np.float32)
    for t in reversed(range(STEPS)):
        noise = model(x, np.full(count, t)).predict().run()
        fresh = np.sqrt(BETA[t]) * chance.standard_normal(x.shape) if t else 0.0
        mean = (x - BETA[t] / np.sqrt(1.0 - KEPT[t]) * noise) / np.sqrt(1.0 - BETA[t])
        x = np.array(mean + fresh, np.float32)
    return x


def distance(points: Floats) -> float:
    """How far points are from the spiral, in the median."""
    curve = spiral(4000, np.random.default_rng(1))
    return float(np.median([np.sqrt(np.square(curve - p).sum(axis=1).min()) for p in points]))


def main(steps: int = 3000) -> tuple[float, float]:
    chance, model = np.random.default_rng(0), Network()
    before = distance(chance.standard_normal((200, 2)).astype(np.float32))
    losses = []
    for step in range(steps):
        x, t = spiral(128, chance), chance.integers(0, STEPS, 128)
        noise = chance.standard_normal((128, 2)).astype(np.float32)
        left = KEPT[t].reshape(-1, 1)
        mixed = np.array(np.sqrt(left) * x + np.sqrt(1.0 - left) * noise, np.float32)
        loss = wg.mean(wg.square(model(mixed, t) - wg.literal(noise, Batch, 2)))
        losses.append(loss.train().run().item())
        if step % 1000 == 999:
            print(f"step {step + 1}: loss {np.mean(losses[-200:]):.3f}")
    after = distance(sample(model, 200, np.random.default_rng(2)))
    print(
        f"median distance from the spiral: {before:.2f} of 200 points of noise, {after:.2f} of 200 points drawn"
    )
    return before, after


if __name__ == "__main__":
    main()
