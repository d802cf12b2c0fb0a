"""Are so many cores idle? Two threads are compared only where both have a core to themselves.

Knows: how Linux counts the idle time of all cores.
Refuses to know: who keeps them busy.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

STAT = Path("/proc/stat")
LOOK = 0.1  # seconds; the counters step by 0.01
SPARE = 0.2  # of a core, which may be busy: whoever looks takes time, too
PATIENCE = 30.0


class NeverQuiet(Exception):
    """Others keep the machine busy."""


def idle_cores(seconds: float = LOOK) -> float:
    """How many cores were idle in the next `seconds`, on average."""
    before = _counters()
    time.sleep(seconds)
    passed = [after - earlier for after, earlier in zip(_counters(), before, strict=True)]
    return (os.cpu_count() or 1) * (passed[3] + passed[4]) / max(sum(passed), 1)  # idle, waiting for a disk


def wait(cores: int, patience: float = PATIENCE) -> None:
    """Return once so many cores are idle; NeverQuiet if that takes longer than `patience` seconds."""
    end = time.monotonic() + patience
    while (idle := idle_cores()) < cores - SPARE:
        if time.monotonic() > end:
            raise NeverQuiet(f"{cores} cores were not idle within {patience:g} s; {idle:.1f} were at the end")


def _counters() -> list[int]:
    """User, nice, system, idle, waiting, and more: hundredths of a second of all cores together."""
    return [int(field) for field in STAT.read_text().splitlines()[0].split()[1:9]]
