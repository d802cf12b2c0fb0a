"""A decoder that stops by itself: numbers spelled in English, one letter after the other.

`python examples/decoder.py` learns to spell the numbers 1 to 999. In training the right letters are given, and all are
run together. To spell, each letter is awaited, goes back in, and the network decides itself when a word has
ended; numbers whose words go on run together, and nothing is computed for those that have ended.

Source: Sutskever, Vinyals and Le 2014, "Sequence to sequence learning with neural networks".
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from functools import partial, reduce

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped] # ships no types

import wengert as wg
from wengert.data import Items, split
from wengert.nn import Embedding, Linear, LSTMCell
from wengert.plugins import Adam, LearningRate
from wengert.run import Batched
from wengert.training import fit

Layer = wg.ArrayLayer
State = tuple[Layer, Layer]
Digits = np.ndarray[tuple[int], np.dtype[np.float32]]
NAMES = (
    "zero one two three four five six seven eight nine",
    "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen",
    "- - twenty thirty forty fifty sixty seventy eighty ninety",
)
UNITS, TEENS, TENS = (names.split() for names in NAMES)
LETTERS = ".abcdefghijklmnopqrstuvwxyz-"  # the first one ends a word, and begins it
END, LIMIT = 0, 40


class Settings(Adam, LearningRate):
    """A rate for each number."""


def spelled(n: int) -> str:
    """What is right, as in two-hundred-twenty-one."""
    parts = [UNITS[n // 100], "hundred"] if n >= 100 else []
    tens, last = divmod(n % 100, 10)
    if tens == 1:
        return "-".join([*parts, TEENS[last]])
    parts += [TENS[tens]] if tens else []
    return "-".join([*parts, UNITS[last]] if last or not parts else parts)


class Decoder:
    """A state made of a number's digits, a step that reads a letter, and scores of the next letter."""

    def __init__(self, size: int = 64, rate: float = 0.01, seed: int = 0) -> None:
        chance, settings = np.random.default_rng(seed), Settings(learning_rate=rate)
        self.begin = Linear.make(settings, 30, size, seed=chance, name="begin")
        self.rows = Embedding.make(settings, len(LETTERS), size, seed=chance, name="letters")
        self.lstm = LSTMCell.make(settings, size, size, seed=chance, name="lstm")
        self.scores = Linear.make(settings, size, len(LETTERS), seed=chance, name="scores")
        self.weights = (self.begin, self.rows, self.lstm, self.scores)
        self.said = wg.cell(self.scores)

    @wg.cell
    def code(self, digits: Digits) -> Layer:
        return wg.tanh(self.begin(digits))

    @wg.cell
    def step(self, letter: Layer, code: Layer, state: State) -> State:
        return self.lstm(letter + code, state)

    @wg.cell
    def cost(self, h: Layer, letter: np.ndarray) -> Layer:
        return wg.cross_entropy(self.scores(h), letter)

    def begun(self, n: int) -> tuple[Layer, State]:
        """What is known of a number, and the state before all letters."""
        code = self.code(ones(n))
        return code, (code, code)

    def next(self, letter: int, code: Layer, state: State) -> State:
        """The state after a letter."""
        return self.step(self.rows(np.array(letter)), code, state)

    def loss(self, numbers: Items[int], seed: object = None) -> Layer[tuple[()]]:
        """How surprising the right letters are, and that words end there, a number on average."""
        costs = []
        for n in numbers:
            (code, state), last = self.begun(n), END
            for letter in [*map(LETTERS.index, spelled(n)), END]:
                state = self.next(last, code, state)
                costs.append(self.cost(state[0], np.array(letter)))
                last = letter
        return reduce(wg.add, costs) / float(len(numbers))

    async def spell(self, n: int) -> str:
        """The letter that the network holds for the likeliest, again and again, until it says that the word ends."""
        (code, state), letter, word = self.begun(n), END, ""
        while len(word) < LIMIT:
            state = self.next(letter, code, state)
            letter = int((await self.said(state[0])).argmax())
            if letter == END:
                break
            word += LETTERS[letter]
        return word

    def spell_all(self, numbers: Iterable[int], run: Batched) -> list[str]:
        """All of them, which wait for their letters together."""
        return list(wg.gather(*(wg.Do.coroutine(partial(self.spell, n)) for n in numbers)).run(run))


def ones(n: int) -> Digits:
    """The three digits of a number, one of ten each."""
    return np.eye(10, dtype=np.float32)[[n // 100, n // 10 % 10, n % 10]].reshape(30)


def main(numbers: int = 1000, epochs: int = 10, size: int = 64, rate: float = 0.01, seed: int = 0) -> float:
    """Train, print and return the share of new numbers that are spelled right."""
    model, run = Decoder(size, rate, seed), Batched()
    train, test = split(Items(range(1, numbers)), (0.8, 0.2), seed=seed)
    with threadpool_limits(1):  # matrices this small are done before a second thread has woken up
        history = fit(model.loss, train, seed=seed, epochs=epochs, batch_size=50, executor=Batched())
        words = model.spell_all(test, run)
    print(f"loss {history.epochs[0].loss:.3f} in the first epoch, {history.epochs[-1].loss:.3f} in the last")
    for n, word in list(zip(test, words, strict=True))[:5]:
        print(f"{n}: {word}" + ("" if word == spelled(n) else f", which is wrong: {spelled(n)}"))
    accuracy = float(np.mean([word == spelled(n) for n, word in zip(test, words, strict=True)]))
    print(f"decoder.py: {accuracy:.1%} of new numbers are spelled right")
    return accuracy


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("numbers", 1000), ("epochs", 10), ("size", 64), ("seed", 0)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--rate", type=float, default=0.01)
    main(**vars(parser.parse_args()))
