"""A language model of words with one table for both ends: the network of `examples/words.py`.

Knows: windows of a text whose state goes on, SGD with a large rate and one norm for all derivatives.
Refuses to know: dropout, whose masks no two libraries share.
"""

from __future__ import annotations

import pydoc_data.topics
from typing import Any, Final

import numpy as np

import wengert as wg
from benchmarks.ports.port import TORCH, Port, Value, example, recurrent, torch
from benchmarks.workload import Step
from wengert.plugins import SGD, ClipByGlobalNorm

WIDTH, STREAMS, WINDOW, RATE, MOST = 200, 20, 35, 5.0, 0.25
EXAMPLE: Final = example("words")
Words = np.ndarray[tuple[int, int], np.dtype[np.int64]]
States = tuple[Value, Value]


def streams() -> tuple[Words, int]:
    """Parts of Python's manual, side by side, and how many words it knows."""
    text = " ".join(pydoc_data.topics.topics.values()).split()
    known, numbers = np.unique(np.array(text[: STREAMS * 700]), return_inverse=True)
    return numbers.reshape(STREAMS, -1), len(known)


class Settings(ClipByGlobalNorm, SGD):
    """SGD with one norm for all derivatives."""


def ours() -> Step:
    text, size = streams()
    model = EXAMPLE.model(Settings(learning_rate=RATE, max_norm=MOST), size, width=WIDTH)
    zero = np.zeros((2, STREAMS, WIDTH), np.float32)
    state: States = (zero, zero)
    at = 0

    def step() -> float:
        nonlocal at, state
        scores, last = model(text[:, at : at + WINDOW], state)
        loss = wg.cross_entropy(scores, text.T[at + 1 : at + WINDOW + 1])
        at = (at + WINDOW) % (text.shape[1] - WINDOW)
        value, state = loss.train(also=last).run()
        return float(value)

    return step


def theirs() -> Step:
    library, (text, size) = torch(), streams()
    f: Any = library.nn.functional
    net = EXAMPLE.model(Settings(learning_rate=RATE, max_norm=MOST), size, width=WIDTH)
    words = library.from_numpy(text)
    table = library.tensor(net.words.table.data, requires_grad=True)
    bias = library.tensor(net.scores.bias.data, requires_grad=True)
    memory = recurrent(library.nn.LSTM(WIDTH, WIDTH, 2), net.memory.cells)
    learnt = [table, bias, *(p for p in memory.parameters() if p.requires_grad)]
    optimizer = library.optim.SGD(learnt, lr=RATE)
    state: States = (library.zeros(2, STREAMS, WIDTH), library.zeros(2, STREAMS, WIDTH))
    at = 0

    def step() -> float:
        nonlocal at, state
        optimizer.zero_grad(set_to_none=True)
        seen, last = memory(f.embedding(words[:, at : at + WINDOW].T, table), state)
        scores = f.linear(seen, table, bias).reshape(-1, size)
        loss = f.cross_entropy(scores, words.T[at + 1 : at + WINDOW + 1].reshape(-1))
        at = (at + WINDOW) % (words.shape[1] - WINDOW)
        loss.backward()
        library.nn.utils.clip_grad_norm_(learnt, MOST)
        optimizer.step()
        state = (last[0].detach(), last[1].detach())
        return float(loss.detach())

    return step


PORT: Final = Port(
    "word-model",
    "pytorch/examples, word_language_model",
    "two LSTMs of 200, tied, 20 texts of 35 words, SGD, clipped",
    TORCH,
    ours,
    theirs,
    (EXAMPLE.Model, EXAMPLE.model, Settings, ours),
    example="words",
)
