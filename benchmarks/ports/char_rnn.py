"""A network that reads letter by letter: min-char-rnn, whose reference is plain numpy.

Knows: one recurrent layer whose state goes on from window to window, with clipped derivatives and Adagrad.
Refuses to know: layers above each other.
"""

from __future__ import annotations

import pydoc_data.topics
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

import wengert as wg
from benchmarks.ports.port import NUMPY, Port
from benchmarks.workload import Step
from wengert import nn
from wengert.plugins import Adagrad, ClipByValue, LearningRate

HIDDEN, LENGTH, RATE, MOST, EPS = 100, 25, 0.1, 5.0, 1e-8
Letters = np.ndarray[tuple[int], np.dtype[np.int64]]
Layer = wg.ArrayLayer[Any, np.float64]
Matrix = np.ndarray[tuple[int, int], np.dtype[np.float64]]


def text() -> tuple[Letters, int]:
    """The numbers of letters of Python's manual, and how many letters there are."""
    manual = pydoc_data.topics.topics["assignment"].encode("ascii", "ignore")
    alphabet, letters = np.unique(np.frombuffer(manual, np.uint8), return_inverse=True)
    return letters, len(alphabet)


class Settings(ClipByValue, Adagrad, LearningRate):
    """Adagrad on clipped derivatives."""


@dataclass(frozen=True)
class Model:
    """Letters to the scores of the next ones, and the state behind them."""

    memory: nn.RNN[Any, Any, Any, Any, np.float64]
    scores: nn.Linear[Any, Any, np.float64]

    def __call__(self, letters: Letters, h: Matrix) -> tuple[Layer, Layer]:
        size = self.scores.bias.shape[0]
        read = wg.astype(wg.one_hot(letters, size), np.float64)
        seen, last = self.memory(wg.expand_dims(read, axis=1), h)
        return self.scores(wg.squeeze(seen, axis=1)), last


def network(size: int) -> Model:
    settings, chance = Settings(max_value=MOST, learning_rate=RATE, eps=EPS), np.random.default_rng(0)
    small = nn.init.normal(0.01)
    return Model(
        nn.RNN.make(settings, size, HIDDEN, seed=chance, init=small, dtype=np.float64),
        nn.Linear.make(settings, HIDDEN, size, seed=chance, init=small, dtype=np.float64),
    )


def ours() -> Step:
    letters, size = text()
    model, at, state = network(size), 0, np.zeros((1, HIDDEN))

    def step() -> float:
        nonlocal at, state
        if at + LENGTH + 1 >= len(letters):
            at, state = 0, np.zeros((1, HIDDEN))
        scores, last = model(letters[at : at + LENGTH], state)
        loss = wg.cross_entropy(scores, letters[at + 1 : at + LENGTH + 1], reduction="sum")
        at += LENGTH
        value, state = loss.train(also=last).run()
        return value.item()

    return step


def theirs() -> Step:
    letters, size = text()
    weights: dict[str, Any] = {place: w.data.copy() for place, w in nn.weights(network(size)).items()}
    inputs, hidden, bias, top, top_bias = weights.values()
    squares = [np.zeros_like(w) for w in weights.values()]
    at, state = 0, np.zeros(HIDDEN)

    def step() -> float:
        nonlocal at, state
        if at + LENGTH + 1 >= len(letters):
            at, state = 0, np.zeros(HIDDEN)
        read, wanted = letters[at : at + LENGTH], letters[at + 1 : at + LENGTH + 1]
        at += LENGTH
        states, shares, loss = [state], [], 0.0
        for x, y in zip(read, wanted, strict=True):
            states.append(np.tanh(inputs[x] + states[-1] @ hidden + bias))
            scores = states[-1] @ top + top_bias
            share = np.exp(scores - scores.max())
            shares.append(share / share.sum())
            loss -= float(np.log(shares[-1][y]))
        d_inputs, d_hidden, d_bias, d_top, d_top_bias = deltas = [np.zeros_like(w) for w in weights.values()]
        later = np.zeros_like(state)
        for t in reversed(range(LENGTH)):
            d_scores = shares[t].copy()
            d_scores[wanted[t]] -= 1.0
            d_top += np.outer(states[t + 1], d_scores)
            d_top_bias += d_scores
            raw = (1.0 - states[t + 1] ** 2) * (top @ d_scores + later)
            d_bias += raw
            d_inputs[read[t]] += raw
            d_hidden += np.outer(states[t], raw)
            later = hidden @ raw
        for w, d, square in zip(weights.values(), deltas, squares, strict=True):
            np.clip(d, -MOST, MOST, out=d)
            square += d * d
            w -= RATE * d / (np.sqrt(square) + EPS)
        state = states[-1]
        return loss

    return step


PORT: Final = Port(
    "char-rnn",
    "karpathy, min-char-rnn",
    "100 units, 25 letters a step, Adagrad, clipped by value",
    NUMPY,
    ours,
    theirs,
    (Settings, Model, network, ours),
    steps=300,
    compared=8,  # the first ones make a rounding ten times as large each
)
