"""A pole balanced by a policy gradient: the policy and the cart of `examples/reinforcement.py`.

Knows: that episodes are played with the same draws, so that all of them are the same until a rounding decides a push.
Refuses to know: a simulator of anybody else.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

import wengert as wg
from benchmarks.ports.port import TORCH, Port, Value, example, stepped, tensors, torch
from benchmarks.workload import Step

CARTS, MOST, RATE, ROUNDS = 16, 200, 1e-2, 20
EXAMPLE: Final = example("reinforcement")
Floats = np.ndarray[Any, np.dtype[np.float64]]


def ours() -> Step:
    model, chance, number = EXAMPLE.Policy(), np.random.default_rng(0), 0

    def step() -> float:
        nonlocal model, chance, number
        if number and number % ROUNDS == 0:  # anew: episodes become longer
            model, chance = EXAMPLE.Policy(), np.random.default_rng(0)
        number += 1
        states, pushes, rest = EXAMPLE.play(model, CARTS, MOST, chance)
        worth = (rest - rest.mean()) / (rest.std() + 1e-8)
        surprise = wg.cross_entropy(model(states), pushes, reduction="none")
        return wg.mean(surprise * wg.literal(worth, EXAMPLE.Step)).train().run().item()

    return step


def theirs() -> Step:
    library = torch()
    f: Any = library.nn.functional

    def begun() -> tuple[list[Value], Value, np.random.Generator]:
        weights = [*tensors(EXAMPLE.Policy()).values()]
        return weights, library.optim.Adam(weights, lr=RATE), np.random.default_rng(0)

    (weights, optimizer, chance), number = begun(), 0

    def policy(states: Floats) -> Value:
        hidden, hidden_bias, top, top_bias = weights
        h = library.tanh(library.from_numpy(states) @ hidden + hidden_bias)
        return f.log_softmax(h @ top + top_bias, dim=1)

    def step() -> float:
        nonlocal weights, optimizer, chance, number
        if number and number % ROUNDS == 0:
            weights, optimizer, chance = begun()
        number += 1
        state, alive = chance.uniform(-0.05, 0.05, (CARTS, 4)), np.ones(CARTS, bool)
        seen: list[tuple[Floats, Any, Any]] = []  # Any: arrays of bool
        while len(seen) < MOST and alive.any():
            with library.no_grad():
                right = chance.random(CARTS) < policy(state)[:, 1].exp().numpy()
            seen.append((state, right, alive))
            state = np.where(alive[:, None], EXAMPLE.push(state, right), state)
            alive = alive & EXAMPLE.upright(state)
        states, pushes, living = (np.stack(parts) for parts in zip(*seen, strict=True))
        rest = living[::-1].cumsum(axis=0)[::-1][living].astype(np.float64)
        worth = library.from_numpy((rest - rest.mean()) / (rest.std() + 1e-8))
        chosen = library.from_numpy(pushes[living].astype(np.int64))
        surprise = f.nll_loss(policy(states[living]), chosen, reduction="none")
        return stepped(optimizer, (surprise * worth).mean())

    return step


PORT: Final = Port(
    "reinforce",
    "pytorch/examples, REINFORCE",
    "4-32-2, 16 carts and poles a step, Adam",
    TORCH,
    ours,
    theirs,
    (EXAMPLE.Settings, EXAMPLE.Step, EXAMPLE.Policy, EXAMPLE.play, ours),
    steps=20,
    example="reinforcement",
)
