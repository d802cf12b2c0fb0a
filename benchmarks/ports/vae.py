"""A variational autoencoder: that of `examples/autoencoder.py`.

Knows: that noise is data, so that both libraries have the same.
Refuses to know: photographs; these images are made.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from benchmarks.ports.port import TORCH, Port, example, stepped, tensors, torch
from benchmarks.workload import Step

BATCH, RATE = 128, 2e-3
EXAMPLE: Final = example("autoencoder")
Images = np.ndarray[tuple[int, int], np.dtype[np.float32]]


def images(number: int) -> Images:
    """Brightness from -0.5 to 0.5, of ten patterns."""
    chance = np.random.default_rng(number)
    patterns = np.random.default_rng(0).uniform(-0.4, 0.4, (10, 64))
    return (patterns[chance.integers(0, 10, BATCH)] + chance.uniform(-0.1, 0.1, (BATCH, 64))).astype(
        np.float32
    )


def ours() -> Step:
    model, number = EXAMPLE.Autoencoder(), 0

    def step() -> float:
        nonlocal number
        parts = model.parts(images(number), number)
        number += 1
        loss: float = (parts.pixels + parts.divergence).train().run().item()
        return loss

    return step


def theirs() -> Step:
    library, weights, number = torch(), tensors(EXAMPLE.Autoencoder()), 0
    f: Any = library.nn.functional
    optimizer = library.optim.Adam(weights.values(), lr=RATE)

    def linear(name: str, x: Any) -> Any:
        return x @ weights[f"{name}.weight"] + weights[f"{name}.bias"]

    def step() -> float:
        nonlocal number
        x = library.from_numpy(images(number))
        noise = np.random.default_rng(number).standard_normal((BATCH, 2)).astype(np.float32)
        number += 1
        h = f.relu(linear("hidden", x))
        m, l = linear("mean", h), linear("log_variance", h)
        logits = linear(
            "pixels", f.relu(linear("back", m + library.exp(0.5 * l) * library.from_numpy(noise)))
        )
        pixels = f.binary_cross_entropy_with_logits(logits, x + 0.5, reduction="sum")
        divergence = -0.5 * library.sum(1 + l - m.pow(2) - l.exp())
        return stepped(optimizer, (pixels + divergence) / BATCH)

    return step


PORT: Final = Port(
    "vae",
    "pytorch/examples, vae",
    "64-128-2-128-64, batch 128, Adam",
    TORCH,
    ours,
    theirs,
    (EXAMPLE.Settings, EXAMPLE.Batch, EXAMPLE.Parts, EXAMPLE.Autoencoder, ours),
    example="autoencoder",
)
