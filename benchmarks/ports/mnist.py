"""Images of digits in the size of MNIST: two convolutions and two dense layers.

Knows: the network of PyTorch's first example, with Adadelta and a rate that falls each epoch; without its dropout,
whose masks no two libraries share.
Refuses to know: where images come from; these are made.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

import wengert as wg
from benchmarks.ports.port import TORCH, Port, stepped, tensors, torch
from benchmarks.workload import Step
from wengert.nn import Conv2d, Flatten, Linear, MaxPool2d, Sequential
from wengert.plugins import Adadelta, LearningRateSchedule, schedules

BATCH, EPOCH, GAMMA = 64, 10, 0.7
Images = np.ndarray[tuple[int, int, int, int], np.dtype[np.float32]]
Labels = np.ndarray[tuple[int], np.dtype[np.int64]]


def images() -> tuple[Images, Labels]:
    """Ten patterns with noise."""
    chance = np.random.default_rng(0)
    labels = chance.integers(0, 10, BATCH * EPOCH)
    patterns = chance.standard_normal((10, 1, 28, 28))
    noise = chance.standard_normal((len(labels), 1, 28, 28))
    return (0.5 * patterns[labels] + noise).astype(np.float32), labels


class Settings(Adadelta, LearningRateSchedule):
    """Adadelta with a rate that falls."""


class Batch(int):
    """How many images."""


def network() -> Sequential:
    settings = Settings(schedule=schedules.StepLR(1.0, step_size=EPOCH, gamma=GAMMA))
    return Sequential(
        Conv2d.make(settings, 1, 32, 3, seed=0),
        wg.relu,
        Conv2d.make(settings, 32, 64, 3, seed=1),
        wg.relu,
        MaxPool2d(2),
        Flatten(),
        Linear.make(settings, 9216, 128, seed=2),
        wg.relu,
        Linear.make(settings, 128, 10, seed=3),
    )


def ours() -> Step:
    net, (x, labels), number = network(), images(), 0

    def step() -> float:
        nonlocal number
        rows = slice(number % EPOCH * BATCH, (number % EPOCH + 1) * BATCH)
        number += 1
        scores = net(wg.literal(x[rows], Batch, 1, 28, 28))
        return wg.cross_entropy(scores, labels[rows]).train().run().item()

    return step


def theirs() -> Step:
    library, weights = torch(), tensors(network())
    f: Any = library.nn.functional
    x, labels = map(library.from_numpy, images())
    optimizer = library.optim.Adadelta(weights.values(), lr=1.0)
    rate = library.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=GAMMA)
    first, first_bias, second, second_bias, hidden, hidden_bias, top, top_bias = weights.values()
    number = 0

    def step() -> float:
        nonlocal number
        rows = slice(number % EPOCH * BATCH, (number % EPOCH + 1) * BATCH)
        number += 1
        h = f.relu(f.conv2d(x[rows], first, first_bias))
        h = f.max_pool2d(f.relu(f.conv2d(h, second, second_bias)), 2).flatten(1)
        h = f.relu(h @ hidden + hidden_bias)
        loss = stepped(optimizer, f.nll_loss(f.log_softmax(h @ top + top_bias, dim=1), labels[rows]))
        if number % EPOCH == 0:
            rate.step()
        return loss

    return step


PORT: Final = Port(
    "mnist",
    "pytorch/examples, mnist",
    "64 images of 28x28, convolutions to 32 and 64, Adadelta, StepLR",
    TORCH,
    ours,
    theirs,
    (Settings, Batch, network, ours),
)
