"""A language model of words: two LSTM layers, trained on windows of a text, with one table for input and output.

- `nn.tie` makes one weight of the table of words and the last layer, transposed where it has to be.
- The state at the end of a window begins the next one. A step gives it beside the loss, by `also=`: those values of the
  same forward pass, as data, so that no derivative goes back beyond the window (truncated back-propagation).

Source: the word_language_model of PyTorch's examples, with `--tied`; O. Press, L. Wolf, "Using the Output Embedding to
Improve Language Models", 2017.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp
from typing import Any, Final

import numpy as np

import wengert as wg
from wengert import nn
from wengert.plugins import Adam, ClipByGlobalNorm, LearningRate, Plugin

TEXT: Final = """
the farmer in the dell the farmer in the dell hi ho the derry o the farmer in the dell
the farmer takes a wife the farmer takes a wife hi ho the derry o the farmer takes a wife
the wife takes a child the wife takes a child hi ho the derry o the wife takes a child
the child takes a nurse the child takes a nurse hi ho the derry o the child takes a nurse
the nurse takes a cow the nurse takes a cow hi ho the derry o the nurse takes a cow
the cow takes a dog the cow takes a dog hi ho the derry o the cow takes a dog
the dog takes a cat the dog takes a cat hi ho the derry o the dog takes a cat
the cat takes a rat the cat takes a rat hi ho the derry o the cat takes a rat
the rat takes the cheese the rat takes the cheese hi ho the derry o the rat takes the cheese
the cheese stands alone the cheese stands alone hi ho the derry o the cheese stands alone
"""
WIDTH: Final = 16
WINDOW: Final = 8  # words in a step
STREAMS: Final = 4  # parts of the text that are read side by side
Data = np.ndarray[Any, np.dtype[np.float32]]
Words = np.ndarray[tuple[int, int], np.dtype[np.int64]]
Layer = wg.ArrayLayer[Any]
State = tuple[Data, Data]  # h and c of both layers, (2, streams, width)


class Settings(ClipByGlobalNorm, Adam, LearningRate): ...


@dataclass(frozen=True)
class Model:
    """The layers; the same table reads words and scores them."""

    words: nn.Embedding
    memory: nn.LSTM
    scores: nn.Linear

    def __call__(self, words: Words, state: State) -> tuple[Layer, tuple[Layer, Layer]]:
        """The scores of the word after each, step by step, and the state after all."""
        seen, last = self.memory(self.words(words.T), state)
        return self.scores(seen), last


def model(settings: Plugin, size: int, tied: bool = True, width: int = WIDTH) -> Model:
    """A new model for `size` words."""
    chance = np.random.default_rng(0)
    untied = Model(
        nn.Embedding.make(settings, size, width, seed=chance),
        nn.LSTM.make(settings, width, width, seed=chance, layers=2),
        nn.Linear.make(settings, width, size, seed=chance),
    )
    return nn.tie(untied, "scores.weight", to="words.table") if tied else untied


def main(epochs: int = 30) -> tuple[Model, list[float]]:
    """Train; the perplexity of each epoch."""
    text = TEXT.split()
    known = sorted({*text})
    numbers = np.array([known.index(word) for word in text], np.int64)
    streams = numbers[: len(numbers) // STREAMS * STREAMS].reshape(STREAMS, -1)
    net = model(Settings(learning_rate=0.02, max_norm=1.0), len(known))
    perplexities = []
    for epoch in range(epochs):
        zero = np.zeros((2, STREAMS, WIDTH), np.float32)
        state, losses = (zero, zero), []
        for at in range(0, streams.shape[1] - WINDOW, WINDOW):
            scores, last = net(streams[:, at : at + WINDOW], state)
            wanted = streams.T[at + 1 : at + WINDOW + 1].reshape(-1)
            loss = wg.cross_entropy(wg.reshape(scores, (STREAMS * WINDOW, len(known))), wanted)
            value, state = loss.train(also=last).run()
            losses.append(float(value))
        perplexities.append(exp(float(np.mean(losses))))
        if epoch % 10 == 9:
            print(f"epoch {epoch + 1}: perplexity {perplexities[-1]:.2f} of {len(known)} words")
    print(f"weights: {', '.join(nn.weights(net))}")
    print(
        f"of {len(known)} words {perplexities[-1]:.1f} are likely to come next; one table reads and writes them"
    )
    return net, perplexities


if __name__ == "__main__":
    main()
