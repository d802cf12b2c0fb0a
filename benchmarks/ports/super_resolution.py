"""Images at twice their size by convolutions whose channels become pixels.

Knows: four convolutions with orthogonal weights and `pixel_shuffle`.
Refuses to know: photographs; these images are made.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

import wengert as wg
from benchmarks.ports.port import TORCH, Port, stepped, tensors, torch
from benchmarks.workload import Step
from wengert.nn import Conv2d, Sequential, init
from wengert.plugins import Adam, LearningRate

BATCH, SIDE, FACTOR, RATE = 4, 32, 2, 1e-3
Images = np.ndarray[tuple[int, int, int, int], np.dtype[np.float32]]


def images(number: int) -> tuple[Images, Images]:
    """Waves at a quarter of their pixels, and whole."""
    chance = np.random.default_rng(number)
    y, x = np.mgrid[: SIDE * FACTOR, : SIDE * FACTOR] / (SIDE * FACTOR)
    turn, slope, shift = chance.uniform(-12.0, 12.0, (3, BATCH, 1, 1, 1))
    whole = (0.5 + 0.5 * np.sin(turn * x + slope * y + shift)).astype(np.float32)
    small = whole.reshape(BATCH, 1, SIDE, FACTOR, SIDE, FACTOR).mean(axis=(3, 5))
    return small, whole


class Settings(Adam, LearningRate):
    """Adam with a rate."""


class Batch(int):
    """How many images."""


def network() -> Sequential:
    settings, chance = Settings(learning_rate=RATE), np.random.default_rng(0)
    bright, plain = init.orthogonal(init.gain("relu")), init.orthogonal()
    return Sequential(
        Conv2d.make(settings, 1, 64, 5, padding=2, seed=chance, init=bright),
        wg.relu,
        Conv2d.make(settings, 64, 64, 3, padding=1, seed=chance, init=bright),
        wg.relu,
        Conv2d.make(settings, 64, 32, 3, padding=1, seed=chance, init=bright),
        wg.relu,
        Conv2d.make(settings, 32, FACTOR**2, 3, padding=1, seed=chance, init=plain),
        lambda h: wg.pixel_shuffle(h, FACTOR),
    )


def ours() -> Step:
    net, number = network(), 0

    def step() -> float:
        nonlocal number
        small, whole = images(number)
        number += 1
        return wg.mse_loss(net(wg.literal(small, Batch, 1, 32, 32)), wg.literal(whole)).train().run().item()

    return step


def theirs() -> Step:
    library, weights, number = torch(), tensors(network()), 0
    f: Any = library.nn.functional
    optimizer = library.optim.Adam(weights.values(), lr=RATE)
    kernels = [*weights.values()]

    def step() -> float:
        nonlocal number
        small, whole = map(library.from_numpy, images(number))
        number += 1
        h = f.relu(f.conv2d(small, *kernels[:2], padding=2))
        h = f.relu(f.conv2d(h, *kernels[2:4], padding=1))
        h = f.relu(f.conv2d(h, *kernels[4:6], padding=1))
        return stepped(
            optimizer, f.mse_loss(f.pixel_shuffle(f.conv2d(h, *kernels[6:], padding=1), FACTOR), whole)
        )

    return step


PORT: Final = Port(
    "super-resolution",
    "pytorch/examples, super_resolution",
    "4 images of 32x32 to 64x64, four convolutions, orthogonal, Adam",
    TORCH,
    ours,
    theirs,
    (Settings, Batch, network, ours),
    steps=15,
)
