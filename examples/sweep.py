"""A sweep: trainings of a network at several rates by the workers of a cluster, and again where one of them dies.

Run: python examples/sweep.py

Needs the extra `cluster`. A trial is a function of its settings and seed alone, so that one whose worker has died is
run again, with the same result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product
from typing import TypeVar

import wengert as wg
from wengert.cluster import Cluster, Engine
from wengert.data import Digits, digits
from wengert.errors import NodeLostError
from wengert.nn import Linear, Seeds
from wengert.plugins import Adam, LearningRate
from wengert.training import fit

A = TypeVar("A")
RATES, SEEDS = (0.0001, 0.001, 0.01), (0, 1)


class Settings(Adam, LearningRate): ...


def trial(rate: float, seed: int) -> float:
    """The loss of the last epoch."""
    model = Linear.make(Settings(learning_rate=rate), 64, 10, seed=seed)

    def loss(batch: Digits, _: Seeds | None) -> wg.ArrayLayer[tuple[()]]:
        return wg.cross_entropy(model(batch.images), batch.labels)

    return fit(loss, digits(), seed=seed, epochs=2, batch_size=64, show=False).epochs[-1].loss


def sweep(
    engine: Engine, trial: Callable[[float, int], A], settings: Iterable[tuple[float, int]]
) -> dict[tuple[float, int], A]:
    """What a trial gives for each of these, by as many workers as there are."""
    left = {engine.submit(trial, *setting): setting for setting in settings}
    found: dict[tuple[float, int], A] = {}
    while left:
        for future in engine.wait([*left], 1.0):
            setting = left.pop(future)
            if isinstance(future.exception(), NodeLostError):
                left[engine.submit(trial, *setting)] = setting
            else:
                found[setting] = future.result()
    return found


def table(engine: Engine) -> dict[tuple[float, int], float]:
    """All losses, printed from the smallest on."""
    found = sweep(engine, trial, product(RATES, SEEDS))
    for (rate, seed), loss in sorted(found.items(), key=lambda item: item[1]):
        print(f"rate {rate:g}, seed {seed}: loss {loss:.3f}")
    return found


def main() -> None:
    with Cluster(workers=2) as cluster:
        table(cluster.engine)


if __name__ == "__main__":
    main()
