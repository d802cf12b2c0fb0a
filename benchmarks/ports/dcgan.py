"""A generator of small images against a discriminator: DCGAN.

Knows: two optimizers, a discriminator that learns from both kinds of images, and one that stands still while the
generator learns by it.
Refuses to know: images of anything; these are made.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

import wengert as wg
from benchmarks.ports.port import TORCH, Port, stepped, tensors, torch
from benchmarks.workload import Step
from wengert.nn import BatchNorm, Conv2d, ConvTranspose2d, Flatten, Sequential, freeze, init
from wengert.plugins import Adam, LearningRate

BATCH, NOISE, WIDTH, RATE, BETA = 16, 16, 16, 2e-4, 0.5
Arrays = np.ndarray[tuple[int, int, int, int], np.dtype[np.float32]]


def data(number: int) -> tuple[Arrays, Arrays]:
    """Images of a bright square each, and noise."""
    chance = np.random.default_rng(number)
    images = np.full((BATCH, 1, 16, 16), -1.0, np.float32)
    for image, (y, x) in zip(images[:, 0], chance.integers(0, 8, (BATCH, 2)), strict=True):
        image[y : y + 8, x : x + 8] = 1.0
    return images, chance.standard_normal((BATCH, NOISE, 1, 1)).astype(np.float32)


class Settings(Adam, LearningRate):
    """Adam with a rate."""


class Batch(int):
    """How many images."""


def generator() -> Sequential:
    settings, chance = Settings(learning_rate=RATE, beta1=BETA), np.random.default_rng(0)
    small = init.normal(0.02)
    return Sequential(
        ConvTranspose2d.make(settings, NOISE, 2 * WIDTH, 4, bias=False, seed=chance, init=small),
        BatchNorm.make(settings, 2 * WIDTH),
        wg.relu,
        ConvTranspose2d.make(
            settings, 2 * WIDTH, WIDTH, 4, stride=2, padding=1, bias=False, seed=chance, init=small
        ),
        BatchNorm.make(settings, WIDTH),
        wg.relu,
        ConvTranspose2d.make(settings, WIDTH, 1, 4, stride=2, padding=1, bias=False, seed=chance, init=small),
        wg.tanh,
    )


def discriminator() -> Sequential:
    settings, chance = Settings(learning_rate=RATE, beta1=BETA), np.random.default_rng(1)
    small = init.normal(0.02)
    return Sequential(
        Conv2d.make(settings, 1, WIDTH, 4, stride=2, padding=1, bias=False, seed=chance, init=small),
        lambda h: wg.leaky_relu(h, negative_slope=0.2),
        Conv2d.make(settings, WIDTH, 2 * WIDTH, 4, stride=2, padding=1, bias=False, seed=chance, init=small),
        BatchNorm.make(settings, 2 * WIDTH),
        lambda h: wg.leaky_relu(h, negative_slope=0.2),
        Conv2d.make(settings, 2 * WIDTH, 1, 4, bias=False, seed=chance, init=small),
        Flatten(),
    )


def ours() -> Step:
    make, judge, number = generator(), discriminator(), 0
    standing = freeze(judge)
    true, false = np.ones((BATCH, 1), np.float32), np.zeros((BATCH, 1), np.float32)

    def step() -> float:
        nonlocal number
        images, noise = data(number)
        number += 1
        made = make(wg.literal(noise, Batch, NOISE, 1, 1), seed=number)
        real = wg.binary_cross_entropy_with_logits(judge(wg.literal(images), seed=number), true)
        fake = wg.binary_cross_entropy_with_logits(judge(wg.stop_gradient(made), seed=number), false)
        judged = (real + fake).train().run()
        fooled = wg.binary_cross_entropy_with_logits(standing(made, seed=number), true).train().run()
        return judged.item() + fooled.item()

    return step


def theirs() -> Step:
    library = torch()
    f: Any = library.nn.functional
    maker, judges, number = tensors(generator()), tensors(discriminator()), 0
    of_maker, of_judge = (
        library.optim.Adam(w.values(), lr=RATE, betas=(BETA, 0.999)) for w in (maker, judges)
    )
    true, false = library.ones(BATCH, 1), library.zeros(BATCH, 1)
    criterion = f.binary_cross_entropy_with_logits

    def norm(x: Any, scale: Any, offset: Any) -> Any:
        return f.batch_norm(x, library.zeros_like(scale), library.ones_like(scale), scale, offset, True)

    def make(z: Any) -> Any:
        first, scale, offset, second, next_scale, next_offset, last = maker.values()
        h = f.relu(norm(f.conv_transpose2d(z, first), scale, offset))
        h = f.relu(norm(f.conv_transpose2d(h, second, stride=2, padding=1), next_scale, next_offset))
        return library.tanh(f.conv_transpose2d(h, last, stride=2, padding=1))

    def judge(x: Any) -> Any:
        first, second, scale, offset, last = judges.values()
        h = f.leaky_relu(f.conv2d(x, first, stride=2, padding=1), 0.2)
        h = f.leaky_relu(norm(f.conv2d(h, second, stride=2, padding=1), scale, offset), 0.2)
        return f.conv2d(h, last).flatten(1)

    def step() -> float:
        nonlocal number
        images, noise = map(library.from_numpy, data(number))
        number += 1
        made = make(noise)
        judged = stepped(of_judge, criterion(judge(images), true) + criterion(judge(made.detach()), false))
        return judged + stepped(of_maker, criterion(judge(made), true))

    return step


PORT: Final = Port(
    "dcgan",
    "pytorch/examples, dcgan",
    "16 images of 16x16, three convolutions each way, two Adams",
    TORCH,
    ours,
    theirs,
    (Settings, Batch, generator, discriminator, ours),
    steps=20,
)
