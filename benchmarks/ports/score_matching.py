"""The score of a distribution, matched by its divergence: that of `examples/by_inputs.py`.

Knows: a loss in which a derivative by the data stands.
Refuses to know: how anything is drawn from a score.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from benchmarks.ports.port import TORCH, Port, example, stepped, tensors, torch
from benchmarks.workload import Step
from wengert.nn import Linear
from wengert.plugins import SGD

BATCH, RATE = 128, 1e-2
EXAMPLE: Final = example("by_inputs")
Rows = np.ndarray[tuple[int, int], np.dtype[np.float64]]


def rows(number: int) -> Rows:
    """Points of a normal distribution."""
    return np.random.default_rng(number).standard_normal((BATCH, 2))


def ours() -> Step:
    network, number = EXAMPLE.network(2, 2, 0), 0

    def step() -> float:
        nonlocal number
        number += 1
        loss: float = EXAMPLE.score_matching(network, rows(number)).train().run().item()
        return loss

    return step


def theirs() -> Step:
    settings, library, number = SGD(learning_rate=0.0), torch(), 0
    layers = [
        Linear.make(settings, *sizes, seed=seed, dtype=np.float64)
        for seed, sizes in enumerate(((2, 32), (32, 2)))
    ]
    hidden, hidden_bias, top, top_bias = tensors(layers).values()
    optimizer = library.optim.Adam([hidden, hidden_bias, top, top_bias], lr=RATE)

    def step() -> float:
        nonlocal number
        number += 1
        x = library.from_numpy(rows(number)).requires_grad_()
        score = library.tanh(x @ hidden + hidden_bias) @ top + top_bias
        loss = 0.5 * score.square().sum(dim=1).mean()
        for i in range(2):
            (by_x,) = library.autograd.grad(score[:, i].sum(), x, create_graph=True)
            loss = loss + by_x[:, i].mean()
        return stepped(optimizer, loss)

    return step


PORT: Final = Port(
    "score-matching",
    "Hyvärinen's loss by automatic differentiation",
    "2-32-2, 128 points, doubles, Adam",
    TORCH,
    ours,
    theirs,
    (EXAMPLE.Settings, EXAMPLE.network, EXAMPLE.score_matching, ours),
    example="by_inputs",
)
