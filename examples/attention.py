"""Feed-forward attention: a network without an order of time that adds two numbers of a long sequence.

`python examples/attention.py` trains on sequences of 10 to 50 steps, each a number and a mark; the answer is the sum
of the two marked numbers, wherever they are. Every step says how much it is to count; what is left is the mean of
all steps, weighted so. Steps are run as cells, all steps of all sequences together: nothing is padded.

Source: Raffel and Ellis 2015, "Feed-forward networks with attention can solve some long-term memory problems".
"""

from __future__ import annotations

import argparse
from functools import partial, reduce

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped] # ships no types

import wengert as wg
from wengert.data import Items
from wengert.nn import Linear
from wengert.plugins import LearningRate, Nesterov
from wengert.run import Batched
from wengert.training import fit

Layer = wg.ArrayLayer
Number = Layer[tuple[()]]
Step = np.ndarray[tuple[int], np.dtype[np.float32]]
Steps = np.ndarray[tuple[int, int], np.dtype[np.float32]]
Sequence = tuple[Steps, float]  # steps of a number and a mark, and the answer
NEAR = 0.04  # an answer is right if it is off by less


class Settings(Nesterov, LearningRate):
    """Momentum that looks ahead."""


class Attention:
    """A mean of all steps, weighted by what each says of itself, and an answer from it."""

    def __init__(self, size: int, rate: float = 0.1, seed: int = 0) -> None:
        chance = np.random.default_rng(seed)
        make = partial(Linear.make, Settings(learning_rate=rate), seed=chance)
        self.state, self.weight = make(2, size), make(size, 1)
        self.top, self.answer = make(size, size), make(size, 1)

    @wg.cell
    def step(self, x: Step) -> tuple[Layer, Layer]:
        h = wg.relu(self.state(x))
        # from 1/e to e, so that no sum overflows
        weight = wg.exp(wg.tanh(self.weight(h)))
        return weight, weight * h

    @wg.cell
    def read(self, weight: Layer, total: Layer) -> Layer:
        return self.answer(wg.relu(self.top(total / weight)))

    def __call__(self, steps: Steps) -> Layer:
        weights, totals = zip(*map(self.step, steps), strict=True)
        return self.read(reduce(wg.add, weights), reduce(wg.add, totals))

    def loss(self, batch: Items[Sequence], seed: object = None) -> Number:
        """The mean square of what answers are off by."""
        answers = wg.concat([self(steps) for steps, _ in batch], axis=0)
        right = np.array([y for _, y in batch], np.float32)
        return wg.mean(wg.square(answers - right))


def sequences(count: int, shortest: int, longest: int, seed: int) -> Items[Sequence]:
    """Numbers from -1 to 1; two of them, in the two halves, are marked; the answer is 1/2 + their sum / 4."""
    chance, found = np.random.default_rng(seed), []
    for _ in range(count):
        n = int(chance.integers(shortest, longest + 1))
        steps = np.stack([chance.uniform(-1.0, 1.0, n), np.zeros(n)], axis=1).astype(np.float32)
        marked = [chance.integers(n // 2), chance.integers(n // 2, n)]
        steps[marked, 1] = 1.0
        found.append((steps, float(0.5 + steps[marked, 0].sum() / 4.0)))
    return Items(found)


def accuracy(model: Attention, data: Items[Sequence]) -> float:
    """The share of answers that are right."""
    answers = wg.predict(wg.concat([model(steps) for steps, _ in data], axis=0)).run(Batched())
    return float(np.mean(np.abs(answers - [y for _, y in data]) < NEAR))


def main(
    count: int = 4000,
    epochs: int = 20,
    batch: int = 100,
    shortest: int = 10,
    longest: int = 50,
    size: int = 100,
    seed: int = 0,
) -> float:
    """Train, print and return the accuracy on sequences that were not trained on."""
    model = Attention(size, seed=seed)
    train = sequences(count, shortest, longest, 2 * seed)
    test = sequences(500, shortest, longest, 2 * seed + 1)
    before = accuracy(model, test)
    with threadpool_limits(1):  # matrices this small are done before a second thread has woken up
        history = fit(model.loss, train, seed=seed, epochs=epochs, batch_size=batch, executor=Batched())
    after = accuracy(model, test)
    print(
        f"off by {history.epochs[-1].loss ** 0.5:.3f} in the last epoch, {history.epochs[0].loss ** 0.5:.3f} at first"
    )
    print(f"attention.py: {after:.1%} of the sums are right, {before:.1%} before training")
    return after


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("shortest", "longest", "size", "seed", "count", "epochs", "batch"):
        parser.add_argument(f"--{name}", type=int, default=argparse.SUPPRESS)
    main(**vars(parser.parse_args()))
