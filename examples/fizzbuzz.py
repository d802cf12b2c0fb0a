"""Fizzbuzz of numbers as lists of digits, learned by a block that folds a list: `wengert.fold`.

`python examples/fizzbuzz.py` learns which numbers below 10,000 can be divided by 3, by 5, by both or by neither, of
their decimal digits, on four fifths of them. A state goes along the digits; 0 has none of them. Numbers of all lengths
train in one batch. Whether 5 divides a number is seen in its last digit, and learned in the first epochs, which gives
two thirds of the answers; for 3 all digits count, and the state has to keep their sum, which it learns later and then
all at once.

Source: the exercise of many an interview; blocks as in TensorFlow Fold, of whose examples it is one.
"""

from __future__ import annotations

import argparse

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped] # ships no types

import wengert as wg
from wengert import fold as td
from wengert.data import Items, split
from wengert.plugins import Adam, LearningRate
from wengert.run import Batched
from wengert.training import InferPlan, fit

CLASSES = ("neither", "fizz", "buzz", "fizzbuzz")


class Settings(Adam, LearningRate):
    """A rate for each number."""


def digits(n: int) -> list[int]:
    """The decimal digits, the first one first; of 0 there are none."""
    return [int(digit) for digit in str(n)] if n else []


def right(n: int) -> int:
    """The place among `CLASSES`."""
    return (n % 3 == 0) + 2 * (n % 5 == 0)


def network(size: int = 64, rate: float = 0.003, seed: int = 0) -> td.Block[int, td.Tensors]:
    """Scores of the four classes of a number."""
    settings = Settings(learning_rate=rate)
    state, digit = td.Identity[td.Tensors](), td.OneHot(10)
    step = td.Record((state, digit)) >> td.Concat() >> td.FC(size, settings=settings, seed=seed, name="step")
    scores = td.FC(len(CLASSES), None, settings=settings, seed=seed, name="scores")
    return td.InputTransform(digits) >> td.Fold(step, td.Zeros(size)) >> scores


def main(
    numbers: int = 10_000, epochs: int = 30, size: int = 64, rate: float = 0.003, seed: int = 0
) -> float:
    """Train, print and return the accuracy on numbers that were not trained on."""
    compiler = td.Compiler.create(network(size, rate, seed))
    train, test = split(Items(range(numbers)), (0.8, 0.2), seed=seed)

    def loss(batch: Items[int], seed: object) -> wg.ArrayLayer[tuple[()]]:
        (scores,) = compiler.build(batch.items).output_tensors
        return wg.cross_entropy(scores, np.array([right(n) for n in batch]))

    with threadpool_limits(1):  # matrices this small are done before a second thread has woken up
        history = fit(loss, train, seed=seed, epochs=epochs, batch_size=100, executor=Batched())
        plan = InferPlan(compiler=compiler, examples=test, batch_size=500, executor=Batched())
        said = [int(scores.argmax()) for (scores,) in plan.run()]
    accuracy = float(np.mean([place == right(n) for place, n in zip(said, test, strict=True)]))
    print(f"loss {history.epochs[0].loss:.3f} in the first epoch, {history.epochs[-1].loss:.3f} in the last")
    for place, name in enumerate(CLASSES):
        told = [found == place for found, n in zip(said, test, strict=True) if right(n) == place]
        print(f"{name}: {np.mean(told):.1%} of {len(told)}")
    print(f"fizzbuzz.py: {accuracy:.1%} of new numbers are right")
    return accuracy


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("numbers", 10_000), ("epochs", 30), ("size", 64), ("seed", 0)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--rate", type=float, default=0.003)
    main(**vars(parser.parse_args()))
