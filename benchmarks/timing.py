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
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from select import select
from statistics import median
from tempfile import TemporaryDirectory
from typing import Self

from benchmarks import quiet
from benchmarks.slices import THREADS
from benchmarks.workload import Variant, Workload

ROOT = Path(__file__).resolve().parent.parent
PATIENCE = 300.0  # seconds until a variant has compiled what it compiles and made its warm steps


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
    """Seconds a step of each variant, in each round; who has been left out, and why."""

    rounds: dict[str, list[float]]
    left_out: dict[str, str] = field(default_factory=dict)

    def seconds(self, variant: str) -> Spread:
        return Spread.of(self.rounds[variant])

    def ratio(self, ours: str, theirs: str) -> Spread:
        """Ours over theirs, round by round: lower is better."""
        return Spread.of([a / b for a, b in zip(self.rounds[ours], self.rounds[theirs], strict=True)])


def environment(threads: int = 1) -> dict[str, str]:
    """So many threads in every pool, and this checkout's package before an installed one."""
    paths = [str(ROOT), str(ROOT / "src"), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    path = os.pathsep.join(dict.fromkeys(filter(None, paths)))
    return {**os.environ, **dict.fromkeys(THREADS, str(threads)), "PYTHONPATH": path}


def keeping_bytecode(folder: Path) -> dict[str, str]:
    """Bytecode is kept, as it is between imports everywhere, even where the environment forbids it."""
    return {**environment(), "PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(folder)}


class Process:
    """A variant that waits for its turn."""

    def __init__(self, workload: Workload, variant: Variant) -> None:
        self.variant = variant
        self.child = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.slices", workload.name, variant.name, str(workload.settles)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(variant.threads),
            cwd=ROOT,
        )
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        self.input, self.output = self.child.stdin, self.child.stdout

    def answers(self, seconds: float) -> bool:
        """Whether it says something within so many seconds."""
        return bool(select([self.output], [], [], seconds)[0])

    def line(self) -> str:
        line = self.output.readline()
        if not line:
            raise RuntimeError(
                f"the process of {self.variant.name!r} ended with status {self.child.wait()}; see above"
            )
        return line

    def slice(self, seconds: float) -> float:
        """Seconds a step, of a slice."""
        self.input.write(f"{seconds}\n")
        self.input.flush()
        steps, passed = self.line().split()
        return float(passed) / int(steps)

    def end(self) -> None:
        """Ask it to end; kill it if it still computes what nobody waits for."""
        self.input.close()
        try:
            self.child.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
        self.output.close()


def measure(
    workload: Workload, variants: Sequence[str], rounds: int, seconds: float, patience: float = PATIENCE
) -> Times:
    """All variants in turn, `rounds` times; the first turn of each is not counted."""
    if workload.cores > 1:
        quiet.wait(workload.cores)  # or nothing has to be made
    with ExitStack() as stack:
        processes = []
        losses: dict[str, float] = {}
        left_out: dict[str, str] = {}
        for name in variants:
            process = Process(workload, workload.variant(name))
            stack.callback(process.end)
            if process.answers(patience):
                losses[name] = float(process.line())
                processes.append(process)
            else:
                left_out[name] = f"gave no answer within {patience:g} s"
        left_out |= workload.wrong(losses)
        processes = [process for process in processes if process.variant.name not in left_out]
        times: dict[str, list[float]] = {process.variant.name: [] for process in processes}
        for turn in range(min(rounds, workload.rounds or rounds) + 1):
            for process in processes:
                if workload.cores > 1:
                    quiet.wait(workload.cores)
                passed = process.slice(seconds)
                if turn:
                    times[process.variant.name].append(passed)
    return Times(times, left_out)


def measure_imports(modules: Sequence[str], rounds: int) -> Times:
    """CPU seconds of a new interpreter that imports a module and ends; "" imports nothing."""
    times: dict[str, list[float]] = {module: [] for module in modules}
    with TemporaryDirectory() as compiled:
        kept = keeping_bytecode(Path(compiled))
        for turn in range(rounds + 1):
            for module in modules:
                before = children_seconds()
                code = f"import {module}" if module else ""
                subprocess.run([sys.executable, "-c", code], check=True, env=kept, cwd=ROOT)
                if turn:  # the first compiles
                    times[module].append(children_seconds() - before)
    return Times(times)


def children_seconds() -> float:
    """CPU seconds of all processes that were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
