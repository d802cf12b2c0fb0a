"""Right programs: perceptrons, as their authors would write them. No checker refuses a line."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Generic, NewType, TypeVar

import numpy as np

import wengert as wg
from wengert import nn
from wengert.nn import Dropout, LayerNorm, Linear, Sequential
from wengert.plugins import SGD, Adam, L2Regularization, LearningRate

Batch = NewType("Batch", int)
D = TypeVar("D", bound=int)
H = TypeVar("H", bound=int)
E = TypeVar("E", bound=int)
Loss = wg.ArrayLayer[tuple[()]]


class Settings(Adam, L2Regularization, LearningRate):
    """Adam with a penalty."""


settings = Settings(learning_rate=1e-3, l2=1e-4)
chance = np.random.default_rng(0)
images = chance.standard_normal((4, 784)).astype(np.float32)
labels = np.array([0, 1, 2, 3])


def port_logistic_regression() -> Loss:
    w = settings.array_weight(np.zeros((784, 1), np.float32), 784, 1)
    b = settings.array_weight(np.zeros(1, np.float32), 1)
    x = wg.literal(images, Batch, 784)
    y = wg.literal(np.ones((4, 1), np.float32), Batch, 1)
    p = wg.sigmoid(x @ w + b)
    return -wg.mean(y * wg.log(p) + (1.0 - y) * wg.log(1.0 - p))


def port_linear_regression() -> Loss:
    w = settings.array_weight(np.zeros(784, np.float32), 784)
    x = wg.literal(images, Batch, 784)
    y = wg.literal(np.ones(4, np.float32), Batch)
    return wg.mean(wg.square(x @ w - y))


class MLP(Generic[D, H, E]):
    """Two layers of sizes that the caller says."""

    def __init__(self, inputs: D, hidden: H, outputs: E) -> None:
        self.first = Linear.make(settings, inputs, hidden, seed=0)
        self.last = Linear.make(settings, hidden, outputs, seed=1)

    def __call__(self, x: wg.ArrayLayer[tuple[Batch, D]]) -> wg.ArrayLayer[tuple[Batch, E]]:
        return self.last(wg.relu(self.first(x)))


def port_generic_mlp() -> Loss:
    model = MLP(784, 64, 10)
    return wg.cross_entropy(model(wg.literal(images, Batch, 784)), labels)


def port_layers_in_a_list() -> Loss:
    layers = [Linear.make(settings, 784, 64, seed=0), Linear.make(settings, 64, 10, seed=1)]
    h: wg.ArrayLayer = wg.literal(images)
    for layer in layers[:-1]:
        h = wg.relu(layer(h))
    return wg.cross_entropy(layers[-1](h), labels)


def port_widths_in_a_comprehension() -> Loss:
    widths = [784, 128, 64, 10]
    layers = [Linear.make(settings, a, b, seed=i) for i, (a, b) in enumerate(pairwise(widths))]
    h: wg.ArrayLayer = wg.literal(images)
    for layer in layers[:-1]:
        h = wg.relu(layer(h))
    return wg.cross_entropy(layers[-1](h), labels)


def port_sequential() -> Loss:
    model = Sequential(
        Linear.make(settings, 784, 64, seed=0), wg.relu, Dropout(0.5), Linear.make(settings, 64, 10, seed=1)
    )
    return wg.cross_entropy(model(wg.literal(images, Batch, 784), seed=0), labels)


class Width(int):
    """A size of its own name."""


NARROW = Width(32)


@dataclass(frozen=True)
class Config:
    """Sizes from a file."""

    hidden: Width = NARROW
    classes: int = 10


def port_config() -> Loss:
    config = Config()
    first = Linear.make(settings, 784, config.hidden, seed=0)
    last = Linear.make(settings, config.hidden, config.classes, seed=1)
    return wg.cross_entropy(last(wg.relu(first(wg.literal(images, Batch, 784)))), labels)


def port_penalty_over_weights() -> Loss:
    model = Linear.make(settings, 784, 10, seed=0)
    loss = wg.cross_entropy(model(wg.literal(images, Batch, 784)), labels)
    penalty = sum(wg.sum(wg.square(w)) for w in nn.weights(model).values())
    return loss + 1e-4 * penalty


def port_residual_mlp() -> Loss:
    first = Linear.make(settings, 784, 64, seed=0)
    blocks = [Linear.make(settings, 64, 64, seed=i) for i in range(1, 4)]
    norm = LayerNorm.make(settings, 64)
    h = wg.relu(first(wg.literal(images, Batch, 784)))
    for block in blocks:
        h = h + wg.relu(block(norm(h)))
    return wg.cross_entropy(h[:, :10], labels)


def port_heads_in_a_dictionary() -> Loss:
    trunk = Linear.make(settings, 784, 16, seed=0)
    heads = {"digit": Linear.make(settings, 16, 10, seed=1), "parity": Linear.make(settings, 16, 2, seed=2)}
    h = wg.relu(trunk(wg.literal(images, Batch, 784)))
    return wg.cross_entropy(heads["digit"](h), labels) + wg.cross_entropy(heads["parity"](h), labels % 2)


def port_skips() -> Loss:
    down = Linear.make(settings, 784, 64, seed=0)
    up = Linear.make(settings, 64, 784, seed=1)
    x = wg.literal(images, Batch, 784)
    skips = [x, wg.relu(down(x))]
    h = up(skips.pop()) + skips.pop()
    return wg.mean(wg.square(h - x))


def port_gradient_descent_by_hand() -> Loss:
    layer = Linear.make(SGD(learning_rate=0.1), 784, 1, seed=0)
    loss = wg.mean(wg.square(layer(wg.literal(images, Batch, 784))))
    (slope,) = wg.gradients(loss, (layer.weight,)).run()
    norm = float(np.sqrt((slope * slope).sum()))
    return loss * min(1.0, 1.0 / (norm + 1e-6)) + float(slope.T[0, 0]) * 0.0
