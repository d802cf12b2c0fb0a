"""Small images: two convolutions with pooling and a dense layer, trained one batch a step, in every library.

Knows: the network, handed the functions of each library, and that all begin with the same weights.
Refuses to know: how time is taken.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import Any, Final

import numpy as np

import wengert as wg
from benchmarks.workload import OURS, Step, Variant, Workload, agreement
from wengert.plugins import SGD

Value = Any  # an array, a layer, a tensor: whatever has + and @
Array = np.ndarray[Any, np.dtype[np.float32]]  # Any: of every shape
BATCH, SIDE, CLASSES, RATE = 16, 32, 10, 0.01


def given(channels: int) -> tuple[list[Array], Array, np.ndarray[Any, np.dtype[np.int64]]]:  # Any: as above
    """Weights, images and labels."""
    chance = np.random.default_rng(0)
    side = SIDE // 4
    shapes = ((channels, 3, 3, 3), (2 * channels, channels, 3, 3), (2 * channels * side * side, CLASSES))
    fans = (27, 9 * channels, shapes[2][0])
    weights = [
        chance.normal(0.0, fan**-0.5, shape).astype(np.float32)
        for shape, fan in zip(shapes, fans, strict=True)
    ]
    images = chance.uniform(-0.5, 0.5, (BATCH, 3, SIDE, SIDE)).astype(np.float32)
    return weights, images, chance.integers(0, CLASSES, BATCH)


def ours(channels: int) -> Step:
    data, images, labels = given(channels)
    settings = SGD(learning_rate=RATE)
    first, second, dense = (settings.array_weight(x) for x in data)

    def step() -> float:
        x: Value = wg.max_pool2d(wg.relu(wg.conv2d(images, first, padding=1)), 2)
        x = wg.max_pool2d(wg.relu(wg.conv2d(x, second, padding=1)), 2)
        return float(wg.cross_entropy(wg.reshape(x, (BATCH, -1)) @ dense, labels).train().run())

    return step


def torch(channels: int) -> Step:
    library: Any = import_module("torch")  # Any: benchmarks type-check where no peer is installed
    library.set_num_threads(1)
    f: Any = library.nn.functional
    data, *rest = given(channels)
    weights = [library.tensor(x, requires_grad=True) for x in data]
    images, labels = map(library.tensor, rest)

    def step() -> float:
        x = f.max_pool2d(f.relu(f.conv2d(images, weights[0], padding=1)), 2)
        x = f.max_pool2d(f.relu(f.conv2d(x, weights[1], padding=1)), 2)
        loss = f.cross_entropy(x.reshape(BATCH, -1) @ weights[2], labels)
        loss.backward()
        with library.no_grad():
            for weight in weights:
                weight.sub_(weight.grad, alpha=RATE)
                weight.grad = None
        return float(loss.detach())

    return step


def jax(channels: int) -> Step:
    library: Any = import_module("jax")
    data, images, labels = given(channels)
    weights = [library.numpy.asarray(x) for x in data]

    def layer(x: Value, kernel: Value) -> Value:
        x = library.lax.conv_general_dilated(x, kernel, (1, 1), ((1, 1), (1, 1)))
        return library.lax.reduce_window(
            library.nn.relu(x), -np.inf, library.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID"
        )

    def loss(weights: Value) -> Value:
        x = layer(layer(images, weights[0]), weights[1]).reshape(BATCH, -1) @ weights[2]
        return -library.nn.log_softmax(x)[np.arange(BATCH), labels].mean()

    def whole(weights: Value) -> Value:
        value, deltas = library.value_and_grad(loss)(weights)
        return value, [w - RATE * g for w, g in zip(weights, deltas, strict=True)]

    compiled = library.jit(whole, donate_argnums=0)

    def step() -> float:
        nonlocal weights
        value, weights = compiled(weights)
        return float(value)

    return step


def workload(channels: int, name: str = "") -> Workload:
    variants = (
        Variant(OURS, partial(ours, channels)),
        Variant("torch", partial(torch, channels), needs=("torch",)),
        Variant("jax.jit", partial(jax, channels), needs=("jax",)),
    )
    return Workload(
        name or f"images-{channels}",
        f"{BATCH} images of 3x{SIDE}x{SIDE}, two convolutions to {channels} and {2 * channels} channels",
        "ms a step",
        1e-3,
        1,
        variants,
        check=partial(agreement, variants),
    )


WORKLOADS: Final = (workload(16), workload(64))
