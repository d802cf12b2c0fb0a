"""Times side by side: a process a variant, slices in turn, and ratios round by round.

Knows: that absolute times drift and that only ratios of neighbours in time can be trusted.
Refuses to know: what is timed.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Self

from benchmarks.slices import THREADS
from benchmarks.workload import Workload

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Spread:
    """A median, and between what it lies."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Self:
        """
        >>> Spread.of([3.0, 1.0, 2.0])
        Spread(median=2.0, low=1.0, high=3.0)
        """
        return cls(median(values), min(values), max(values))


@dataclass(frozen=True)
class Times:
    """Seconds a step of each variant, in each round."""

    rounds: dict[str, list[float]]

    def seconds(self, variant: str) -> Spread:
        return Spread.of(self.rounds[variant])

    def ratio(self, ours: str, theirs: str) -> Spread:
        """Ours over theirs, round by round: lower is better."""
        return Spread.of([a / b for a, b in zip(self.rounds[ours], self.rounds[theirs], strict=True)])


def environment() -> dict[str, str]:
    """One thread in every pool, and this checkout's package before an installed one."""
    paths = [str(ROOT), str(ROOT / "src"), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    path = os.pathsep.join(dict.fromkeys(filter(None, paths)))
    return {**os.environ, **dict.fromkeys(THREADS, "1"), "PYTHONPATH": path}


class Process:
    """A variant that waits for its turn."""

    def __init__(self, workload: str, variant: str) -> None:
        self.variant = variant
        self.child = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.slices", workload, variant],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(),
            cwd=ROOT,
        )

    def line(self) -> str:
        assert self.child.stdout is not None
        line = self.child.stdout.readline()
        if not line:
            raise RuntimeError(
                f"the process of {self.variant!r} ended with status {self.child.wait()}; see above"
            )
        return line

    def slice(self, seconds: float) -> float:
        """CPU seconds a step, of a slice."""
        assert self.child.stdin is not None
        self.child.stdin.write(f"{seconds}\n")
        self.child.stdin.flush()
        steps, passed = self.line().split()
        return float(passed) / int(steps)

    def end(self) -> None:
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        self.child.stdin.close()
        self.child.wait()
        self.child.stdout.close()


def measure(workload: Workload, variants: Sequence[str], rounds: int, seconds: float) -> Times:
    """All variants in turn, `rounds` times; the first turn of each is not counted."""
    processes = [Process(workload.name, variant) for variant in variants]
    try:
        for process in processes:
            process.line()
        for process in processes:
            process.slice(seconds)
        times: dict[str, list[float]] = {variant: [] for variant in variants}
        for _ in range(rounds):
            for process in processes:
                times[process.variant].append(process.slice(seconds))
    finally:
        for process in processes:
            process.end()
    return Times(times)


def measure_imports(modules: Sequence[str], rounds: int) -> Times:
    """CPU seconds of a new interpreter that imports a module and ends; "" imports nothing."""
    times: dict[str, list[float]] = {module: [] for module in modules}
    with TemporaryDirectory() as compiled:
        # Bytecode is kept, as it is between imports everywhere, even where the environment forbids it.
        kept = {**environment(), "PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": compiled}
        for turn in range(rounds + 1):
            for module in modules:
                before = _children()
                code = f"import {module}" if module else ""
                subprocess.run([sys.executable, "-c", code], check=True, env=kept, cwd=ROOT)
                if turn:  # the first compiles
                    times[module].append(_children() - before)
    return Times(times)


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
