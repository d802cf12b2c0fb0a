"""What a step costs when workers compute its shards: phases of it, for three sizes of weights.

    python -m benchmarks.distributed                        # two minutes, and 2 GB of memory
    python -m benchmarks.distributed --sizes 0.3 --steps 5  # a look

A step is a loss of eight examples in two shards, of a square matrix of so many megabytes; the network is so light that
what is measured is everything but the arithmetic. `python -m benchmarks shards` has the overhead of a step whose shards
take 100 ms each. Needs the extra `cluster`.

Knows: a network of any size, and what is timed.
Refuses to know: who carries messages.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from math import isqrt
from statistics import median
from time import perf_counter, process_time, sleep
from typing import Any, Final, NamedTuple

import numpy as np

import wengert as wg
from benchmarks.report import Limit
from benchmarks.timing import Spread
from benchmarks.workload import OURS
from wengert.cluster import Cluster, Distributed, Engine, Local
from wengert.control import Executor
from wengert.plugins import SGD
from wengert.run.shards import shards_of
from wengert.saving import portable

EXAMPLES = 8
NAME: Final = "shards"
WORK: Final = 0.1  # seconds of one shard
MOST: Final = 1.15


class Phases(NamedTuple):
    """Milliseconds of one step: here, by workers, the driver's processor; taking apart, and putting weights."""

    here: float
    there: float
    driver: float
    apart: float
    put: float


Examples = np.ndarray[tuple[int, int], np.dtype[np.float32]]


class Network:
    """One square matrix, of about so many megabytes."""

    def __init__(self, megabytes: float) -> None:
        n = isqrt(int(megabytes * 1e6 / 4))
        self.n = n
        self.w = SGD(learning_rate=1e-3).array_weight(np.zeros((n, n), np.float32), name="w")

    def loss(self) -> Any:  # Any: a scalar expression
        def loss(part: Examples, seed: tuple[int, ...] | None) -> wg.ArrayLayer[tuple[()]]:
            return wg.mean(wg.square(wg.lift(part) @ self.w - 1.0))

        examples: Examples = np.ones((EXAMPLES, self.n), np.float32)
        return wg.shards(loss, examples, 2)


LIGHT: Final = Network(0.3)


def timed(network: Network, executor: Executor | None, steps: int) -> tuple[float, float]:
    """The medians of wall time and of this process's time of a step, in milliseconds, after one that is not counted."""
    walls, own = list[float](), list[float]()
    for step in range(steps + 1):
        begun, used = perf_counter(), process_time()
        network.loss().train().run(executor)
        if step:
            walls.append(1e3 * (perf_counter() - begun))
            own.append(1e3 * (process_time() - used))
    return median(walls), median(own)


def phases(engine: Engine, megabytes: float, steps: int) -> Phases:
    """Of steps with so many megabytes of weights."""
    here, _ = timed(Network(megabytes), None, steps)
    network = Network(megabytes)
    there, driver = timed(network, Distributed(engine, patience=120.0), steps)
    losses, apart, put = shards_of(network.loss()), list[float](), list[float]()
    for _ in range(steps):
        begun = perf_counter()
        for x in losses:
            portable(x)
        apart.append(1e3 * (perf_counter() - begun))
        begun = perf_counter()
        engine.put([network.w.data])
        put.append(1e3 * (perf_counter() - begun))
    return Phases(here, there, driver, median(apart), median(put))


def waiting(part: Examples, seed: tuple[int, ...] | None) -> wg.ArrayLayer[tuple[()]]:
    """A loss that takes 100 ms and no processor, so that workers do not take each other's."""

    @wg.differentiable
    async def late(x: wg.ArrayLayer[tuple[()]]) -> wg.ArrayLayer[tuple[()]]:
        await x
        sleep(WORK)
        return x

    return late(wg.mean(wg.square(wg.lift(part) @ LIGHT.w - 1.0)))


def overhead(executor: Executor | None, shards: int) -> float:
    """Seconds of a step whose shards are computed at once, over those of the work of one shard."""
    begun = perf_counter()
    examples: Examples = np.ones((EXAMPLES, LIGHT.n), np.float32)
    wg.shards(waiting, examples, shards).train().run(executor)
    return (perf_counter() - begun) / WORK


def asked(quick: bool) -> list[Limit]:
    """What two workers take for two shards of 100 ms each, over 100 ms; quickly: that there are such steps."""
    if quick:
        overhead(Distributed(Local(2)), 2)
        print(f"ran: {NAME}", flush=True)
        return []
    with Cluster(workers=2) as cluster:
        executor = Distributed(cluster)
        for _ in range(5):
            overhead(executor, 2)
        values = [overhead(executor, 2) for _ in range(30)]
    found = Limit(NAME, f"{OURS}, a step of two shards of 100 ms", "times 100 ms", Spread.of(values), MOST)
    print(found.text(), flush=True)
    return [found]


def main(arguments: Sequence[str] | None = None, engine: Engine | None = None) -> None:
    """Print a line for each size; `engine` in place of a cluster that is started for it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=float, nargs="+", default=[0.3, 16.0, 128.0], metavar="MB")
    parser.add_argument("--steps", type=int, default=20)
    given = parser.parse_args(arguments)
    print(
        "MB of weights | one process | two workers | driver's CPU | taking apart | putting weights  (ms a step)"
    )
    if engine is not None:
        _print(engine, given.sizes, given.steps)
        return
    with Cluster(workers=2) as cluster:
        _print(cluster.engine, given.sizes, given.steps)


def _print(engine: Engine, sizes: Sequence[float], steps: int) -> None:
    for size in sizes:
        print(f"{size:13g} | " + " | ".join(f"{x:.2f}" for x in phases(engine, size, steps)), flush=True)


if __name__ == "__main__":
    main()
