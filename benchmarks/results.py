"""The page of results: `python -m benchmarks.results figures.json ... docs/results.md`, or `--page` of the benchmarks.

A table of ratios, the picture of them beside the page, limits such as memory, and why the slower ones are slower.
Of several files, such as those of two halves of the workloads, a later one has the last word.

Knows: how figures become a page, and what profiles have shown of what is slower.
Refuses to know: how anything was measured.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks import plot
from benchmarks.nets import NUMPY
from benchmarks.registry import WORKLOADS
from benchmarks.report import PACKAGES
from benchmarks.workload import OURS

Figure = Mapping[str, Any]  # Any: a line or a limit of the figures, as JSON has it
PICTURES: Final = "pictures"  # the folder beside the page
UNKNOWN: Final = "no profile has been read yet"
IN_PASSES: Final = "numpy looks at arrays once for each operation, where loops of C join several"

# By profiles of the steps' lines in CPU time, one thread: what a reason says has been measured.
REASONS: Final[Mapping[str, str]] = {
    "net-cnn": (
        "convolutions are 55 of 100 parts of a step: images have 16 x 14 x 14 numbers, and OpenBLAS multiplies what "
        "windows see at 28 to 45 GF/s; 37 parts look for the greatest of four and share its delta, in lines of 14"
    ),
    "net-conv": (
        "products of matrices are four fifths of a step, at 60 to 70 GF/s where a large square has 110: a kernel of 64 "
        "rows does not pay for the order that OpenBLAS gives each block. oneDNN has 85 to 100 on the same core"
    ),
    "net-lstm": (
        "three products of all steps are 16 of 36 ms, at 190 to 215 GF/s; the 127 products from step to step another "
        "14, at 130: BLAS orders the whole matrix anew in each. Multiplied the other way round, with the matrix "
        "transposed once, they took 0.75 to 0.85 of that in a trial, which no plan does yet"
    ),
    "net-transformer": (
        "six tenths of a step are products of matrices, as fast as PyTorch's; softmax, layer norm and GELU take "
        "several passes over their arrays"
    ),
    "net-predict-small": (
        "of 10.8 us building the expression takes 2.4, finding its plan 1.4 and computing 1.8; the rest is what a run "
        "is: a snapshot of the weights, inputs, a frame of buffers, the answer"
    ),
    "net-predict-large": "as the small one; computing takes 5.7 of 15.5 us, as PyTorch does",
}


def write(figures: Mapping[str, Any], page: Path) -> None:  # Any: as `report.as_json` gives it
    """Write the page, and its picture into the folder beside it."""
    picture = page.parent / PICTURES / f"{page.stem}.svg"
    picture.parent.mkdir(exist_ok=True)
    plot.draw(figures, picture)
    page.write_text(text(figures, f"{PICTURES}/{picture.name}"))


def text(figures: Mapping[str, Any], picture: str) -> str:  # Any: as above
    """The page."""
    lines, limits = figures["lines"], figures["limits"]
    parts = [
        "# Results",
        "Written by the benchmarks themselves (`python -m benchmarks --page`, or `python -m benchmarks.results` of "
        "what `--json` has kept). Ratios are times of ours over those of the peer: below 1 ours is faster. One thread, "
        "CPU time, the median of interleaved rounds with the least and the greatest; what the two compute has been "
        "compared before.",
        machine(figures["machine"]),
        f"![Ratios of times by workload and peer]({picture})",
        table(["workload", "", "ours", "peer's", "ratio", "bar"], map(_ratio, lines)),
        table(["measured", "found", "at most"], map(_limit, limits)) if limits else "",
        "## What is slower, and why",
        "\n".join(_reasons(lines)) or "Nothing in this run.",
        "\n".join(f"Left out: {name}: {reason}." for name, reason in figures["left out"].items()),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def joined(several: Sequence[Mapping[str, Any]]) -> dict[str, Any]:  # Any: as `report.as_json` gives them
    """The figures of several runs as those of one; what was measured twice is that of the later run.

    >>> joined([{"lines": [], "limits": [], "left out": {"jax": "absent"}, "machine": {}}] * 2)
    {'lines': [], 'limits': [], 'left out': {'jax': 'absent'}, 'machine': {}}
    """
    lines = {(x["workload"], x["variant"], x["peer"]): x for figures in several for x in figures["lines"]}
    limits = {(x["workload"], x["what"]): x for figures in several for x in figures["limits"]}
    left_out = {name: reason for figures in several for name, reason in figures["left out"].items()}
    return {
        "lines": [*lines.values()],
        "limits": [*limits.values()],
        "left out": left_out,
        "machine": several[-1]["machine"],
    }


def machine(of: Mapping[str, str]) -> str:
    """The processor and the versions that figures depend on."""
    packages = [f"{name} {of[name]}" for name in PACKAGES if of.get(name, "not installed") != "not installed"]
    shared = "on a shared machine of" if float(of["load"]) > int(of["cores"]) else "on"
    where = f"Python {of['python']} {shared} {of['cores']} cores, {of['processor']}"
    return f"{where}; {', '.join(packages)}."


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))


def _ratio(line: Figure) -> list[str]:
    ratio, unit, name = line["ratio"], line["unit"], line["workload"]
    what = WORKLOADS[name].what if name in WORKLOADS else ""
    times = [f"{line[who]['median']:.4g} {unit}" for who in ("ours", "theirs")]
    found = f"{ratio['median']:.2f} ({ratio['low']:.2f} to {ratio['high']:.2f})"
    return [
        f"{name}: {line['variant']}",
        what,
        times[0],
        f"{line['peer']}: {times[1]}",
        found,
        _bar(line["bar"], line["met"]),
    ]


def _limit(limit: Figure) -> list[str]:
    value = f"{limit['value']['median']:.4g} {limit['unit']}"
    return [f"{limit['workload']}: {limit['what']}", value, _bar(limit["most"], limit["met"])]


def _bar(most: float | None, met: bool | None) -> str:
    return "" if most is None else f"{most:g}, {'met' if met else '**missed**'}"


def _reasons(lines: Iterable[Figure]) -> list[str]:
    """A line for each variant that takes longer than a peer."""
    slower = {(line["workload"], line["variant"]): line for line in lines if line["ratio"]["median"] > 1}
    return [
        f"- `{name}{f': {variant}' * (variant != OURS)}`, {line['ratio']['median']:.2f} of {line['peer']}: "
        f"{IN_PASSES if variant.endswith(NUMPY) else REASONS.get(name, UNKNOWN)}."
        for (name, variant), line in slower.items()
    ]


if __name__ == "__main__":
    *files, page = map(Path, sys.argv[1:])
    write(joined([json.loads(file.read_text()) for file in files]), page)
