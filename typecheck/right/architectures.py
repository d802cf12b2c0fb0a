"""Right programs: architectures of papers, each as its readers write it. No checker refuses a line."""

import math
from dataclasses import dataclass
from typing import Literal, NewType

import numpy as np

import wengert as wg
from wengert import nn
from wengert.plugins import Adam, LearningRate

Batch = NewType("Batch", int)
Time = NewType("Time", int)
Loss = wg.ArrayLayer[tuple[()]]


class Settings(Adam, LearningRate):
    """Adam with a learning rate."""


settings = Settings(learning_rate=1e-3)
chance = np.random.default_rng(0)
pixels = chance.standard_normal((4, 3, 8, 8), np.float32)
signal = chance.standard_normal((4, 6, 8), np.float32)
rows = chance.standard_normal((4, 8), np.float32)
labels = np.array([0, 1, 0, 1])
tokens = np.array([[1, 2, 3, 4, 5, 6]] * 4)


class Dilated:
    """A residual layer of WaveNet: a gate, a skip connection."""

    def __init__(self, width: int, dilation: int, seed: int) -> None:
        self.dilation = dilation
        self.signal = nn.Conv1d.make(settings, width, width, 2, dilation=dilation, seed=seed)
        self.gate = nn.Conv1d.make(settings, width, width, 2, dilation=dilation, seed=seed + 1)
        self.skip = nn.Conv1d.make(settings, width, width, 1, seed=seed + 2)

    def __call__(self, x: wg.ArrayLayer) -> tuple[wg.ArrayLayer, wg.ArrayLayer]:
        past = wg.pad(x, ((0, 0), (0, 0), (self.dilation, 0)))
        h = wg.tanh(self.signal(past)) * wg.sigmoid(self.gate(past))
        skip = self.skip(h)
        return x + skip, skip


def port_wavenet() -> Loss:
    x: wg.ArrayLayer = wg.literal(np.transpose(signal, (0, 2, 1)), Batch, 8, Time)
    skips = []
    for i, dilation in enumerate((1, 2, 4)):
        x, skip = Dilated(8, dilation, 3 * i)(x)
        skips.append(skip)
    total = sum(skips[1:], skips[0])
    return wg.mean(wg.square(nn.Conv1d.make(settings, 8, 1, 1, seed=9)(wg.relu(total))))


@dataclass(frozen=True)
class MixerBlock:
    """Mixing of places, then of channels."""

    places: nn.Sequential
    channels: nn.Sequential
    norms: tuple[nn.LayerNorm, nn.LayerNorm]

    def __call__(self, x: wg.ArrayLayer) -> wg.ArrayLayer:
        turned = wg.permute_dims(self.norms[0](x), (0, 2, 1))
        x = x + wg.permute_dims(self.places(turned), (0, 2, 1))
        return x + self.channels(self.norms[1](x))


def mlp(width: int, hidden: int, seed: int) -> nn.Sequential:
    first = nn.Linear.make(settings, width, hidden, seed=seed)
    return nn.Sequential(first, wg.gelu, nn.Linear.make(settings, hidden, width, seed=seed + 1))


def port_mixer() -> Loss:
    images = wg.literal(pixels, Batch, 3, 8, 8)
    cut = wg.reshape(images, (images.shape[0], 3, 2, 4, 2, 4))
    patches = wg.reshape(wg.permute_dims(cut, (0, 2, 4, 1, 3, 5)), (images.shape[0], 4, 48))
    h: wg.ArrayLayer = nn.Linear.make(settings, 48, 16, seed=0)(patches)
    for seed in (1, 11):
        norms = (nn.LayerNorm.make(settings, 16), nn.LayerNorm.make(settings, 16))
        h = MixerBlock(mlp(4, 8, seed), mlp(16, 32, seed + 2), norms)(h)
    head = nn.Linear.make(settings, 16, 2, seed=30)
    return wg.cross_entropy(head(wg.mean(h, axis=1)), labels)


def port_vision_transformer() -> Loss:
    patch = nn.Conv2d.make(settings, 3, 16, 4, stride=4, seed=0)
    cells = patch(wg.literal(pixels, Batch, 3, 8, 8))
    patches = wg.permute_dims(wg.reshape(cells, (cells.shape[0], 16, 4)), (0, 2, 1))
    token = settings.array_weight(np.zeros((1, 1, 16), np.float32), 1, 1, 16)
    positions = settings.array_weight(np.zeros((5, 16), np.float32), 5, 16)
    x = wg.concat([wg.broadcast_to(token, (patches.shape[0], 1, 16)), patches], axis=1) + positions
    x = x + nn.MultiHeadAttention.make(settings, 16, 4, seed=1)(nn.LayerNorm.make(settings, 16)(x))
    return wg.cross_entropy(nn.Linear.make(settings, 16, 2, seed=2)(x[:, 0]), labels)


def port_siamese() -> Loss:
    embed = nn.Sequential(nn.Linear.make(settings, 8, 8, seed=0), wg.relu)
    a, b = embed(wg.literal(rows, Batch, 8)), embed(wg.literal(rows[::-1], Batch, 8))
    distance = wg.sqrt(wg.sum(wg.square(a - b), axis=1) + 1e-6)
    same = wg.literal((labels == labels[::-1]).astype(np.float32), Batch)
    apart = wg.square(wg.relu(1.0 - distance))
    return wg.mean(same * wg.square(distance) + (1.0 - same) * apart)


def port_deep_q() -> Loss:
    online, target = (nn.Linear.make(settings, 8, 3, seed=i) for i in range(2))
    states, after = wg.literal(rows, Batch, 8), wg.literal(rows + 1.0, Batch, 8)
    actions, rewards = labels, wg.literal(np.ones(4, np.float32), Batch)
    value = wg.squeeze(wg.take_along_axis(online(states), actions[:, None], axis=1), axis=1)
    bellman = rewards + 0.9 * wg.stop_gradient(wg.max(target(after), axis=1))
    return wg.huber_loss(value, bellman)


def port_highway() -> Loss:
    h: wg.ArrayLayer[tuple[Batch, Literal[8]]] = wg.literal(rows, Batch, 8)
    for seed in range(3):
        gate = wg.sigmoid(nn.Linear.make(settings, 8, 8, seed=seed)(h))
        h = gate * wg.relu(nn.Linear.make(settings, 8, 8, seed=seed + 9)(h)) + (1.0 - gate) * h
    return wg.mean(h)


def port_luong_attention() -> Loss:
    memory = wg.literal(signal, Batch, Time, 8)
    state = wg.literal(rows, Batch, 8)
    scores = wg.squeeze(memory @ wg.expand_dims(state, axis=2), axis=2) / math.sqrt(8)
    weights = wg.expand_dims(wg.softmax(scores, axis=1), axis=1)
    context = wg.squeeze(weights @ memory, axis=1)
    joined = nn.Linear.make(settings, 16, 8, seed=0)(wg.concat([context, state], axis=-1))
    return wg.mean(wg.tanh(joined))


def port_graph_attention() -> Loss:
    nodes = wg.literal(rows, 4, 8)
    h = nn.Linear.make(settings, 8, 5, seed=0)(nodes)
    to, back = (nn.Linear.make(settings, 5, 1, seed=i) for i in (1, 2))
    scores = to(h) + wg.permute_dims(back(h), (1, 0))
    edges = np.eye(4, dtype=np.bool_) | np.eye(4, k=1, dtype=np.bool_)
    weights = wg.softmax(wg.where(edges, wg.leaky_relu(scores), -1e9), axis=1)
    return wg.mean(wg.square(weights @ h))


def port_word_vectors() -> Loss:
    centre, around = (nn.Embedding.make(settings, 50, 8, seed=i) for i in range(2))
    positive = wg.sum(centre(tokens[:, 0]) * around(tokens[:, 1]), axis=1)
    others = around(chance.integers(0, 50, (4, 5)))
    negative = wg.squeeze(others @ wg.expand_dims(centre(tokens[:, 0]), axis=2), axis=2)
    return -wg.mean(wg.log_sigmoid(positive)) - wg.mean(wg.sum(wg.log_sigmoid(-negative), axis=1))


def port_style_transfer() -> Loss:
    features = nn.Conv2d.make(settings, 3, 6, 3, padding="same", seed=0)

    def gram(images: wg.ArrayLayer[tuple[Batch, Literal[3], Literal[8], Literal[8]]]) -> wg.ArrayLayer:
        maps = features(images)
        flat = wg.reshape(maps, (maps.shape[0], 6, 64))
        return flat @ wg.permute_dims(flat, (0, 2, 1)) / 64.0

    style = wg.literal(pixels, Batch, 3, 8, 8)
    return wg.mse_loss(gram(style * 0.5), gram(style))
