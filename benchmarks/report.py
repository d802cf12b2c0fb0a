"""What has been measured, as lines to read and as JSON to keep.

Knows: ratios, limits, bars, and what has to be said of the machine.
Refuses to know: how a time was taken.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks.timing import Spread, Times
from benchmarks.workload import OURS, Workload

PACKAGES = ("wengert", "numpy", "torch", "autograd", "jax", "jaxlib", "dyNET38")


@dataclass(frozen=True)
class Line:
    """One ratio and its bar, if it has one."""

    workload: str
    peer: str
    unit: str
    ours: Spread
    theirs: Spread
    ratio: Spread
    bar: float | None
    variant: str = OURS  # the one of ours

    @property
    def met(self) -> bool | None:
        return None if self.bar is None else self.ratio.median <= self.bar

    def as_json(self) -> dict[str, object]:
        return {**asdict(self), "met": self.met}

    def text(self) -> str:
        which = "" if self.variant == OURS else f"{self.variant}: "
        times = f"{self.ours.median:9.3f} : {self.theirs.median:9.3f} {self.unit}"
        return f"  {which}{times}   {self.ratio_text()} of {self.peer}{_verdict('bar', self.bar, self.met)}"

    def ratio_text(self) -> str:
        """The ratio and its range."""
        return f"{self.ratio.median:7.3f} ({self.ratio.low:.3f} to {self.ratio.high:.3f})"


@dataclass(frozen=True)
class Limit:
    """A figure that is no ratio, and the greatest that is accepted of ours."""

    workload: str
    what: str
    unit: str
    value: Spread
    most: float | None

    @property
    def met(self) -> bool | None:
        return None if self.most is None else self.value.median <= self.most

    def as_json(self) -> dict[str, object]:
        return {**asdict(self), "met": self.met}

    def text(self) -> str:
        return f"  {self.value.median:9.3f} {self.unit} {self.what}{_verdict('at most', self.most, self.met)}"


Found = list[Line | Limit]


def _verdict(what: str, bar: float | None, met: bool | None) -> str:
    return "" if bar is None else f", {what} {bar:.3g}: {'met' if met else 'MISSED'}"


def lines(workload: Workload, times: Times) -> list[Line]:
    """One line for each of ours and each peer that were measured."""
    made = []
    for ours, peer in workload.pairs(times.rounds):
        a, b = (_scaled(times.seconds(name), workload) for name in (ours, peer))
        bar = workload.bars.get((ours, peer))
        made.append(Line(workload.name, peer, workload.unit, a, b, times.ratio(ours, peer), bar, ours))
    return made


def limits(workload: Workload, times: Times) -> list[Limit]:
    """The times of ours beside the greatest that are accepted."""
    return [
        Limit(workload.name, ours, workload.unit, _scaled(times.seconds(ours), workload), most)
        for ours, most in workload.most.items()
        if ours in times.rounds
    ]


def table(found: Sequence[Line]) -> str:
    """A line a peer, with its time, and a column for each of ours."""
    peers = list(dict.fromkeys(line.peer for line in found))
    ours = {line.variant: line.ours.median for line in found}
    cells = {
        (line.peer, line.variant): line.ratio_text() + _verdict("bar", line.bar, line.met) for line in found
    }
    times = {line.peer: line.theirs.median for line in found}
    rows = [[found[0].unit, "", *(f"{name}: {time:.3f}" for name, time in ours.items())]]
    rows += [[peer, f"{times[peer]:9.3f}", *(cells.get((peer, name), "") for name in ours)] for peer in peers]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  " + "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def import_lines(times: Times, bare: str) -> list[Line]:
    """What importing Wengert takes over an interpreter that imports nothing, against the others."""

    def over(module: str) -> list[float]:
        pairs = zip(times.rounds[module], times.rounds[bare], strict=True)
        return [1e3 * (with_it - without) for with_it, without in pairs]

    ours, made = over(OURS), []
    for peer in [module for module in times.rounds if module not in (OURS, bare)]:
        theirs = over(peer)
        ratio = [a / b for a, b in zip(ours, theirs, strict=True)]
        made.append(Line("import", peer, "ms", Spread.of(ours), Spread.of(theirs), Spread.of(ratio), None))
    return made


def import_limit(line: Line, most: float) -> Limit:
    """How much more than numpy alone Wengert takes."""
    more = line.ours.median - line.theirs.median
    return Limit(line.workload, "over numpy alone", line.unit, Spread(more, more, more), most)


def machine() -> dict[str, str]:
    """What the figures depend on."""
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "processor": _processor(),
        "system": platform.platform(),
        "cores": str(os.cpu_count()),
        "load": f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "0",  # of the last minute
        **{package: _version(package) for package in PACKAGES},
    }


def _processor() -> str:
    """The name of the processor, where the system tells one."""
    listed = Path("/proc/cpuinfo")
    named = listed.read_text().partition("model name")[2] if listed.exists() else ""
    return named.partition("\n")[0].strip("\t :") or platform.processor() or platform.machine()


def as_json(found: Sequence[Line | Limit], left_out: Mapping[str, str]) -> dict[str, object]:
    """Everything, for a file."""
    return {
        "machine": machine(),
        "lines": [line.as_json() for line in found if isinstance(line, Line)],
        "limits": [limit.as_json() for limit in found if isinstance(limit, Limit)],
        "left out": dict(left_out),
    }


def summary(found: Sequence[Line | Limit]) -> str:
    """How many bars are met, and which are not."""
    missed = [f"  {x.workload}: {x.text().strip()}" for x in found if x.met is False]
    met = sum(x.met is True for x in found)
    return "\n".join([f"bars: {met} met, {len(missed)} missed", *missed])


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _scaled(spread: Spread, workload: Workload) -> Spread:
    scale = 1 / workload.seconds_in_unit / workload.parts
    return Spread(spread.median * scale, spread.low * scale, spread.high * scale)
