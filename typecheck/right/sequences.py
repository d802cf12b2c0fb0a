"""Right programs: recurrent networks, attention and sequence models. No checker refuses a line."""

import math
from typing import Literal as L
from typing import NewType

import numpy as np

import wengert as wg
from wengert.nn import Embedding, GRUCell, LayerNorm, Linear, LSTMCell, MultiHeadAttention
from wengert.plugins import Adam, LearningRate

Batch = NewType("Batch", int)
Time = NewType("Time", int)
Loss = wg.ArrayLayer[tuple[()]]


class Settings(Adam, LearningRate):
    """Adam with a learning rate."""


settings = Settings(learning_rate=1e-3)
chance = np.random.default_rng(0)
tokens = chance.integers(0, 50, (2, 6))
signal = chance.standard_normal((2, 6, 8)).astype(np.float32)
labels = np.array([0, 1])


def port_language_model() -> Loss:
    embed = Embedding.make(settings, 50, 8, seed=0)
    cell = LSTMCell.make(settings, 8, 16, seed=1)
    head = Linear.make(settings, 16, 50, seed=2)
    x = embed(tokens[:, :-1])
    h, c = cell(x[:, 0])
    outputs = [head(h)]
    for t in range(1, 5):
        h, c = cell(x[:, t], (h, c))
        outputs.append(head(h))
    return wg.cross_entropy(wg.stack(outputs, axis=1), tokens[:, 1:])


def port_gru_classifier() -> Loss:
    cell = GRUCell.make(settings, 8, 16, seed=0)
    head = Linear.make(settings, 16, 2, seed=1)
    x = wg.literal(signal, Batch, 6, 8)
    h = cell(x[:, 0])
    for t in range(1, 6):
        h = cell(x[:, t], h)
    return wg.cross_entropy(head(h), labels)


def port_elman() -> Loss:
    w = settings.array_weight(np.zeros((8, 16), np.float32), 8, 16)
    u = settings.array_weight(np.zeros((16, 16), np.float32), 16, 16)
    x = wg.literal(signal, Batch, 6, 8)
    h: wg.ArrayLayer[tuple[Batch, L[16]]] = wg.tanh(x[:, 0] @ w)
    for t in range(1, 6):
        h = wg.tanh(x[:, t] @ w + h @ u)
    return wg.mean(h)


def port_bidirectional() -> Loss:
    forward, backward = GRUCell.make(settings, 8, 4, seed=0), GRUCell.make(settings, 8, 4, seed=1)
    x = wg.literal(signal, Batch, 6, 8)
    a, b = forward(x[:, 0]), backward(x[:, 5])
    for t in range(1, 6):
        a, b = forward(x[:, t], a), backward(x[:, 5 - t], b)
    return wg.mean(wg.concat([a, b], axis=-1))


def port_attention_by_hand() -> Loss:
    q, k, v = (Linear.make(settings, 8, 8, seed=i) for i in range(3))
    x = wg.literal(signal, Batch, Time, 8)
    scores = q(x) @ wg.permute_dims(k(x), (0, 2, 1)) / math.sqrt(8)
    return wg.mean(wg.softmax(scores, axis=-1) @ v(x))


def port_scaled_by_a_power() -> Loss:
    x = wg.literal(signal, Batch, Time, 8)
    scores = x @ wg.permute_dims(x, (0, 2, 1)) / 8**0.5
    return wg.mean(wg.softmax(scores) @ x)


def port_causal_mask() -> Loss:
    x = wg.literal(signal, Batch, 6, 8)
    scores = x @ wg.permute_dims(x, (0, 2, 1))
    allowed = np.tril(np.ones((6, 6), np.bool_))
    return wg.mean(wg.softmax(wg.where(allowed, scores, -1e9), axis=-1) @ x)


class Block:
    """An encoder block of a transformer."""

    def __init__(self, width: int, seed: int) -> None:
        self.attention = MultiHeadAttention.make(settings, width, 2, seed=seed)
        self.norms = LayerNorm.make(settings, width), LayerNorm.make(settings, width)
        self.up = Linear.make(settings, width, 4 * width, seed=seed + 1)
        self.down = Linear.make(settings, 4 * width, width, seed=seed + 2)

    def __call__(self, x: wg.ArrayLayer) -> wg.ArrayLayer:
        x = x + self.attention(self.norms[0](x))
        return x + self.down(wg.gelu(self.up(self.norms[1](x))))


def port_transformer() -> Loss:
    embed = Embedding.make(settings, 50, 8, seed=0)
    place = settings.array_weight(np.zeros((6, 8), np.float32), 6, 8)
    blocks = [Block(8, seed) for seed in (1, 4)]
    x: wg.ArrayLayer = embed(tokens) + place
    for block in blocks:
        x = block(x)
    return wg.cross_entropy(Linear.make(settings, 8, 50, seed=9)(x), tokens)


def port_sinusoids() -> Loss:
    t = wg.literal(np.arange(6, dtype=np.float32)[:, None], 6, 1)
    rates = wg.literal(np.exp(-np.arange(4, dtype=np.float32)), 4)
    angles = t * rates
    places = wg.concat([wg.sin(angles), wg.cos(angles)], axis=1)
    return wg.mean(wg.literal(signal, Batch, 6, 8) + places)


def port_conditional_random_field() -> Loss:
    emissions = wg.literal(signal[:, :, :5], Batch, 6, 5)
    steps = settings.array_weight(np.zeros((5, 5), np.float32), 5, 5)
    alpha = emissions[:, 0]
    for t in range(1, 6):
        alpha = wg.logsumexp(wg.expand_dims(alpha, axis=2) + steps, axis=1) + emissions[:, t]
    return wg.mean(wg.logsumexp(alpha, axis=1))


def port_encoder_decoder() -> Loss:
    encoder, decoder = GRUCell.make(settings, 8, 8, seed=0), GRUCell.make(settings, 8, 8, seed=1)
    x = wg.literal(signal, Batch, 6, 8)
    states = []
    h = encoder(x[:, 0])
    for t in range(6):
        h = encoder(x[:, t], h)
        states.append(h)
    memory = wg.stack(states, axis=1)
    out = decoder(h)
    scores = wg.sum(memory * wg.expand_dims(out, axis=1), axis=2)
    context = wg.sum(memory * wg.expand_dims(wg.softmax(scores), axis=2), axis=1)
    return wg.mean(wg.concat([context, out], axis=1))


def port_convolution_over_time() -> Loss:
    kernel = settings.array_weight(np.zeros((4, 8, 1, 3), np.float32), 4, 8, 1, 3)
    x = wg.expand_dims(wg.permute_dims(wg.literal(signal, Batch, 6, 8), (0, 2, 1)), axis=2)
    return wg.mean(wg.max(wg.conv2d(x, kernel), axis=(2, 3)))


def port_tied_embedding() -> Loss:
    embed = Embedding.make(settings, 50, 8, seed=0)
    h = embed(tokens)
    return wg.cross_entropy(h @ wg.permute_dims(embed.table, (1, 0)), tokens)


def port_teacher_forcing() -> Loss:
    embed = Embedding.make(settings, 50, 8, seed=0)
    cell = GRUCell.make(settings, 8, 8, seed=1)
    state = None
    losses = []
    for t in range(5):
        h = cell(embed(tokens[:, t]), state)
        state = h
        losses.append(wg.cross_entropy(h @ wg.permute_dims(embed.table, (1, 0)), tokens[:, t + 1]))
    return sum(losses[1:], losses[0]) / float(len(losses))


def port_einsum_attention() -> Loss:
    x = wg.literal(signal, Batch, Time, 8)
    scores = wg.einsum("bqd,bkd->bqk", x, x)
    return wg.mean(wg.einsum("bqk,bkd->bqd", wg.softmax(scores), x))
