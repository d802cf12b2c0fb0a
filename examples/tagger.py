"""A tagger in blocks: which letters of a word occur in it once more, a tag for each: `wengert.fold`.

`python examples/tagger.py` makes up words of any length and learns to tell, of each letter, whether the word has it
again. Each letter attends to all letters of its own word: the list becomes a tensor (`td.Stack`), the tensor a list
again (`td.Unstack`), and a layer reads each element. Tags leave as lists, as long as the words.
"""

from __future__ import annotations

import argparse
from string import ascii_lowercase
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped] # ships no types

import wengert as wg
from wengert import fold as td
from wengert.plugins import Adam, LearningRate
from wengert.training import InferPlan, TrainPlan

Tagged = tuple[str, list[int]]


class Settings(Adam, LearningRate):
    """A rate for each number."""


def tagger(
    size: int, settings: Settings, seed: int
) -> td.Block[str, Any]:  # Any: a list of scores, one a letter
    """Two scores for each letter of a word."""
    chance = np.random.default_rng(seed)
    query, key, value = (
        settings.array_weight(chance.normal(0.0, size**-0.5, (size, size)).astype(np.float32), name=name)
        for name in ("query", "key", "value")
    )

    def attended(x: td.Tensors) -> td.Tensors:
        """Each row beside the sum of all that answer it; a sum, for a mean would not count."""
        answers = wg.relu((x @ query) @ wg.permute_dims(x @ key, (1, 0)))
        return wg.concat([x, answers @ (x @ value)], axis=1)

    place = td.InputTransform(ascii_lowercase.index) >> td.Scalar("int64")
    letter = place >> td.Embedding(26, size, settings=settings, seed=seed, name="letters")
    hidden = td.FC(size, settings=settings, seed=seed, name="hidden")
    scores = td.FC(2, None, settings=settings, seed=seed, name="scores")
    return td.Map(letter) >> td.Stack() >> td.Function(attended) >> td.Unstack() >> td.Map(hidden >> scores)


def words(count: int, longest: int, seed: int) -> list[Tagged]:
    """Words of ten letters only, so that many of them come again."""
    chance, found = np.random.default_rng(seed), []
    for n in chance.integers(1, longest + 1, size=count):
        word = "".join(ascii_lowercase[i] for i in chance.integers(10, size=n))
        found.append((word, [int(word.count(letter) > 1) for letter in word]))
    return found


def main(count: int = 2000, epochs: int = 25, longest: int = 8, size: int = 24, seed: int = 0) -> float:
    """Train, print and return the part of the letters of new words with the right tag."""
    block = tagger(size, Settings(learning_rate=0.01), seed)
    tags = td.Map(td.Scalar("int64")) >> td.Stack()
    both = td.Record((block >> td.Stack(), tags))
    compiler = td.Compiler.create(both >> td.Function(lambda scores, tags: wg.cross_entropy(scores, tags)))
    train, test = words(count, longest, 1), words(500, longest, 2)
    with threadpool_limits(1):  # matrices this small are done before a second thread has woken up
        plan = TrainPlan(compiler=compiler, examples=train, epochs=epochs, batch_size=100, seed=seed)
        plan.losses = {"tags": lambda batch: wg.mean(batch.output_tensors[0])}
        history = plan.run()
        said = InferPlan(compiler=td.Compiler.create(block, lists=True), examples=[word for word, _ in test])
        right = [
            int(scores.argmax()) == tag
            for (found,), (_, wanted) in zip(said.run(), test, strict=True)
            for scores, tag in zip(found, wanted, strict=True)
        ]
    accuracy = float(np.mean(right))
    print(f"loss {history.epochs[0].loss:.3f} in the first epoch, {history.epochs[-1].loss:.3f} in the last")
    print(
        f"tagger.py: {accuracy:.1%} of the letters of new words are tagged right, as once or again in their word"
    )
    return accuracy


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("count", 2000), ("epochs", 25), ("longest", 8), ("size", 24), ("seed", 0)):
        parser.add_argument(f"--{name}", type=int, default=default)
    main(**vars(parser.parse_args()))
