"""Weave: graph convolutions of molecules of any size, in which atoms and pairs of atoms have features.

`python examples/weave.py` learns how many bonds of a molecule are polar: between atoms of two kinds. In a weave
module each atom reads its pairs, and each pair its two atoms, in either order. It is written for one atom and for
one pair; those of all molecules of a batch run together.

Source: Kearnes, McCloskey, Berndl, Pande and Riley 2016, "Molecular graph convolutions: moving beyond fingerprints".
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial, reduce
from itertools import combinations, islice
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped] # ships no types

import wengert as wg
from wengert.data import Items
from wengert.nn import Linear
from wengert.plugins import Adam, LearningRate
from wengert.run import Batched
from wengert.training import fit

Layer = wg.ArrayLayer
Row = Layer | np.ndarray
Pair = tuple[int, int]  # the places of two atoms, the smaller one first
Make = Callable[[int, int], Linear]
Atoms = list[Any]  # Any: rows of data, or layers, here and of pairs
Pairs = dict[Pair, Any]
KINDS = 3


class Settings(Adam, LearningRate):
    """A rate for each number."""


class Molecule(NamedTuple):
    """Features of all atoms, and of all pairs of them; and what is to be found out."""

    atoms: list[np.ndarray]
    pairs: dict[Pair, np.ndarray]
    polar: int


class Weave:
    """New features of atoms and of pairs, from those of both."""

    def __init__(self, make: Make, atom: int, pair: int, size: int) -> None:
        inputs = {"aa": atom, "pa": pair, "a": 2 * size}
        inputs |= {"ap": 2 * atom, "pp": pair, "p": 2 * size}
        self.layers = {name: make(n, size) for name, n in inputs.items()}
        self.none = np.zeros(size, np.float32)
        self.atom, self.pair = wg.cell(self._atom), wg.cell(self._pair)
        self.sent = wg.cell(partial(self._f, "pa"))

    def _f(self, name: str, *parts: Row) -> Layer:
        return wg.relu(self.layers[name](wg.concat(parts, axis=0)))

    def _atom(self, atom: Row, received: Row) -> Layer:
        return self._f("a", self._f("aa", atom), received)

    def _pair(self, one: Row, other: Row, pair: Row) -> Layer:
        both = self._f("ap", one, other) + self._f("ap", other, one)
        return self._f("p", both, self._f("pp", pair))

    def __call__(self, atoms: Atoms, pairs: Pairs) -> tuple[Atoms, Pairs]:
        received: list[list[Layer]] = [[] for _ in atoms]
        for places, pair in pairs.items():
            sent = self.sent(pair)
            for i in places:
                received[i].append(sent)
        sums = [reduce(wg.add, r) if r else self.none for r in received]
        changed = {(i, j): self.pair(atoms[i], atoms[j], pair) for (i, j), pair in pairs.items()}
        return list(map(self.atom, atoms, sums)), changed


class Polar:
    """Two weave modules, and a number from the sum over all atoms."""

    def __init__(self, size: int = 16, rate: float = 0.005, seed: int = 0) -> None:
        chance = np.random.default_rng(seed)
        make = partial(Linear.make, Settings(learning_rate=rate), seed=chance)
        self.first, self.second = Weave(make, KINDS, 2, size), Weave(make, size, size, size)
        self.top = make(size, 1)
        self.read = wg.cell(self.top)

    def __call__(self, molecule: Molecule) -> Layer:
        layers: list[Layer] = self.second(*self.first(molecule.atoms, molecule.pairs))[0]
        return self.read(reduce(wg.add, layers))

    def loss(self, batch: Items[Molecule], seed: object = None) -> Layer[tuple[()]]:
        """The mean square of what answers are off by."""
        right = np.array([m.polar for m in batch], np.float32)
        return wg.mean(wg.square(wg.concat(list(map(self, batch)), axis=0) - right))


def molecules(count: int, largest: int, seed: int) -> Items[Molecule]:
    """Trees of 1 to `largest` atoms with a few more bonds; a pair has two features: bound, and near or far."""
    chance, found = np.random.default_rng(seed), []
    for _ in range(count):
        n = int(chance.integers(1, largest + 1))
        kinds = chance.integers(KINDS, size=n)
        bonds = {(int(chance.integers(j)), j) for j in range(1, n)}
        pairs = {
            (i, j): np.array([(i, j) in bonds, 1 / (j - i)], np.float32) for i, j in combinations(range(n), 2)
        }
        polar = sum(kinds[i] != kinds[j] for i, j in bonds)
        found.append(Molecule(list(np.eye(KINDS, dtype=np.float32)[kinds]), pairs, polar))
    return Items(found)


def off(model: Polar, data: Items[Molecule]) -> float:
    """By how many bonds answers are off, on average."""
    found, left, run = [], iter(data), Batched()
    while batch := list(islice(left, 50)):
        answers = wg.predict(wg.concat(list(map(model, batch)), axis=0)).run(run)
        found += np.abs(answers - [m.polar for m in batch]).tolist()
    return float(np.mean(found))


def main(count: int = 1000, epochs: int = 20, largest: int = 15, seed: int = 0) -> tuple[float, float]:
    """Train, print and return how far off answers are, and how far the best single number is."""
    model = Polar(seed=seed)
    train, test = molecules(count, largest, 2 * seed), molecules(200, largest, 2 * seed + 1)
    with threadpool_limits(1):  # matrices this small are done before a second thread has woken up
        fit(model.loss, train, seed=seed, epochs=epochs, batch_size=50, executor=Batched())
    right = np.array([m.polar for m in test])
    error, single = off(model, test), float(np.mean(np.abs(right - np.median(right))))
    print(f"weave.py: polar bonds are off by {error:.2f} on average; the same answer for all by {single:.2f}")
    return error, single


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("count", 1000), ("epochs", 20), ("largest", 15), ("seed", 0)):
        parser.add_argument(f"--{name}", type=int, default=default)
    main(**vars(parser.parse_args()))
