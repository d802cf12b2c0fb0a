"""How much memory a variant takes, and whether it takes more with every step.

Started by itself as `python -m benchmarks.memory WORKLOAD VARIANT STEPS`, a process for each variant: the peak of
the resident memory over what the imports left, and the growth from the warm steps to the end, with Python's
collector off and the heap trimmed before each reading.

Knows: how Linux counts the memory of a process, and the bars.
Refuses to know: what takes the memory.
"""

from __future__ import annotations

import ctypes
import gc
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.columns import AUTOGRAD, FUSED, LEAN, MODULES, STACKED
from benchmarks.overhead import DEEP, KEPT, REBUILT, TORCH
from benchmarks.registry import WORKLOADS
from benchmarks.report import Limit
from benchmarks.timing import ROOT, Spread, environment
from benchmarks.workload import BY_HAND, INTERPRETED, OURS, Step, warmed

STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
MB = 1e6
STEPS = 1000
PEAK, GROWTH = "peak over the imports", f"growth in {STEPS:,} steps"


@dataclass(frozen=True)
class Taken:
    """Bytes."""

    peak: float
    growth: float


@dataclass(frozen=True)
class Question:
    """What is asked of some variants of a workload: bars of ours, and one of its peak over that of `peer`."""

    workload: str
    variants: tuple[str, ...]
    steps: int
    unit: str
    bytes_in_unit: float
    peak: float | None  # the greatest that is accepted of ours
    growth: float | None  # the same; without it growth is not asked for
    peer: str = ""
    most: float = 1.0

    def limits(self, variant: str, taken: Taken) -> list[Limit]:
        """What was found, in lines."""
        ours = variant.startswith(OURS)
        found = [self._limit(variant, PEAK, taken.peak, self.peak if ours else None)]
        if self.growth is not None:
            found.append(self._limit(variant, GROWTH, taken.growth, self.growth if ours else None))
        return found

    def over(self, found: Mapping[str, Taken]) -> list[Limit]:
        """Peaks of ours over that of the peer, if it was there."""
        if self.peer not in found:
            return []
        theirs = found[self.peer].peak
        return [
            replace(
                self._limit(
                    name, f"{PEAK}, over {self.peer}'s", self.bytes_in_unit * taken.peak / theirs, self.most
                ),
                unit="times",
            )
            for name, taken in found.items()
            if name.startswith(OURS)
        ]

    def _limit(self, variant: str, what: str, found: float, most: float | None) -> Limit:
        value = found / self.bytes_in_unit
        where = f"memory: {self.workload}"
        return Limit(where, f"{variant}, {what}", self.unit, Spread(value, value, value), most)


QUESTIONS = (
    Question(
        "columns-4-no-skip",
        (OURS, INTERPRETED, FUSED, STACKED, LEAN, MODULES, AUTOGRAD),
        STEPS,
        "MB",
        MB,
        peak=33.0,
        growth=1.0,
    ),
    Question(
        "scalar-chain", (INTERPRETED, REBUILT, KEPT, TORCH, AUTOGRAD), STEPS, "MB", MB, peak=None, growth=1.0
    ),
    Question("deep-chain", (OURS, TORCH, BY_HAND), 0, "bytes a node", float(DEEP), peak=400.0, growth=None),
    *(
        Question(f"net-{name}", (OURS, TORCH), 40, "MB", MB, peak=None, growth=None, peer=TORCH)
        for name in ("mlp", "vae", "varying", "cnn", "conv", "lstm", "transformer")
    ),
)


def resident(field: str = "VmRSS") -> int:
    """Bytes of this process that are in memory; `VmHWM` is the most that ever were."""
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(f"{field}:"))
    return 1024 * int(line.split()[1])


def trimmed() -> int:
    """What is resident when the allocator has given back what it keeps."""
    library: Any = ctypes.CDLL(None)  # Any: a C library
    trim: Callable[[int], int] | None = getattr(library, "malloc_trim", None)
    if trim is not None:
        trim(0)
    return resident()


def taken(make: Callable[[], Step], warm: int, steps: int) -> Taken:
    """The peak of making and running a step, and what `steps` more leave behind."""
    gc.collect()
    gc.disable()
    try:
        before = trimmed()
        CLEAR.write_text("5")  # the peak starts anew
        step = make()
        warmed(step, warm)
        settled = trimmed()
        for _ in range(steps):
            step()
        growth = trimmed() - settled
        return Taken(resident("VmHWM") - before, growth)
    finally:
        gc.enable()


def measured(workload: str, variant: str, steps: int) -> Taken:
    """The same in a process of its own, so that nobody's imports and leftovers count."""
    command = [sys.executable, "-m", "benchmarks.memory", workload, variant, str(steps)]
    threads = WORKLOADS[workload].variant(variant).threads
    done = subprocess.run(
        command, stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT, env=environment(threads)
    )
    peak, growth = map(float, done.stdout.split())
    return Taken(peak, growth)


def asked(quick: bool) -> list[Limit]:
    """All questions, printed as they are answered; quickly: of those of growth the first variant, one step."""
    if not STATUS.exists():
        print("left out: memory: this system does not say how much a process takes")
        return []
    found = []
    for question in QUESTIONS:
        workload = WORKLOADS[question.workload]
        if quick and question.growth is None:
            continue
        print(f"memory: {workload.name}: {workload.what}")
        takes = {}
        for name in question.variants[: 1 if quick else None]:
            if workload.variant(name).missing() is not None:
                continue
            bytes_taken = measured(workload.name, name, 1 if quick else question.steps)
            if quick:
                print(f"ran: memory: {workload.name}: {name}", flush=True)
                continue
            takes[name] = bytes_taken
            for limit in question.limits(name, bytes_taken):
                found.append(limit)
                print(limit.text(), flush=True)
        for limit in question.over(takes):
            found.append(limit)
            print(limit.text(), flush=True)
    return found


def main() -> None:
    name, chosen, steps = sys.argv[1:]
    workload = WORKLOADS[name]
    variant = workload.variant(chosen)
    for module in variant.needs:
        import_module(module)
    found = taken(variant.make, workload.warm, int(steps))
    print(found.peak, found.growth)


if __name__ == "__main__":
    main()
