"""Right programs: convolutional networks, as their authors would write them. No checker refuses a line."""

from typing import Literal as L
from typing import NewType

import numpy as np

import wengert as wg
from wengert.nn import Conv2d, Linear, Sequential
from wengert.plugins import Adam, LearningRate

Batch = NewType("Batch", int)
Loss = wg.ArrayLayer[tuple[()]]


class Settings(Adam, LearningRate):
    """Adam with a learning rate."""


settings = Settings(learning_rate=1e-3)
chance = np.random.default_rng(0)
digits = chance.standard_normal((2, 1, 28, 28)).astype(np.float32)
photos = chance.standard_normal((2, 3, 32, 32)).astype(np.float32)
labels = np.array([0, 1])


def port_lenet() -> Loss:
    c1 = Conv2d.make(settings, 1, 6, 5, padding=2, seed=0)
    c2 = Conv2d.make(settings, 6, 16, 5, seed=1)
    f1 = Linear.make(settings, 16 * 5 * 5, 120, seed=2)
    f2 = Linear.make(settings, 120, 84, seed=3)
    f3 = Linear.make(settings, 84, 10, seed=4)
    h = wg.max_pool2d(wg.relu(c1(wg.literal(digits, Batch, 1, 28, 28))), 2)
    flat = wg.reshape(wg.max_pool2d(wg.relu(c2(h)), 2), (-1, 400))
    return wg.cross_entropy(f3(wg.relu(f2(wg.relu(f1(flat))))), labels)


class Residual:
    """Two convolutions around which the input goes."""

    def __init__(self, channels: int, seed: int) -> None:
        self.a = Conv2d.make(settings, channels, channels, 3, padding="same", seed=seed)
        self.b = Conv2d.make(settings, channels, channels, 3, padding="same", seed=seed + 1)

    def __call__(self, x: wg.ArrayLayer) -> wg.ArrayLayer:
        return wg.relu(x + self.b(wg.relu(self.a(x))))


def port_resnet() -> Loss:
    stem = Conv2d.make(settings, 3, 8, 3, padding="same", seed=0)
    blocks = [Residual(8, seed) for seed in (1, 3, 5)]
    head = Linear.make(settings, 8, 10, seed=7)
    h: wg.ArrayLayer = wg.relu(stem(wg.literal(photos, Batch, 3, 32, 32)))
    for block in blocks:
        h = block(h)
    return wg.cross_entropy(head(wg.mean(h, axis=(2, 3))), labels)


def port_vgg() -> Loss:
    widths = [3, 8, 16]
    convolutions = [Conv2d.make(settings, widths[i], widths[i + 1], 3, padding=1, seed=i) for i in range(2)]
    h: wg.ArrayLayer = wg.literal(photos)
    for convolution in convolutions:
        h = wg.max_pool2d(wg.relu(convolution(h)), 2)
    head = Linear.make(settings, 16 * 8 * 8, 10, seed=9)
    return wg.cross_entropy(head(wg.reshape(h, (h.shape[0], -1))), labels)


def port_densenet() -> Loss:
    a = Conv2d.make(settings, 3, 4, 3, padding=1, seed=0)
    b = Conv2d.make(settings, 7, 4, 3, padding=1, seed=1)
    x = wg.literal(photos, Batch, 3, 32, 32)
    one = wg.concat([x, wg.relu(a(x))], axis=1)
    two = wg.concat([one, wg.relu(b(one))], axis=1)
    return wg.mean(two)


def port_squeeze_and_excite() -> Loss:
    down = Linear.make(settings, 3, 2, seed=0)
    up = Linear.make(settings, 2, 3, seed=1)
    x = wg.literal(photos, Batch, 3, 32, 32)
    gate = wg.sigmoid(up(wg.relu(down(wg.mean(x, axis=(2, 3))))))
    return wg.mean(x * wg.expand_dims(gate, axis=(2, 3)))


def port_unet() -> Loss:
    down = Conv2d.make(settings, 1, 4, 3, padding=1, seed=0)
    middle = Conv2d.make(settings, 4, 4, 3, padding=1, seed=1)
    up = Conv2d.make(settings, 8, 1, 3, padding=1, seed=2)
    x = wg.literal(digits, Batch, 1, 28, 28)
    skip = wg.relu(down(x))
    low = wg.relu(middle(wg.max_pool2d(skip, 2)))
    wide = wg.reshape(
        wg.broadcast_to(wg.expand_dims(low, axis=(3, 5)), (x.shape[0], 4, 14, 2, 14, 2)), (-1, 4, 28, 28)
    )
    return wg.mean(wg.square(up(wg.concat([wide, skip], axis=1)) - x))


def port_inception() -> Loss:
    x = wg.literal(photos, Batch, 3, 32, 32)
    towers = [Conv2d.make(settings, 3, 4, k, padding="same", seed=k) for k in (1, 3, 5)]
    return wg.mean(wg.concat([wg.relu(tower(x)) for tower in towers], axis=1))


def port_all_convolutional() -> Loss:
    model = Sequential(
        Conv2d.make(settings, 3, 8, 3, stride=2, padding=1, seed=0),
        wg.relu,
        Conv2d.make(settings, 8, 10, 3, stride=2, padding=1, seed=1),
    )
    return wg.cross_entropy(wg.mean(model(wg.literal(photos, Batch, 3, 32, 32)), axis=(2, 3)), labels)


def port_batch_statistics() -> Loss:
    scale = settings.array_weight(np.ones((1, 3, 1, 1), np.float32), 1, 3, 1, 1)
    x = wg.literal(photos, Batch, 3, 32, 32)
    centred = x - wg.mean(x, axis=(0, 2, 3), keepdims=True)
    spread = wg.sqrt(wg.mean(wg.square(centred), axis=(0, 2, 3), keepdims=True) + 1e-5)
    return wg.mean(centred / spread * scale)


def port_separable() -> Loss:
    x = wg.literal(digits, Batch, 1, 28, 28)
    depth = Conv2d.make(settings, 1, 1, 3, padding=1, seed=0)
    point = Conv2d.make(settings, 1, 8, 1, seed=1)
    return wg.mean(wg.gelu(point(depth(x))))


def patches(x: wg.ArrayLayer[tuple[Batch, L[1], L[28], L[28]]]) -> wg.ArrayLayer[tuple[Batch, L[16], L[49]]]:
    """Sixteen squares of 7 by 7."""
    cut = wg.reshape(x, (x.shape[0], 4, 7, 4, 7))
    return wg.reshape(wg.permute_dims(cut, (0, 1, 3, 2, 4)), (x.shape[0], 16, 49))


def port_patches() -> Loss:
    embed = Linear.make(settings, 49, 8, seed=0)
    place = settings.array_weight(np.zeros((16, 8), np.float32), 16, 8)
    return wg.mean(embed(patches(wg.literal(digits, Batch, 1, 28, 28))) + place)
