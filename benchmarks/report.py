"""What has been measured, as lines to read and as JSON to keep.

Knows: ratios, bars, and what has to be said of the machine.
Refuses to know: how a time was taken.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version

from benchmarks.timing import Spread, Times
from benchmarks.workload import OURS, Workload

PACKAGES = ("wengert", "numpy", "torch", "autograd")


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

    @property
    def met(self) -> bool | None:
        return None if self.bar is None else self.ratio.median <= self.bar

    def as_json(self) -> dict[str, object]:
        return {**asdict(self), "met": self.met}

    def text(self) -> str:
        said = "" if self.bar is None else f"   bar {self.bar:g}: {'met' if self.met else 'MISSED'}"
        return (
            f"  {self.ours.median:9.3f} : {self.theirs.median:9.3f} {self.unit}   "
            f"{self.ratio.median:7.3f} ({self.ratio.low:.3f} to {self.ratio.high:.3f}) of {self.peer}{said}"
        )


def lines(workload: Workload, times: Times) -> list[Line]:
    """One line a peer that was measured."""
    scale = 1 / workload.seconds_in_unit / workload.parts
    ours = _scaled(times.seconds(OURS), scale)
    made = []
    for variant in workload.variants:
        if variant.name == OURS or variant.name not in times.rounds:
            continue
        theirs, ratio = _scaled(times.seconds(variant.name), scale), times.ratio(OURS, variant.name)
        bar = workload.bars.get(variant.name)
        made.append(Line(workload.name, variant.name, workload.unit, ours, theirs, ratio, bar))
    return made


def import_lines(times: Times, bare: str, numpy: str) -> list[Line]:
    """What importing Wengert takes over an interpreter that imports nothing, against numpy."""

    def over(module: str) -> list[float]:
        pairs = zip(times.rounds[module], times.rounds[bare], strict=True)
        return [1e3 * (with_it - without) for with_it, without in pairs]

    ours, theirs = over(OURS), over(numpy)
    ratio = [a / b for a, b in zip(ours, theirs, strict=True)]
    return [Line("import", numpy, "ms", Spread.of(ours), Spread.of(theirs), Spread.of(ratio), None)]


def most(workload: Workload, times: Times) -> str:
    """Our own time beside the greatest that is accepted, or nothing."""
    if workload.most is None:
        return ""
    ours = times.seconds(OURS).median / workload.seconds_in_unit / workload.parts
    verdict = "met" if ours <= workload.most else "MISSED"
    return f"  {ours:9.3f} {workload.unit}, at most {workload.most:g}: {verdict}"


def machine() -> dict[str, str]:
    """What the figures depend on."""
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "system": platform.platform(),
        "cores": str(os.cpu_count()),
        **{package: _version(package) for package in PACKAGES},
    }


def as_json(found: Sequence[Line], left_out: Mapping[str, str]) -> dict[str, object]:
    """Everything, for a file."""
    return {"machine": machine(), "lines": [line.as_json() for line in found], "left out": dict(left_out)}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _scaled(spread: Spread, scale: float) -> Spread:
    return Spread(spread.median * scale, spread.low * scale, spread.high * scale)
