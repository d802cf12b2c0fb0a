"""Languages told apart by a network along the letters of words along a sentence: `wengert.fold`.

`python examples/languages.py` makes up eight languages, each by how often a letter follows another one, writes
sentences in them, and learns which language a new sentence is in. One recurrent network reads the letters of a word,
another one the words; sentences of any number of words, of any number of letters and of none, train in one batch.

Source: blocks as in TensorFlow Fold, of whose examples it is one.
"""

from __future__ import annotations

import argparse
from string import ascii_lowercase

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped] # ships no types

import wengert as wg
from wengert import fold as td
from wengert.data import Items
from wengert.plugins import Adam, LearningRate
from wengert.run import Batched
from wengert.training import InferPlan, fit

LANGUAGES, LETTERS = 8, len(ascii_lowercase)
Sentence = tuple[list[str], int]  # words, and the place of the language


class Settings(Adam, LearningRate):
    """A rate for each number."""


def place(letter: str) -> int:
    """Where a letter stands in the alphabet."""
    return ascii_lowercase.index(letter)


def network(size: int = 32, rate: float = 0.005, seed: int = 0) -> td.Block[list[str], td.Tensors]:
    """Scores of the languages, for the words of a sentence."""
    settings = Settings(learning_rate=rate)

    def reader(name: str) -> td.Block[list[td.Tensors], td.Tensors]:
        """The last state of a recurrent network along a list."""
        step = td.Record((td.Identity[td.Tensors](), td.Identity[td.Tensors]())) >> td.Concat()
        fc = td.FC(size, wg.tanh, settings=settings, seed=seed, name=name)
        return td.Fold(step >> fc, td.Zeros(size))

    letter = td.InputTransform(place) >> td.Scalar("int64")
    row = letter >> td.Embedding(LETTERS, 16, settings=settings, seed=seed, name="letters")
    word = td.Map(row) >> reader("word")
    scores = td.FC(LANGUAGES, None, settings=settings, seed=seed, name="scores")
    return td.Map(word) >> reader("sentence") >> scores


def sentences(count: int, longest: int, language: int, text: int) -> Items[Sentence]:
    """Words of letters by chance, in languages that `language` decides; some words are empty."""
    chance = np.random.default_rng(language)
    rows = chance.dirichlet(np.full(LETTERS, 0.1), (LANGUAGES, LETTERS + 1)).cumsum(axis=-1)
    chance, found = np.random.default_rng(text), []
    for _ in range(count):
        which = int(chance.integers(LANGUAGES))
        words = []
        for n in chance.integers(longest + 1, size=chance.integers(1, longest + 1)):
            last, word = LETTERS, ""  # the last row is that of the first letter of a word
            for r in chance.random(n):
                last = min(int(rows[which, last].searchsorted(r)), LETTERS - 1)
                word += ascii_lowercase[last]
            words.append(word)
        found.append((words, which))
    return Items(found)


def main(
    count: int = 5000, epochs: int = 12, longest: int = 6, size: int = 32, rate: float = 0.005, seed: int = 0
) -> float:
    """Train, print and return the accuracy on new sentences."""
    compiler = td.Compiler.create(network(size, rate, seed))
    train, test = (sentences(n, longest, seed, text) for n, text in ((count, 1), (500, 2)))

    def loss(batch: Items[Sentence], seed: object) -> wg.ArrayLayer[tuple[()]]:
        (scores,) = compiler.build([words for words, _ in batch]).output_tensors
        return wg.cross_entropy(scores, np.array([which for _, which in batch]))

    with threadpool_limits(1):  # matrices this small are done before a second thread has woken up
        history = fit(loss, train, seed=seed, epochs=epochs, batch_size=100, executor=Batched())
        plan = InferPlan(compiler=compiler, batch_size=100, executor=Batched())
        plan.examples = [words for words, _ in test]
        said = [int(scores.argmax()) for (scores,) in plan.run()]
    accuracy = float(np.mean([place == which for place, (_, which) in zip(said, test, strict=True)]))
    print(f"loss {history.epochs[0].loss:.3f} in the first epoch, {history.epochs[-1].loss:.3f} in the last")
    words, which = test[0]
    print(f"{' '.join(words)!r} is in language {which}; the network says {said[0]}")
    print(f"languages.py: {accuracy:.1%} of new sentences are told right, of {LANGUAGES} languages")
    return accuracy


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("count", 5000), ("epochs", 12), ("longest", 6), ("size", 32), ("seed", 0)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--rate", type=float, default=0.005)
    main(**vars(parser.parse_args()))
