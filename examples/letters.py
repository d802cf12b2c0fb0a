"""A network that writes letter by letter, trained by `fit`, which measures its accuracy in each step.

The loss gives its scores besides: they are of the same forward pass, each node computed once, from before the update.
A metric is a function of the batch and of these data. In a terminal the bar shows loss and accuracy.

Source: A. Karpathy, min-char-rnn, 2015.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

import wengert as wg
from wengert import nn
from wengert.data import Rows
from wengert.nn import Seeds
from wengert.plugins import Adam, LearningRate
from wengert.training import History, fit

TEXT: Final = (
    "peter piper picked a peck of pickled peppers. a peck of pickled peppers peter piper picked. if peter piper picked "
    "a peck of pickled peppers, where is the peck of pickled peppers peter piper picked? "
) * 4
KNOWN: Final[list[str]] = sorted({*TEXT})
HIDDEN: Final = 48
LENGTH: Final = 16
Scores = np.ndarray[Any, np.dtype[np.float32]]
Letters = np.ndarray[tuple[int, int], np.dtype[np.int64]]


class Settings(Adam, LearningRate): ...


@dataclass(frozen=True, eq=False)
class Windows(Rows):
    """Pieces of the text, and the letter after each of theirs."""

    letters: Letters
    following: Letters


@dataclass(frozen=True)
class Writer:
    """A state for each letter, and from it the scores of the next."""

    letters: nn.Embedding
    cell: nn.GRUCell
    scores: nn.Linear

    def __call__(self, letters: Letters) -> wg.ArrayLayer[Any]:
        h = wg.lift(np.zeros((len(letters), HIDDEN), np.float32))
        seen: list[wg.ArrayLayer[Any]] = []
        for letter in letters.T:
            h = self.cell(self.letters(letter), h)
            seen.append(h)
        return self.scores(wg.stack(seen, axis=1))

    def write(self, start: str, count: int) -> str:
        """The text that it finds most likely after a beginning."""
        for _ in range(count):
            ids = np.array([[KNOWN.index(x) for x in start[-LENGTH:]]], np.int64)
            start += KNOWN[int(self(ids).predict().run()[0, -1].argmax())]
        return start


def windows() -> Windows:
    """All pieces of the text, each beginning a letter after the other."""
    ids = np.array([KNOWN.index(x) for x in TEXT], np.int64)
    starts = np.arange(0, len(ids) - LENGTH - 1, 3)[:, None] + np.arange(LENGTH)
    return Windows(ids[starts], ids[starts + 1])


def main(epochs: int = 12) -> tuple[History, str]:
    """Train; the history and a text."""
    settings, chance = Settings(learning_rate=0.01), np.random.default_rng(0)
    writer = Writer(
        nn.Embedding.make(settings, len(KNOWN), 16, seed=chance),
        nn.GRUCell.make(settings, 16, HIDDEN, seed=chance),
        nn.Linear.make(settings, HIDDEN, len(KNOWN), seed=chance),
    )

    def loss(batch: Windows, seed: Seeds | None) -> tuple[wg.ArrayLayer[tuple[()]], wg.ArrayLayer[Any]]:
        scores = wg.reshape(writer(batch.letters), (len(batch) * LENGTH, len(KNOWN)))
        return wg.cross_entropy(scores, batch.following.reshape(-1)), scores

    def accuracy(batch: Windows, scores: Scores) -> float:
        return float(np.mean(scores.argmax(axis=1) == batch.following.reshape(-1)))

    data = windows()
    history = fit(
        loss,
        data,
        seed=0,
        epochs=epochs,
        batch_size=32,
        validation=data,
        metrics={"accuracy": accuracy},
        weights=writer,
    )
    text = writer.write("peter piper", 60)
    print(f"accuracy {history.epochs[-1].metrics['accuracy']:.0%}; it writes: {text}")
    return history, text


if __name__ == "__main__":
    main()
