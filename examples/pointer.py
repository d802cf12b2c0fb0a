"""A pointer network in blocks, which reads its own choices: it sorts lists of numbers of any length: `wengert.fold`.

`python examples/pointer.py` makes up lists of numbers and learns to point at them in ascending order. At each step all
numbers get a score, beside the number that was chosen last. In training that is the right one, by its place in the
data; afterwards the place is computed, `wg.argmax` of the scores, and `td.Nth` takes the element there into the next
step, all within one run.

Source: O. Vinyals, M. Fortunato, N. Jaitly, "Pointer Networks", 2015, whose encoder is left out.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped] # ships no types

import wengert as wg
from wengert import fold as td
from wengert.plugins import Adam, LearningRate
from wengert.training import InferPlan, TrainPlan

Sorting = dict[str, Any]  # a list of numbers, and their places in ascending order


class Settings(Adam, LearningRate):
    """A rate for each number."""


class Pointer:
    """The scores of all numbers, by how each compares with the last one."""

    def __init__(self, size: int, seed: int) -> None:
        settings, chance = Settings(learning_rate=0.03), np.random.default_rng(seed)
        begin = chance.normal(0.0, 5.0, (2, size)).astype(np.float32)
        self.inward: Any = settings.array_weight(begin, name="inward")  # Any: by their sizes
        self.bias: Any = settings.array_weight(np.zeros(size, np.float32), name="bias")
        self.outward: Any = settings.array_weight(
            chance.normal(0.0, size**-0.5, size).astype(np.float32), name="outward"
        )

    def scores(self, numbers: td.Tensors, last: td.Tensors) -> td.Tensors:
        """One for each number."""
        both = wg.stack([numbers, numbers * 0.0 + last], axis=1)
        hidden: td.Tensors = wg.tanh(both @ self.inward + self.bias)
        scores: td.Tensors = hidden @ self.outward
        return scores

    def block(self, *, choosing: bool) -> td.Block[Sorting, Any]:  # Any: losses, or places, of each step
        """All steps of a list: their losses, or the places that the network chooses, without a look at the order."""
        numbers = td.GetItem("numbers") >> td.Map(td.Scalar())
        places = td.GetItem("order") >> td.Map(td.Scalar("int64"))
        scores: Any = td.Function(self.scores)
        choose = td.Function(wg.argmax)
        lost: Any = td.Function(wg.cross_entropy)  # Any: its overloads

        @td.composition
        def step(given: td.Wire[Any], last: td.Wire[Any]) -> tuple[td.Wire[Any], td.Wire[Any]]:
            found = scores(given[1], last)
            place = choose(found) if choosing else given[2]
            return (place if choosing else lost(found, place)), td.Nth()(given[0], place)

        @td.composition
        def whole(x: td.Wire[Any]) -> td.Wire[Any]:
            listed = numbers(x)
            rows = td.Stack()(listed)
            steps = td.Zip()(td.Broadcast()(listed), td.Broadcast()(rows), listed if choosing else places(x))
            return td.RNN(step, initial_state=td.FromTensor(0.0))(steps)[0]

        return whole


def lists(count: int, longest: int, seed: int) -> list[Sorting]:
    """Numbers between 0 and 1, at least 1 / 20 apart."""
    chance, found = np.random.default_rng(seed), []
    for n in chance.integers(2, longest + 1, size=count):
        numbers = chance.permutation(20)[:n] / 20.0 + 0.05
        found.append({"numbers": numbers.tolist(), "order": numbers.argsort().tolist()})
    return found


def main(count: int = 600, epochs: int = 80, longest: int = 6, size: int = 32, seed: int = 0) -> float:
    """Train, print and return the part of new lists that are sorted without a mistake."""
    network = Pointer(size, seed)
    compiler = td.Compiler.create(network.block(choosing=False) >> td.Mean())
    train, test = lists(count, longest, 1), lists(300, longest, 2)
    with threadpool_limits(1):  # matrices this small are done before a second thread has woken up
        plan = TrainPlan(compiler=compiler, examples=train, epochs=epochs, batch_size=30, seed=seed)
        plan.losses = {"places": lambda batch: wg.mean(batch.output_tensors[0])}
        history = plan.run()
        said = InferPlan(compiler=td.Compiler.create(network.block(choosing=True), lists=True), examples=test)
        right = [
            [int(place) for place in found] == example["order"]
            for (found,), example in zip(said.run(), test, strict=True)
        ]
    accuracy = float(np.mean(right))
    print(f"loss {history.epochs[0].loss:.3f} in the first epoch, {history.epochs[-1].loss:.3f} in the last")
    print(
        f"pointer.py: {accuracy:.1%} of new lists are sorted without a mistake, by a network that reads its choices"
    )
    return accuracy


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("count", 600), ("epochs", 80), ("longest", 6), ("size", 32), ("seed", 0)):
        parser.add_argument(f"--{name}", type=int, default=default)
    main(**vars(parser.parse_args()))
