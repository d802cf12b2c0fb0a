"""Two images through one residual network with batch normalization: that of `examples/siamese.py`.

Knows: that a network is called twice in a step.
Refuses to know: digits; these images are made.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from benchmarks.ports.port import TORCH, Port, Value, example, stepped, tensors, torch
from benchmarks.workload import Step

BATCH, RATE = 64, 3e-3
EXAMPLE: Final = example("siamese")
Floats = np.ndarray[Any, np.dtype[np.float32]]


def pairs(number: int) -> tuple[Floats, Floats, Floats]:
    """Images of ten patterns, others, and whether they show the same."""
    chance = np.random.default_rng(number)
    patterns = np.random.default_rng(0).standard_normal((10, 64))
    one = chance.integers(0, 10, BATCH)
    other = np.where(np.arange(BATCH) % 2 == 0, one, chance.integers(0, 10, BATCH))
    left, right = (patterns[which] + 0.5 * chance.standard_normal((BATCH, 64)) for which in (one, other))
    return left.astype(np.float32), right.astype(np.float32), (one == other).astype(np.float32)


def ours() -> Step:
    network, number = EXAMPLE.Network(), 0

    def step() -> float:
        nonlocal number
        number += 1
        loss: float = network.loss(pairs(number), seed=number).train().run().item()
        return loss

    return step


def theirs() -> Step:
    library, weights, number = torch(), tensors(EXAMPLE.Network()), 0
    f: Any = library.nn.functional
    optimizer = library.optim.Adam(weights.values(), lr=RATE)

    def norm(x: Value, scale: Value, offset: Value) -> Value:
        return f.batch_norm(x, library.zeros_like(scale), library.ones_like(scale), scale, offset, True)

    def features(x: Value) -> Value:
        kernel, bias, *rest = weights.values()
        h = f.conv2d(x.reshape(-1, 1, 8, 8), kernel, bias, padding=1)
        for first, scale, offset, second, last_scale, last_offset in (rest[:6], rest[6:12]):
            inner = f.relu(norm(f.conv2d(h, first, padding=1), scale, offset))
            h = f.relu(h + norm(f.conv2d(inner, second, padding=1), last_scale, last_offset))
        return h.mean(dim=(2, 3))

    def step() -> float:
        nonlocal number
        number += 1
        left, right, same = map(library.from_numpy, pairs(number))
        apart = (features(left) - features(right)).abs()
        logits = (apart @ weights["top.weight"] + weights["top.bias"]).squeeze(1)
        return stepped(optimizer, f.binary_cross_entropy_with_logits(logits, same))

    return step


PORT: Final = Port(
    "siamese",
    "pytorch/examples, siamese_network",
    "64 pairs of 8x8, two residual blocks of 8 channels, Adam",
    TORCH,
    ours,
    theirs,
    (EXAMPLE.Settings, EXAMPLE.Batch, EXAMPLE.Block, EXAMPLE.Network, ours),
    example="siamese",
)
