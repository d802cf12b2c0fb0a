"""`python -m benchmarks [NAME ...]`, in the root of a checkout: ratios of times, ours over theirs.

    pip install -e '.[benchmarks]'
    python -m benchmarks                            # everything, about an hour and a half
    python -m benchmarks scalar-chain 'columns-1*'  # these only; patterns as the shell's
    python -m benchmarks --json out.json --plot out.png   # the figures as a file and as a picture, too
    python -m benchmarks 'net-*' memory --page docs/results.md   # the page of results, with its picture
    python -m benchmarks sst --sst PATH             # trees of sentences, from the folder of the treebank's train.txt
    python -m benchmarks --quick                    # every step a few times, untimed: what the tests run

Every variant has a process of its own, with one thread and on one core; slices of CPU time go round, and a
figure is the median of the ratios of all rounds, with the least and the greatest. `...-two-cores` takes the
wall's time, and only while both cores are idle before each slice. A peer that is not installed, does not answer
or computes something else is left out, with the reason. Before `columns-...` are timed, our weights and those of
the versions by hand have to agree with plain numpy's after 200 steps; and before `trees-...`, `table-1-...` and
`sst`, the losses of 18 steps; before `net-...`, networks as people train them beside PyTorch's fused optimizers, those
of 4. `port-...` are public programs beside their references, of which `benchmarks.ports` makes a page.
`bookkeeping` has what batching costs besides computing, a node; `memory` reads the peak
and the growth of a process, `memory-of-plans` the peak of the step that makes a plan;
`standing-still` has the longest step on the way to a plan; `shards` the overhead of two workers; `checking` times mypy
with and without the plugin, and first checks that the plugin finds something.

Knows: the command line, and in which order things are said.
Refuses to know: how anything is measured.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from fnmatch import fnmatch
from importlib.util import find_spec
from pathlib import Path

from benchmarks import (
    bookkeeping,
    checking,
    distributed,
    memory,
    memory_of_plans,
    plot,
    report,
    results,
    standing,
)
from benchmarks.quiet import NeverQuiet
from benchmarks.registry import WORKLOADS
from benchmarks.report import Found, Limit, Line
from benchmarks.sentiment import FOLDER
from benchmarks.timing import environment, measure, measure_imports
from benchmarks.workload import OURS, Workload, warmed

MEMORY, IMPORT, CHECKING = "memory", "import", "checking"
NUMPY, NOTHING = "numpy", ""
PEERS = ("torch", "jax", "autograd")
QUICK = 10  # steps of each variant, untimed: plans are made after 8
MOST_MS = 50  # that importing Wengert may take on top of numpy


def known() -> list[str]:
    """The names of everything that can be measured."""
    return [
        *WORKLOADS,
        bookkeeping.NAME,
        MEMORY,
        memory_of_plans.NAME,
        standing.NAME,
        distributed.NAME,
        IMPORT,
        CHECKING,
    ]


def arguments(given: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="ratios of times, ours over theirs"
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(known())}; or a pattern")
    parser.add_argument("--rounds", type=int, default=7, help="turns of each variant (default 7)")
    parser.add_argument("--slice", type=float, default=0.2, help="CPU seconds of a turn (default 0.2)")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--plot", type=Path, help="draw the ratios into this file")
    parser.add_argument("--page", type=Path, help="write the page of results, with its picture beside it")
    parser.add_argument("--sst", type=Path, help=f"the Sentiment Treebank's folder; else {FOLDER} has it")
    parser.add_argument("--quick", action="store_true", help="every step a few times, untimed")
    options = parser.parse_args(given)
    unknown = [name for name in options.names if not any(fnmatch(each, name) for each in known())]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; known: {', '.join(known())}")
    return options


def present(workload: Workload, left_out: dict[str, str]) -> list[str]:
    """The variants that can run here; why the others cannot is said once."""
    names = []
    for variant in workload.variants:
        reason = variant.missing()
        if reason is None:
            names.append(variant.name)
        elif variant.name not in left_out:
            say(variant.name, reason, left_out)
    return names


def say(name: str, reason: str, left_out: dict[str, str]) -> None:
    """Keep and print why something has been left out."""
    left_out[name] = reason
    print(f"left out: {name}: {reason}")


def quick(workload: Workload, left_out: dict[str, str], slow: list[str]) -> None:
    """Some of every variant's warm steps; of those that take long to begin the first only, which `slow` remembers."""
    workload = workload.small or workload
    losses = {}
    for name in present(workload, left_out):
        variant = workload.variant(name)
        if variant.slow and slow:
            print(f"not run: {workload.name}: {name}: takes long to begin, and {slow[0]} has run")
            continue
        if variant.slow:
            slow.append(f"{workload.name}: {name}")
        losses[name] = warmed(variant.make(), min(workload.warm, QUICK))
        print(f"ran: {workload.name}: {name}", flush=True)
    for name, reason in workload.wrong(losses).items():
        say(f"{workload.name}: {name}", reason, left_out)


def timed(
    workload: Workload, left_out: dict[str, str], rounds: int, seconds: float
) -> Sequence[Line | Limit]:
    """All variants side by side, and what was found."""
    reason = workload.absent() if workload.absent is not None else None
    if reason is not None:
        say(workload.name, reason, left_out)
        return []
    print(f"{workload.name}: {workload.what}", flush=True)
    try:
        times = measure(workload, present(workload, left_out), rounds, seconds)
    except NeverQuiet as busy:
        say(workload.name, str(busy), left_out)
        return []
    for name, reason in times.left_out.items():
        say(f"{workload.name}: {name}", reason, left_out)
    lines, limits = report.lines(workload, times), report.limits(workload, times)
    print(
        "\n".join([*([report.table(lines)] if lines else []), *(limit.text() for limit in limits)]),
        flush=True,
    )
    return [*lines, *limits]


def timed_imports(rounds: int) -> Sequence[Line | Limit]:
    """What importing takes."""
    peers = [name for name in PEERS if find_spec(name) is not None]
    lines = report.import_lines(measure_imports([OURS, NUMPY, NOTHING, *peers], rounds), NOTHING)
    limits = (report.import_limit(line, MOST_MS) for line in lines if line.peer == NUMPY)
    found: Found = [*lines, *limits]
    print("import: CPU time of a new interpreter, less that of one that imports nothing")
    print("\n".join(x.text() for x in found), flush=True)
    return found


def one(
    name: str, options: argparse.Namespace, left_out: dict[str, str], slow: list[str]
) -> Sequence[Line | Limit]:
    """Whatever has that name."""
    if name == bookkeeping.NAME:
        return bookkeeping.asked(options.quick)
    if name == MEMORY:
        return memory.asked(options.quick)
    if name == memory_of_plans.NAME:
        return memory_of_plans.asked(options.quick)
    if name == standing.NAME:
        return standing.asked(options.quick)
    if name == distributed.NAME:
        return distributed.asked(options.quick)
    if name == IMPORT:
        return timed_imports(1 if options.quick else max(options.rounds, 5))
    if name == CHECKING:
        if options.quick:
            checking.quick()
            return []
        return checking.timed(min(options.rounds, 3))  # a round takes half a minute
    workload = WORKLOADS[name]
    check = (options.quick and workload.quick_check) or workload.check
    if check is not None:
        print(check(), flush=True)
    if options.quick:
        quick(workload, left_out, slow)
        return []
    return timed(workload, left_out, options.rounds, options.slice)


def main(given: list[str] | None = None) -> None:
    options = arguments(given)
    if options.sst is not None:
        os.environ[FOLDER] = str(options.sst.resolve())  # the processes of variants read it, too
    left_out: dict[str, str] = {}
    slow: list[str] = []
    found: Found = []
    patterns = options.names or ["*"]
    for name in known():
        if any(fnmatch(name, pattern) for pattern in patterns):
            found += one(name, options, left_out, slow)
    figures = report.as_json(found, left_out)
    if not options.quick:
        print(report.summary(found))
    if options.json is not None:
        options.json.write_text(json.dumps(figures, indent=2) + "\n")
    if options.plot is not None:
        plot.draw(figures, options.plot)
    if options.page is not None:
        results.write(figures, options.page)


if __name__ == "__main__":
    if environment() == dict(os.environ):
        main()
    else:  # pools take their number of threads when they are loaded, which they have been by now
        again = [sys.executable, "-m", "benchmarks", *sys.argv[1:]]
        raise SystemExit(subprocess.run(again, env=environment()).returncode)
