"""Right programs: sequences by LSTM, GRU and scan, choices, buffers and derivatives. No checker refuses a line."""

from dataclasses import dataclass
from typing import Literal as L
from typing import NewType

import numpy as np

import wengert as wg
import wengert.fold as td
from wengert import nn
from wengert.nn import (
    GRU,
    LSTM,
    BatchNorm,
    Conv2d,
    Embedding,
    GRUCell,
    LayerNorm,
    Linear,
    LSTMCell,
    Sequential,
)
from wengert.plugins import Adam, LearningRate

Batch = NewType("Batch", int)
Time = NewType("Time", int)
Loss = wg.ArrayLayer[tuple[()]]


class Settings(Adam, LearningRate):
    """Adam with a learning rate."""


settings = Settings(learning_rate=1e-3)
chance = np.random.default_rng(0)
signal = chance.standard_normal((5, 2, 8)).astype(np.float32)
images = chance.standard_normal((2, 3, 8, 8)).astype(np.float32)
tokens = chance.integers(0, 20, (5, 2))
labels = np.array([0, 1])


def port_lstm_classifier() -> Loss:
    memory = LSTM(LSTMCell.make(settings, 8, 16, seed=0))
    head = Linear.make(settings, 16, 2, seed=1)
    _, (h, _) = memory(wg.literal(signal, Time, Batch, 8))
    return wg.cross_entropy(head(h), labels)


def port_stacked_lstm() -> Loss:
    first = LSTM(LSTMCell.make(settings, 8, 16, seed=0))
    second = LSTM(LSTMCell.make(settings, 16, 4, seed=1))
    y, _ = first(wg.literal(signal, Time, Batch, 8))
    z, (_, c) = second(y)
    return wg.mean(z) + wg.mean(wg.square(c))


def port_both_directions() -> Loss:
    there, back = (GRU(GRUCell.make(settings, 8, 6, seed=n)) for n in range(2))
    x = wg.literal(signal, Time, Batch, 8)
    y = wg.concat([there(x)[0], wg.flip(back(wg.flip(x, axis=0))[0], axis=0)], axis=-1)
    return wg.cross_entropy(Linear.make(settings, 12, 3, seed=2)(y), np.zeros((5, 2), np.int64))


def port_encoder_and_decoder() -> Loss:
    embed = Embedding.make(settings, 20, 8, seed=0)
    encode, decode = (
        LSTM(LSTMCell.make(settings, 8, 16, seed=1)),
        LSTM(LSTMCell.make(settings, 8, 16, seed=2)),
    )
    head = Linear.make(settings, 16, 20, seed=3)
    _, state = encode(embed(tokens))
    y, _ = decode(embed(tokens[:-1]), state)
    return wg.cross_entropy(head(y), tokens[1:])


def port_truncated_steps() -> Loss:
    gru = GRU(GRUCell.make(settings, 8, 4, seed=0))
    x = wg.literal(signal, Time, Batch, 8)
    _, h = gru(x)
    y, _ = gru(x, wg.stop_gradient(h))
    return wg.mean(y)


@dataclass(frozen=True, eq=False)
class Elman:
    """A cell of one's own."""

    inputs: wg.ArrayWeight[tuple[L[8], L[4]]]
    hidden: wg.ArrayWeight[tuple[L[4], L[4]]]

    def __call__(
        self, h: wg.ArrayLayer[tuple[Batch, L[4]]], x: wg.ArrayLayer[tuple[Batch, L[8]]]
    ) -> tuple[wg.ArrayLayer[tuple[Batch, L[4]]], wg.ArrayLayer[tuple[Batch, L[4]]]]:
        h = wg.tanh(x @ self.inputs + h @ self.hidden)
        return h, h


def port_scan_of_a_class() -> Loss:
    cell = Elman(
        settings.array_weight(np.zeros((8, 4), np.float32), 8, 4),
        settings.array_weight(np.zeros((4, 4), np.float32), 4, 4),
    )
    begin = wg.literal(np.zeros((2, 4), np.float32), Batch, 4)
    last, outputs = wg.scan(cell, begin, wg.literal(signal, Time, Batch, 8))
    return wg.mean(outputs) + wg.mean(last)


def port_exponential_average() -> Loss:
    rate = settings.array_weight(np.full(8, 0.5, np.float32), 8)

    @wg.cell
    def smooth(level: wg.ArrayLayer, x: wg.ArrayLayer) -> tuple[wg.ArrayLayer, wg.ArrayLayer]:
        level = level * rate + x * (1.0 - rate)
        return level, level

    _, levels = wg.scan(smooth, wg.lift(np.zeros((2, 8), np.float32)), signal)
    return wg.mean(wg.square(levels))


def port_cumulative_rewards() -> Loss:
    discount = settings.array_weight(np.full((), 0.9, np.float32))

    def step(
        total: wg.ArrayLayer[tuple[Batch]], reward: wg.ArrayLayer[tuple[Batch]]
    ) -> tuple[wg.ArrayLayer[tuple[Batch]], wg.ArrayLayer[tuple[Batch]]]:
        total = total * discount + reward
        return total, total

    rewards = wg.literal(signal[:, :, 0], Time, Batch)
    _, returns = wg.scan(step, wg.literal(np.zeros(2, np.float32), Batch), wg.flip(rewards, axis=0))
    return wg.mean(returns)


def port_greedy_choice() -> Loss:
    q = Linear.make(settings, 8, 4, seed=0)(wg.literal(signal[0], Batch, 8))
    best = wg.argmax(q, axis=1, keepdims=True)
    return wg.mean(wg.take_along_axis(q, best, axis=1))


def port_double_q_by_argmax() -> Loss:
    online, target = (Linear.make(settings, 8, 4, seed=n) for n in range(2))
    x = wg.literal(signal[0], Batch, 8)
    wanted = wg.take_along_axis(target(x), wg.argmax(online(x), axis=-1, keepdims=True), axis=-1)
    return wg.mean(wg.square(wg.max(online(x), axis=-1, keepdims=True) - wg.stop_gradient(wanted)))


def port_sparse_experts() -> Loss:
    x = wg.literal(signal[0], Batch, 8)
    scores = Linear.make(settings, 8, 4, seed=0)(x)
    most, places = wg.top_k(scores, 2)
    table = settings.array_weight(chance.standard_normal((4, 8), np.float32), 4, 8)
    chosen = wg.take(table, places)
    return wg.mean(wg.sum(wg.expand_dims(wg.softmax(most), axis=-1) * chosen, axis=1) * x)


def port_hard_negatives() -> Loss:
    losses = wg.cross_entropy(
        Linear.make(settings, 8, 3, seed=0)(wg.literal(signal, Time, Batch, 8)),
        np.zeros((5, 2), np.int64),
        reduction="none",
    )
    hardest, _ = wg.top_k(wg.reshape(losses, (-1,)), 3)
    return wg.mean(hardest)


def port_residual_block_with_batch_norm() -> Loss:
    x = wg.literal(images, Batch, 3, 8, 8)
    conv = Conv2d.make(settings, 3, 4, 3, padding="same", seed=0, bias=False)
    again = Conv2d.make(settings, 4, 4, 3, padding="same", seed=1, bias=False)
    short = Conv2d.make(settings, 3, 4, 1, seed=2)
    one, two = BatchNorm.make(settings, 4), BatchNorm.make(settings, 4)
    h = two(again(wg.relu(one(conv(x), seed=0))), seed=0)
    return wg.mean(wg.relu(h + short(x)))


def port_batch_norm_in_a_sequential() -> Loss:
    net = Sequential(
        Linear.make(settings, 8, 16, seed=0),
        BatchNorm.make(settings, 16),
        wg.relu,
        Linear.make(settings, 16, 2, seed=1),
    )
    return wg.cross_entropy(net(wg.literal(signal[0], Batch, 8), seed=0), labels)


def port_running_scale() -> Loss:
    scale = settings.buffer(np.ones(8, np.float32), 8)
    x = wg.literal(signal[0], Batch, 8)
    x = wg.with_update(x / scale, scale, wg.std(x, axis=0), rate=0.1)
    return wg.mean(Linear.make(settings, 8, 1, seed=0)(x))


def port_answers_beside_a_loss() -> Loss:
    model = Linear.make(settings, 8, 2, seed=0)
    answers = model(wg.literal(signal[0], Batch, 8))
    loss = wg.cross_entropy(answers, labels)
    value, given = loss.train(also=answers).run()
    accuracy = float(np.mean(given.argmax(axis=1) == labels))
    return loss * (1.0 + 0.0 * accuracy * value.item())


def port_score_matching() -> Loss:
    first, second = Linear.make(settings, 8, 16, seed=0), Linear.make(settings, 16, 1, seed=1)
    x = wg.literal(signal[0], Batch, 8)
    energy = wg.sum(second(wg.tanh(first(x))))
    score = wg.gradients(energy, x).layers
    return wg.mean(wg.square(score - x))


def port_gauss_newton_step() -> Loss:
    w = settings.array_weight(np.ones((8, 2), np.float32), 8, 2)
    x = wg.literal(signal[0], Batch, 8)
    v = np.ones((8, 2), np.float32)
    loss = wg.mean(wg.square(wg.tanh(x @ w)))
    _, along = wg.jvp(loss, w, v).run()
    curved = wg.hessian_product(loss, w, v).run()
    return loss * float(1.0 + 0.0 * (along + curved.sum()))


def port_deep_sets() -> Loss:
    inner, outer = Linear.make(settings, 8, 16, seed=0), Linear.make(settings, 16, 2, seed=1)
    norm = LayerNorm.make(settings, 16)
    groups = np.array([0, 0, 1, 1, 1])
    pooled = wg.segment_sum(wg.relu(inner(wg.literal(signal[:, 0], Time, 8))), groups, num_segments=2)
    return wg.cross_entropy(outer(norm(pooled)), labels)


def lengths(text: str) -> list[int]:
    return [len(word) for word in text.split()]


def port_sentences_of_blocks() -> Loss:
    word = td.Scalar("int32") >> td.Embedding(20, 8, seed=0)
    sentence = td.InputTransform(lengths) >> td.Map(word) >> td.Mean()
    compiler = td.Compiler.create(sentence >> td.FC(2, None, seed=1))
    (scores,) = compiler.build(["a tree of words", "two words"]).output_tensors
    return wg.cross_entropy(scores, labels)


def port_weights_shared_and_frozen() -> Loss:
    model = nn.freeze(
        [Linear.make(settings, 8, 8, seed=0), Linear.make(settings, 8, 8, seed=1)], lambda m: m[0]
    )
    h = wg.literal(signal[0], Batch, 8)
    for layer in model:
        h = wg.relu(layer(h))
    return wg.mean(h)
