"""A transformer that writes letter by letter, on a text that every Python has: its own reference manual.

Two blocks of causal attention and a dense layer, normalized before, as in GPT; it sees 64 letters. Its loss stands
beside that of a table of letter pairs, and at the end it writes.
Source: Vaswani et al. 2017, "Attention Is All You Need"; Radford et al. 2019, "Language Models are Unsupervised
Multitask Learners".
"""

from __future__ import annotations

import pydoc_data.topics
from typing import Any, Final, TypeAlias

import numpy as np

import wengert as wg
from wengert.nn import Embedding, LayerNorm, Linear, MultiHeadAttention
from wengert.plugins import AdamW, LearningRate

TIME: Final = 64
WIDTH: Final = 64
Letters: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]


class Settings(AdamW, LearningRate):
    """AdamW with a learning rate."""


class Block:
    """Attention to earlier letters, then a dense layer; each beside the identity."""

    def __init__(self, settings: Settings, seed: int) -> None:
        self.attention_norm = LayerNorm.make(settings, WIDTH)
        self.attention = MultiHeadAttention.make(settings, WIDTH, 4, seed=seed)
        self.dense_norm = LayerNorm.make(settings, WIDTH)
        self.up = Linear.make(settings, WIDTH, 4 * WIDTH, seed=seed + 1)
        self.down = Linear.make(settings, 4 * WIDTH, WIDTH, seed=seed + 2)

    def __call__(self, x: wg.ArrayLayer[Any], mask: wg.Mask[Any]) -> wg.ArrayLayer[Any]:
        x = x + self.attention(self.attention_norm(x), mask=mask)
        return x + self.down(wg.gelu(self.up(self.dense_norm(x))))


class Transformer:
    """Letters to the logits of the letters that follow them."""

    def __init__(self, letters: int, seed: int = 0) -> None:
        settings = Settings(learning_rate=2e-3, weight_decay=0.01)
        self.letters = Embedding.make(settings, letters, WIDTH, seed=seed)
        self.places = Embedding.make(settings, TIME, WIDTH, seed=seed + 1)
        self.blocks = [Block(settings, seed + 10), Block(settings, seed + 20)]
        self.norm = LayerNorm.make(settings, WIDTH)
        self.top = Linear.make(settings, WIDTH, letters, seed=seed + 2)

    def __call__(self, text: Letters) -> wg.ArrayLayer[Any]:
        time: int = text.shape[1]
        place = wg.literal(np.arange(time, dtype=np.float32), int)
        mask = wg.greater_equal(wg.expand_dims(place, axis=1), wg.expand_dims(place, axis=0))  # no look ahead
        x = self.letters(text) + self.places(np.arange(time))
        for block in self.blocks:
            x = block(x, mask)
        return self.top(self.norm(x))

    def loss(self, text: Letters) -> wg.ArrayLayer[tuple[()]]:
        """Cross-entropy of each letter after those before it, in nats a letter."""
        return wg.cross_entropy(self(text[:, :-1]), text[:, 1:])


def windows(text: Letters, count: int, chance: np.random.Generator) -> Letters:
    starts = chance.integers(0, len(text) - TIME - 1, count)
    return np.stack([text[start : start + TIME + 1] for start in starts])


def of_pairs(train: Letters, held: Letters, letters: int) -> float:
    """The loss of a table that knows one letter back."""
    counts = np.ones((letters, letters))
    np.add.at(counts, (train[:-1], train[1:]), 1.0)
    table = np.log(counts / counts.sum(axis=1, keepdims=True))
    return float(-table[held[:-1], held[1:]].mean())


def write(model: Transformer, begin: Letters, count: int, chance: np.random.Generator) -> Letters:
    """The letters that follow, each drawn from what the model expects."""
    text = begin
    for _ in range(count):
        logits = model(text[None, -TIME:]).predict().run()[0, -1]
        share = np.exp((logits - logits.max()) / 0.7)
        text = np.append(text, chance.choice(len(share), p=share / share.sum()))
    return text


def main(steps: int = 600, written: int = 120) -> tuple[float, float]:
    manual = "\n".join(pydoc_data.topics.topics.values())
    alphabet, text = np.unique(np.frombuffer(manual.encode("ascii", "ignore"), np.uint8), return_inverse=True)
    train, held = text[: len(text) * 9 // 10], text[len(text) * 9 // 10 :]
    chance, model = np.random.default_rng(0), Transformer(len(alphabet))
    test = windows(held, 32, np.random.default_rng(1))
    for step in range(steps):
        loss = model.loss(windows(train, 16, chance)).train().run()
        if step % 100 == 99:
            print(f"step {step + 1}: {loss:.2f} nats a letter")
    pairs, learned = of_pairs(train, held, len(alphabet)), float(model.loss(test).predict().run())
    if written:
        sample = write(model, test[0, :32], written, chance)
        print("it writes:", repr(bytes(alphabet[sample]).decode()))
    print(
        f"{learned:.2f} nats a letter on text that it has not seen; a table of letter pairs has {pairs:.2f}"
    )
    return learned, pairs


if __name__ == "__main__":
    main()
