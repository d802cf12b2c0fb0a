"""One variant in a process of its own, which takes a slice of time whenever it is told to.

Started by `timing` as `python -m benchmarks.slices WORKLOAD VARIANT [SETTLES]`. The first line of the output is
the loss of the last warm step. Then each line of the input is a number of seconds; each line of the output has the
steps that were made and the seconds that they took: of the CPU on one core, of the wall on more.

Knows: that every pool of threads has as many as the variant wants, and that a process stays on its cores.
Refuses to know: other variants, and what is made of the times.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from benchmarks.registry import WORKLOADS
from benchmarks.workload import Step, warmed

THREADS = (
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OMP_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
Clock = Callable[[], float]


def one_core() -> None:
    """Stay on the last core that is allowed, where the system lets a process choose."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def check_threads(count: int) -> None:
    """Set every pool that has been loaded to so many threads, whatever the environment did."""
    missing = [name for name in THREADS if os.environ.get(name) != str(count)]
    if missing:
        raise RuntimeError(f"set {', '.join(missing)} to {count} before the process starts")
    if find_spec("threadpoolctl") is not None:
        pools: Any = import_module("threadpoolctl")  # Any: optional, and without types
        pools.threadpool_limits(limits=count)


def take(step: Step, seconds: float, clock: Clock) -> tuple[int, float]:
    """Make steps until `seconds` have passed; how many, and how long they took."""
    steps, start = 0, clock()
    while True:
        step()
        steps += 1
        passed = clock() - start
        if passed >= seconds:
            return steps, passed


def main() -> None:
    name, chosen, *given = sys.argv[1:]
    workload = WORKLOADS[name]
    settles = float(given[0]) if given else workload.settles
    variant = workload.variant(chosen)
    if workload.cores == 1:
        one_core()
    step = variant.make()
    clock = time.process_time if workload.cores == 1 else time.perf_counter
    begun = clock()
    loss = warmed(step, workload.warm)  # lazily loaded parts, caches
    if variant.ours and settles > clock() - begun:
        take(step, settles - (clock() - begun), clock)  # plans are made as soon as runs have paid for them
    gc.collect()
    gc.freeze()  # a workload's data is no garbage: a million tuples of trees take half a second to look at
    check_threads(variant.threads)
    print(loss, flush=True)
    for line in sys.stdin:
        print(*take(step, float(line), clock), flush=True)


if __name__ == "__main__":
    main()
