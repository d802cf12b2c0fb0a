"""`python -m benchmarks [NAME ...]`, in the root of a checkout: ratios of times, ours over theirs.

    pip install -e '.[benchmarks]'
    python -m benchmarks                          # everything, about three minutes
    python -m benchmarks scalar-chain columns-1   # these only
    python -m benchmarks --json out.json          # the figures as a file, too
    python -m benchmarks --quick                  # every step once, untimed: what the tests run

Every variant has a process of its own, with one thread and on one core; slices of CPU time go round, and a
figure is the median of the ratios of all rounds, with the least and the greatest. A peer that is not
installed is left out, with the reason. `columns-N` first checks that it computes what numpy computes.

Knows: the command line, and in which order things are said.
Refuses to know: how anything is measured.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from benchmarks import report
from benchmarks.agreement import check_agreement
from benchmarks.registry import WORKLOADS
from benchmarks.timing import environment, measure, measure_imports
from benchmarks.workload import OURS, Workload

IMPORT = "import"
NUMPY, NOTHING = "numpy", ""
MOST_MS = 50  # that importing Wengert may take on top of numpy


def arguments(given: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="ratios of times, ours over theirs"
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join([*WORKLOADS, IMPORT])}")
    parser.add_argument("--rounds", type=int, default=7, help="turns of each variant (default 7)")
    parser.add_argument("--slice", type=float, default=0.2, help="CPU seconds of a turn (default 0.2)")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--quick", action="store_true", help="every step once, untimed")
    options = parser.parse_args(given)
    unknown = set(options.names) - {*WORKLOADS, IMPORT}
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join([*WORKLOADS, IMPORT])}")
    return options


def present(workload: Workload, left_out: dict[str, str]) -> list[str]:
    """The variants that can run here; why the others cannot is said once."""
    names = []
    for variant in workload.variants:
        reason = variant.missing()
        if reason is None:
            names.append(variant.name)
        elif variant.name not in left_out:
            left_out[variant.name] = reason
            print(f"left out: {variant.name}: {reason}")
    return names


def quick(workload: Workload, left_out: dict[str, str]) -> None:
    for name in present(workload, left_out):
        workload.variant(name).make()()
        print(f"ran: {workload.name}: {name}")


def timed(workload: Workload, left_out: dict[str, str], rounds: int, seconds: float) -> list[report.Line]:
    times = measure(workload, present(workload, left_out), rounds, seconds)
    found = report.lines(workload, times)
    print(f"{workload.name}: {workload.what}")
    for text in [report.most(workload, times), *(line.text() for line in found)]:
        if text:
            print(text)
    sys.stdout.flush()
    return found


def timed_imports(rounds: int) -> list[report.Line]:
    found = report.import_lines(measure_imports([OURS, NUMPY, NOTHING], rounds), NOTHING, NUMPY)
    print("import: CPU time of a new interpreter, less that of one that imports nothing")
    for line in found:
        more = line.ours.median - line.theirs.median
        verdict = "met" if more <= MOST_MS else "MISSED"
        print(f"{line.text()}\n  {more:9.3f} ms more than numpy alone, at most {MOST_MS}: {verdict}")
    return found


def main(given: list[str] | None = None) -> None:
    options = arguments(given)
    left_out: dict[str, str] = {}
    found: list[report.Line] = []
    chosen = options.names or [*WORKLOADS, IMPORT]
    for name in chosen:
        if name.startswith("columns"):
            print(check_agreement(int(name.rpartition("-")[2])))
        if name == IMPORT:
            found += timed_imports(1 if options.quick else max(options.rounds, 5))
        elif options.quick:
            quick(WORKLOADS[name], left_out)
        else:
            found += timed(WORKLOADS[name], left_out, options.rounds, options.slice)
    if options.json is not None:
        options.json.write_text(json.dumps(report.as_json(found, left_out), indent=2) + "\n")


if __name__ == "__main__":
    if environment() == dict(os.environ):
        main()
    else:  # pools take their number of threads when they are loaded, which they have been by now
        again = [sys.executable, "-m", "benchmarks", *sys.argv[1:]]
        raise SystemExit(subprocess.run(again, env=environment()).returncode)
