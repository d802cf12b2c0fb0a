"""Derivatives by inputs: a score that is matched, a critic whose slope is held at 1, and an equation that is solved.

Each is a loss with a derivative by a literal in it, `gradients(...).layers`, and is trained as any other is.

- Score matching: A. Hyvärinen, "Estimation of non-normalized statistical models by score matching", 2005.
- Gradient penalty: I. Gulrajani et al., "Improved training of Wasserstein GANs", 2017.
- Physics-informed network: M. Raissi, P. Perdikaris and G. E. Karniadakis, 2019.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

import wengert as wg
from wengert import nn
from wengert.plugins import Adam, LearningRate

Rows = npt.NDArray[np.float64]
Layer = wg.ArrayLayer[Any, np.float64]
Scalar = wg.ArrayLayer[tuple[()], np.float64]
Network = Callable[[Layer], Layer]


class Settings(Adam, LearningRate): ...


def network(inputs: int, outputs: int, seed: int) -> Network:
    """A network of one hidden layer that is smooth everywhere."""
    settings = Settings(learning_rate=0.01)
    hidden = nn.Linear.make(settings, inputs, 32, seed=seed, dtype=np.float64)
    out = nn.Linear.make(settings, 32, outputs, seed=seed + 1, dtype=np.float64)

    def call(x: Layer) -> Layer:
        return out(wg.tanh(hidden(x)))

    return call


def score_matching(score: Network, rows: Rows) -> Scalar:
    """E[tr ∂s/∂x + ‖s‖²/2], whose least is at the score of the distribution that rows are drawn from."""
    x = wg.literal(rows)
    s = score(x)
    loss: Scalar = wg.mean(wg.sum(wg.square(s), axis=1)) * 0.5
    for i in range(rows.shape[1]):
        by_x = wg.gradients(wg.sum(s[:, i]), x).layers
        loss = loss + wg.mean(by_x[:, i])
    return loss


def critic(of: Network, real: Rows, made: Rows, between: Rows) -> Scalar:
    """The distance between two samples as a critic sees it, and a penalty for every slope that is not 1."""
    x = wg.literal(between)
    slope = wg.gradients(wg.sum(of(x)), x).layers
    steep = wg.sqrt(wg.sum(wg.square(slope), axis=1) + 1e-12)
    apart: Scalar = wg.mean(of(wg.literal(made))) - wg.mean(of(wg.literal(real)))
    return apart + wg.mean(wg.square(steep - 1.0)) * 10.0


def oscillator(u: Network, times: Rows) -> Scalar:
    """The residual of u'' = -u with u(0) = 0 and u'(0) = 1, which sin solves."""
    t, start = wg.literal(times), wg.literal(np.zeros((1, 1), np.float64))
    first = wg.gradients(wg.sum(u(t)), t).layers
    second = wg.gradients(wg.sum(first), t).layers
    begin = u(start)
    speed = wg.gradients(wg.sum(begin), start).layers
    inside: Scalar = wg.mean(wg.square(second + u(t)))
    return inside + wg.mean(wg.square(begin)) + wg.mean(wg.square(speed - 1.0))


def main(steps: tuple[int, int, int] = (400, 300, 1500)) -> tuple[float, float, float]:
    """How far each is from what it should be, after so many steps of each."""
    random = np.random.default_rng(0)
    score, judge, u = network(2, 2, 0), network(2, 1, 10), network(1, 1, 20)
    for _ in range(steps[0]):
        score_matching(score, random.normal(size=(128, 2))).train().run()
    points = np.array([[1.0, 0.0], [0.0, -0.5], [0.5, 0.5]], np.float64)
    of_normal = float(np.abs(score(wg.literal(points)).predict().run() + points).max())
    print(f"the score of a normal distribution is -x: off by {of_normal:.2f} at most")

    for _ in range(steps[1]):
        real, made = (
            random.normal(size=(64, 2)),
            random.normal(size=(64, 2)) + np.array([2.0, 0.0], np.float64),
        )
        part = random.uniform(size=(64, 1))
        critic(judge, real, made, part * real + (1.0 - part) * made).train().run()
    along: Rows = np.stack([np.linspace(0.0, 2.0, 9), np.zeros(9)], axis=1)
    x = wg.literal(along)
    slope = wg.gradients(wg.sum(judge(x)), x).run()
    of_slope = float(np.abs(np.linalg.norm(slope, axis=1) - 1.0).mean())
    print(f"the slope of the critic is 1: off by {of_slope:.2f} on average")

    times = np.linspace(0.0, 3.0, 40).reshape(40, 1)
    for _ in range(steps[2]):
        oscillator(u, times).train().run()
    of_sine = float(np.abs(u(wg.literal(times)).predict().run() - np.sin(times)).max())
    print(f"u'' = -u is solved by sin: off by {of_sine:.3f} at most")
    return of_normal, of_slope, of_sine


if __name__ == "__main__":
    main()
