"""Reinforcement learning: a policy learns to balance a pole on a cart, by its own episodes.

A network gives the logits of two pushes, to the left and to the right. Episodes are played with pushes that are drawn,
and the policy gradient raises the log-probability of each push by how much longer than usual the pole stood after it.
Source: Williams 1992, "Simple statistical gradient-following algorithms" (REINFORCE); the cart and pole of Barto,
Sutton and Anderson 1983.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np

import wengert as wg
from wengert.nn import Linear
from wengert.plugins import Adam, LearningRate

Floats: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]
Bools: TypeAlias = np.ndarray[Any, np.dtype[np.bool_]]


class Settings(Adam, LearningRate):
    """Adam with a learning rate."""


class Step(int):
    """How many states."""


def push(state: Floats, right: Bools) -> Floats:
    """The states 0.02 s later, of carts that are pushed to the left or to the right with 10 N."""
    _, v, angle, turn = state.T
    force = np.where(right, 10.0, -10.0)
    pull = (force + 0.05 * turn**2 * np.sin(angle)) / 1.1
    bend = (9.8 * np.sin(angle) - np.cos(angle) * pull) / (0.5 * (4 / 3 - 0.1 * np.cos(angle) ** 2 / 1.1))
    slide = pull - 0.05 * bend * np.cos(angle) / 1.1
    return state + 0.02 * np.stack([v, slide, turn, bend], axis=1)


def upright(state: Floats) -> Bools:
    return (np.abs(state[:, 0]) < 2.4) & (np.abs(state[:, 2]) < 0.21)


class Policy:
    """Position, speed, angle and turn to the logits of two pushes."""

    def __init__(self, seed: int = 0) -> None:
        settings = Settings(learning_rate=1e-2)
        self.hidden = Linear.make(settings, 4, 32, seed=seed, dtype=np.float64)
        self.top = Linear.make(settings, 32, 2, seed=seed + 1, dtype=np.float64)

    def __call__(self, states: Floats) -> wg.ArrayLayer[tuple[Step, Literal[2]], np.float64]:
        return self.top(wg.tanh(self.hidden(wg.literal(states, Step, 4))))


def play(model: Policy, carts: int, most: int, chance: np.random.Generator) -> tuple[Floats, Any, Floats]:
    """States, pushes, and how many steps followed each; all carts that stand are asked together."""
    state = chance.uniform(-0.05, 0.05, (carts, 4))
    alive, steps = np.ones(carts, bool), []
    for _ in range(most):
        scores = wg.softmax(model(state)).predict().run()
        right = chance.random(carts) < scores[:, 1]
        steps.append((state, right, alive))
        state = np.where(alive[:, None], push(state, right), state)
        alive = alive & upright(state)
        if not alive.any():
            break
    living = np.array([alive for _, _, alive in steps], np.float64)
    rest = living[::-1].cumsum(axis=0)[::-1]
    chosen = living > 0.0
    states, pushes = (np.array([step[i] for step in steps])[chosen] for i in (0, 1))
    return states, pushes.astype(np.int64), rest[chosen]


def main(rounds: int = 60, carts: int = 16, most: int = 200) -> tuple[float, float]:
    chance, model = np.random.default_rng(0), Policy()
    lengths = []
    for number in range(rounds):
        states, pushes, rest = play(model, carts, most, chance)
        lengths.append(len(states) / carts)
        worth = (rest - rest.mean()) / (rest.std() + 1e-8)
        surprise = wg.cross_entropy(model(states), pushes, reduction="none")
        wg.mean(surprise * wg.literal(worth, Step)).train().run()
        if number % 20 == 19:
            print(
                f"round {number + 1}: the pole stands for {np.mean(lengths[-5:]):.0f} steps of at most {most}"
            )
    before, after = lengths[0], float(np.mean(lengths[-5:]))
    print(
        f"the pole stood for {before:.0f} steps before, and for {after:.0f} of {most} after {rounds} rounds"
    )
    return before, after


if __name__ == "__main__":
    main()
