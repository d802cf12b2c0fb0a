"""Tables 2 and 3 of "Monadic Deep Learning" again: steps a second of 1, 2 and 4 columns, by threads.

    python -m benchmarks.paper                 # a minute or two; other work on the machine is said, not waited for
    python -m benchmarks.paper --rounds 3      # a look

One table has all fine heads a step, the other skips all but one. Each number of threads takes slices of wall time in
turn, in one process with one thread of BLAS, and a figure is the median over the rounds; the last column is the median
of the ratios of each round. The load of the machine stands below: on busy cores the ratio says how threads share them,
and no more. `python -m benchmarks 'columns-*'` compares the same networks with other libraries on idle cores.

Knows: which networks and numbers of threads the tables have.
Refuses to know: how a step computes.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from functools import partial
from itertools import cycle
from statistics import median
from time import perf_counter

from benchmarks.columns_ours import Ours
from benchmarks.network import Network
from wengert.arrays.pools import called_on_one_blas_thread
from wengert.run import Parallel, Sequential

COLUMNS = (1, 2, 4)
THREADS = (1, 2, 4)
SLICE = 0.1  # seconds
WARM = 40  # steps: by then `Parallel` has its plan, has timed it, and has tried it in tasks and in a line


def stepper(network: Network, threads: int) -> Callable[[], float]:
    """A function that trains the network one step further."""
    model = Ours(network, Sequential() if threads == 1 else Parallel(threads=threads))
    batches = cycle([model.given(batch) for batch in network.batches()])
    return lambda: model.step(next(batches))


def rate(step: Callable[[], float], seconds: float) -> float:
    """Steps a second, over a slice of time."""
    begun, steps = perf_counter(), 0
    while (passed := perf_counter() - begun) < seconds or not steps:
        step()
        steps += 1
    return steps / passed


def row(
    network: Network, threads: Sequence[int], rounds: int, warm: int, seconds: float
) -> list[list[float]]:
    """For each number of threads the rates of all rounds, which go round."""
    steps = [stepper(network, n) for n in threads]
    for step in steps:
        for _ in range(warm):
            step()
    rates: list[list[float]] = [[] for _ in steps]
    for _ in range(rounds):
        for found, step in zip(rates, steps, strict=True):
            found.append(rate(step, seconds))
    return rates


def table(skip: bool, rounds: int, warm: int = WARM, seconds: float = SLICE) -> str:
    """One table as text, in steps a second."""
    title = "one of 20 fine heads a step" if skip else "all 20 fine heads a step"
    lines = [title, "columns" + "".join(f"{f'{n} threads':>12}" for n in THREADS) + f"{'2 over 1':>12}"]
    for columns in COLUMNS:
        rates = row(Network(columns, skip), THREADS, rounds, warm, seconds)
        gain = median(two / one for one, two, *_ in zip(*rates, strict=True))
        lines.append(f"{columns:7}" + "".join(f"{median(found):12.1f}" for found in rates) + f"{gain:12.2f}")
    return "\n".join(lines)


def main() -> None:
    """Print both tables, and how busy the machine was."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    for skip in (False, True):
        print(called_on_one_blas_thread(partial(table, skip, rounds)), end="\n\n")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    print(f"{cores} cores; load of the last minute: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
