"""CIFAR-100 with the network of the paper: columns whose outputs are added, and fine classifiers that are skipped.

    python examples/cifar100.py cifar-100-binary
    python examples/cifar100.py --synthetic

A batch holds images of one coarse class. The coarse classifier learns from all batches; of the 20 fine classifiers,
one a coarse class, only that of the batch is built. With `--no-skip` all are built and the losses of the others
count 0 times: the same mathematics, and 20 times the work. The sum of the columns is written as a sum; how many there
are is an option.

Where no file is given, `--synthetic` makes two of the same format in a temporary folder.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from operator import add
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped] # ships no types

import wengert as wg
from wengert.data import Batches, Cifar100, cifar100
from wengert.nn import Linear, Seeds, Sequential
from wengert.plugins import SGD
from wengert.training import Epoch, Event, fit

Integers = np.ndarray[Any, np.dtype[np.int64]]
Net = Sequential[Any, Any, Any]
COARSE, FIVE, WIDTH, BATCH = 20, 5, 64, 16


@dataclass(frozen=True)
class Classes:
    """Which five fine classes each coarse class has, and which of the five each fine class is."""

    fine: Integers
    place: Integers

    @staticmethod
    def of(data: Cifar100) -> Classes:
        """As the labels say."""
        fine, place = np.zeros((COARSE, FIVE), np.int64), np.zeros(COARSE * FIVE, np.int64)
        for coarse in range(COARSE):
            found = np.unique(data.fine[data.coarse == coarse])
            fine[coarse, : len(found)] = found
            place[found] = np.arange(len(found))
        return Classes(fine, place)


class Network:
    """Columns of two dense layers each, a coarse classifier, and 20 fine ones."""

    def __init__(
        self, classes: Classes, columns: int, seed: int, skip: bool = True, rate: float = 0.01
    ) -> None:
        settings, chance = SGD(learning_rate=rate), np.random.default_rng(seed)

        def dense(*sizes: int) -> list[Linear[Any, Any]]:
            return [Linear.make(settings, n, m, seed=chance) for n, m in pairwise(sizes)]

        self.classes, self.skip = classes, skip
        self.columns: list[Net] = []
        self.fine: list[Net] = []
        for _ in range(columns):
            first, second = dense(3072, WIDTH, WIDTH)
            self.columns.append(Sequential(first, wg.relu, second, wg.relu))
        (self.coarse,) = dense(WIDTH, COARSE)
        for _ in range(COARSE):
            first, second, last = dense(WIDTH, WIDTH, WIDTH, FIVE)
            self.fine.append(Sequential(first, wg.relu, second, wg.relu, last))

    def features(self, batch: Cifar100) -> wg.ArrayLayer[Any]:
        """What all classifiers look at."""
        pixels = batch.pixels()
        return reduce(add, [column(pixels) for column in self.columns])

    def loss(self, batch: Cifar100, seed: Seeds | None) -> wg.ArrayLayer[tuple[()]]:
        """Of a batch of one coarse class: how surprising that is, and then the fine classes."""
        features, coarse = self.features(batch), int(batch.coarse[0])
        loss = wg.cross_entropy(self.coarse(features), batch.coarse)
        places = self.classes.place[batch.fine]
        for head in [coarse] if self.skip else range(COARSE):
            fine = wg.cross_entropy(self.fine[head](features), places)
            loss = loss + (fine if self.skip else fine * np.float32(head == coarse))
        return loss

    def found(self, batch: Cifar100) -> tuple[Integers, Integers]:
        """Which coarse and which fine class each image seems to be; only the classifiers chosen are built."""
        features = self.features(batch).predict().run()
        coarse = self.coarse(features).predict().run().argmax(axis=1)
        fine = np.zeros_like(coarse)
        for head in np.unique(coarse):
            lines = coarse == head
            places = self.fine[head](features[lines]).predict().run().argmax(axis=1)
            fine[lines] = self.classes.fine[head][places]
        return coarse, fine


def of_one_class(data: Cifar100, seed: int) -> Callable[[int], Batches[Cifar100]]:
    """Batches of one coarse class each, in an order that seed and epoch decide."""
    classes = [np.flatnonzero(data.coarse == coarse) for coarse in range(COARSE)]

    def batches(epoch: int) -> Batches[Cifar100]:
        chance = np.random.default_rng((seed, epoch))
        places = [
            some[start : start + BATCH]
            for some in map(chance.permutation, classes)
            for start in range(0, len(some), BATCH)
        ]
        return Batches(data, [places[i] for i in chance.permutation(len(places))])

    return batches


def synthetic(folder: Path, images: int, seed: int = 0) -> None:
    """Two files in the format of the real ones: each fine class is a pattern of its own on that of its coarse one."""
    chance = np.random.default_rng(seed)
    patterns = chance.normal(0, 30, (COARSE, 1, 3072)) + chance.normal(0, 30, (COARSE, FIVE, 3072))
    for part, count in (("train", images), ("test", max(images // 5, COARSE))):
        coarse, place = np.arange(count) % COARSE, chance.integers(0, FIVE, count)
        pixels = 128 + patterns[coarse, place] + chance.normal(0, 30, (count, 3072))
        labels = np.stack([coarse, FIVE * coarse + place], axis=1)
        records = np.concatenate([labels, pixels.clip(0, 255)], axis=1).astype(np.uint8)
        (folder / f"{part}.bin").write_bytes(records.tobytes())


class Accuracy(NamedTuple):
    """The shares of test images whose class is found."""

    coarse: float
    fine: float


def train(
    path: Path, columns: int, epochs: int, skip: bool, seed: int = 0, checkpoint: str | None = None
) -> Accuracy:
    """Train on the files, print each epoch, and say how well the test images are seen."""
    data, test = cifar100(path), cifar100(path, "test")
    network = Network(Classes.of(data), columns, seed, skip)

    def tell(event: Event) -> None:
        if isinstance(event, Epoch):
            print(f"epoch {event.number}: loss {event.loss:.4f}")

    with threadpool_limits(1):  # matrices this small are done before a second thread has woken up
        history = fit(
            network.loss,
            of_one_class(data, seed),
            seed=seed,
            epochs=epochs,
            callbacks=[tell],
            weights=network,
            checkpoint=checkpoint,
            resume=checkpoint is not None,
        )
        print(f"{history.steps} steps, {history.steps_per_second:.0f} a second")
        coarse, fine = network.found(test)
    return Accuracy(float(np.mean(coarse == test.coarse)), float(np.mean(fine == test.fine)))


def main(arguments: Sequence[str] | None = None) -> Accuracy:
    """Read the options, train, print and return the accuracies."""
    parser = argparse.ArgumentParser(description="The paper's multi-column network on CIFAR-100.")
    parser.add_argument("path", nargs="?", type=Path, help="folder or archive, binary or python format")
    parser.add_argument(
        "--synthetic", action="store_true", help="make files of the same format and use those"
    )
    parser.add_argument("--images", type=int, default=2000, help="how many to make (2000)")
    parser.add_argument("--columns", type=int, default=2, help="how many columns (2)")
    parser.add_argument("--epochs", type=int, default=5, help="how many times all images are shown (5)")
    parser.add_argument(
        "--skip", action=argparse.BooleanOptionalAction, default=True, help="build one fine classifier"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--checkpoint", help="a file to go on from, and to write")
    given = parser.parse_args(arguments)
    if (given.path is None) != given.synthetic:
        parser.error("give the path of the files, or --synthetic")
    with ExitStack() as scopes:
        path = given.path
        if given.synthetic:
            path = Path(scopes.enter_context(TemporaryDirectory()))
            synthetic(path, given.images)
        found = train(path, given.columns, given.epochs, given.skip, given.seed, given.checkpoint)
    print(f"cifar100.py: coarse accuracy {found.coarse:.2%}, fine accuracy {found.fine:.2%}")
    return found


if __name__ == "__main__":
    main()
