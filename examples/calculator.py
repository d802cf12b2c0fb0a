"""A calculator that learns signs: a network in the shape of the expression, whose operators are layers.

`python examples/calculator.py` makes expressions of digits and + - * ÷, at most 5 operators deep, and learns whether
the result is negative, 0 or positive. It does so twice. In the first network the operator that is written chooses the
layer: the shape of a network comes from its data. In the second one nobody says which layer belongs to which
operator: a small network computes chances, which are awaited, and only the two likeliest layers are run. In both
all expressions of a batch run together, and what they wait for is computed together. To wait at every operator takes
several times as long as to know.

Source: the calculator of TensorFlow Fold's examples; that choices are computed is new, and two are, because their
difference says which is better: Shazeer et al. 2017, "The sparsely-gated mixture-of-experts layer".
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from itertools import islice
from typing import Literal, get_args

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped] # ships no types

import wengert as wg
from wengert.data import Items
from wengert.nn import Linear
from wengert.plugins import Adam, LearningRate
from wengert.run import Batched
from wengert.training import fit

Layer = wg.ArrayLayer
Size = Literal[5]
State = wg.ArrayLayer[tuple[Size]]  # its size is stated, so that cells know what they get from a choice
Row = np.ndarray[tuple[int], np.dtype[np.float32]]
Expression = int | tuple["Expression", str, "Expression"]
(SIZE,) = get_args(Size)
OPERATORS: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "÷": lambda a, b: a // b if b else 0,
}
ONE_OF_TEN, ONE_OF_FOUR = np.eye(10, dtype=np.float32), np.eye(4, dtype=np.float32)


class Settings(Adam, LearningRate):
    """A rate for each number."""


class Written:
    """A state for each part of an expression: a layer for digits, and one for each operator."""

    def __init__(self, rate: float = 0.01, seed: int = 0) -> None:
        self.make = partial(Linear.make, Settings(learning_rate=rate), seed=np.random.default_rng(seed))
        self.leaf, self.sign = self.make(10, SIZE, name="digit"), self.make(SIZE, 3, name="sign")
        self.layers = [self.make(2 * SIZE, SIZE, name=name) for name in OPERATORS]
        self.branches = [wg.cell(partial(self._applied, layer)) for layer in self.layers]
        self.operators = dict(zip(OPERATORS, self.branches, strict=True))

    def _applied(self, layer: Linear, left: Layer, right: Layer) -> Layer:
        return wg.tanh(layer(wg.concat([left, right], axis=0)))

    @wg.cell
    def digit(self, one_of_ten: Row) -> Layer:
        return wg.tanh(self.leaf(one_of_ten))

    @wg.cell
    def cost(self, h: Layer, sign: np.ndarray) -> Layer:
        return wg.cross_entropy(self.sign(h), sign)

    def state(self, x: Expression) -> Layer:
        """The state of an expression, from those of its parts; none is deep."""
        if isinstance(x, int):
            return self.digit(ONE_OF_TEN[x])
        left, operator, right = x
        return self.operators[operator](self.state(left), self.state(right))

    def loss(self, batch: Items[Expression], seed: object = None) -> Layer[tuple[()]]:
        """How surprising the signs are, on average."""
        costs = [self.cost(self.state(x), np.array(1 + np.sign(value(x)))) for x in batch]
        return wg.mean(wg.stack(costs))


class Chosen(Written):
    """The same, with layers chosen by a network that sees the operator and the states it is between."""

    def __init__(self, rate: float = 0.01, seed: int = 0) -> None:
        super().__init__(rate, seed)
        self.chooser = self.make(4 + 2 * SIZE, 4, name="choice")
        self.used: Counter[tuple[str, int]] = Counter()

    def state(self, x: Expression) -> Layer:
        """As before, but the layers are computed."""
        if isinstance(x, int):
            return self.digit(ONE_OF_TEN[x])
        left, operator, right = x
        return self.chosen(self.state(left), operator, self.state(right))

    @wg.cell
    def chances(self, written: Row, left: Layer, right: Layer) -> Layer:
        return wg.softmax(self.chooser(wg.concat([written, left, right], axis=0)))

    @wg.cell
    def mixed(self, h: Layer, other: Layer, chances: Layer, one: Row, two: Row) -> Layer:
        p, q = wg.sum(chances * one), wg.sum(chances * two)
        return (h * p + other * q) / (p + q)

    @wg.differentiable
    async def chosen(self, left: Layer, operator: str, right: Layer) -> State:
        """The mean of what the two likeliest layers say, weighted by their chances, by which choices are learned."""
        written = ONE_OF_FOUR[list(OPERATORS).index(operator)]
        chances = self.chances(written, left, right)
        one, two = (int(place) for place in (await chances).argsort()[:1:-1])
        self.used[operator, one] += 1
        states = self.branches[one](left, right), self.branches[two](left, right)
        return self.mixed(*states, chances, ONE_OF_FOUR[one], ONE_OF_FOUR[two])

    def choices(self) -> Iterable[str]:
        """For each operator, how often each layer was the likeliest."""
        for operator in OPERATORS:
            used = [self.used[operator, place] for place in range(len(OPERATORS))]
            shares = (f"{n / max(sum(used), 1):.0%}" for n in used)
            yield f"  the likeliest of the four layers at {operator}: {', '.join(shares)}"


def expression(chance: np.random.Generator, depth: int = 5) -> Expression:
    """A digit with a chance of a third, and at the end; else an operator between two expressions."""
    if depth == 0 or chance.random() < 1 / 3:
        return int(chance.integers(10))
    operator = str(chance.choice(list(OPERATORS)))
    return expression(chance, depth - 1), operator, expression(chance, depth - 1)


def value(x: Expression) -> int:
    """What an expression comes to."""
    if isinstance(x, int):
        return x
    left, operator, right = x
    return OPERATORS[operator](value(left), value(right))


def accuracy(model: Written, data: Items[Expression]) -> float:
    """The share of expressions whose sign is right."""
    right, left, run = [], iter(data), Batched()
    while batch := list(islice(left, 500)):
        answers = wg.predict(wg.stack([model.sign(model.state(x)) for x in batch])).run(run)
        right += (answers.argmax(axis=1) == [1 + np.sign(value(x)) for x in batch]).tolist()
    return float(np.mean(right))


def main(
    count: int = 10_000, epochs: int = 6, batch: int = 50, rate: float = 0.01, seed: int = 0
) -> list[float]:
    """Train both, print and return their accuracies on expressions that were not trained on."""
    chance, found = np.random.default_rng(seed), []
    train, test = (Items(expression(chance) for _ in range(n)) for n in (count, 1000))
    common = Counter(np.sign(value(x)) for x in test).most_common(1)[0][1] / len(test)
    print(f"the most common sign is that of {common:.1%}")
    choosing = Chosen(rate=rate, seed=seed)
    models = {"written": Written(rate=rate, seed=seed), "chosen": choosing}
    with threadpool_limits(1):  # matrices this small are done before a second thread has woken up
        for name, model in models.items():
            history = fit(model.loss, train, seed=seed, epochs=epochs, batch_size=batch, executor=Batched())
            choosing.used.clear()
            found.append(accuracy(model, test))
            losses = f"loss {history.epochs[0].loss:.3f}, then {history.epochs[-1].loss:.3f}"
            print(f"calculator.py: layers {name}: {losses}; {found[-1]:.1%} of the signs are right")
    print("\n".join(choosing.choices()))
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("count", 10_000), ("epochs", 6), ("batch", 50), ("seed", 0)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--rate", type=float, default=0.01)
    main(**vars(parser.parse_args()))
