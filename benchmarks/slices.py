"""One variant in a process of its own, which takes a slice of time whenever it is told to.

Started by `timing` as `python -m benchmarks.slices WORKLOAD VARIANT`. Each line of the input is a number of
seconds; each line of the output has the steps that were made and the CPU seconds that they took.

Knows: that every BLAS pool and PyTorch have one thread, and that the process stays on one core.
Refuses to know: other variants, and what is made of the times.
"""

from __future__ import annotations

import os
import sys
import time
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from benchmarks.registry import WORKLOADS
from benchmarks.workload import Step

THREADS = (
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OMP_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


def one_core() -> None:
    """Stay on the last core that is allowed, where the system lets a process choose."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def check_threads() -> None:
    """Set every pool that has been loaded to one thread, whatever the environment did."""
    missing = [name for name in THREADS if os.environ.get(name) != "1"]
    if missing:
        raise RuntimeError(f"set {', '.join(missing)} to 1 before the process starts")
    if find_spec("threadpoolctl") is not None:
        pools: Any = import_module("threadpoolctl")  # Any: optional, and without types
        pools.threadpool_limits(limits=1)


def take(step: Step, seconds: float) -> tuple[int, float]:
    """Make steps until `seconds` of CPU time have passed; how many, and how long they took."""
    steps, start = 0, time.process_time()
    while True:
        step()
        steps += 1
        passed = time.process_time() - start
        if passed >= seconds:
            return steps, passed


def main() -> None:
    name, variant = sys.argv[1:]
    one_core()
    step = WORKLOADS[name].variant(variant).make()
    step()  # lazily loaded parts, and caches
    check_threads()
    print("ready", flush=True)
    for line in sys.stdin:
        print(*take(step, float(line)), flush=True)


if __name__ == "__main__":
    main()
