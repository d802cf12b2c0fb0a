"""`python -m wengert COMMAND`: the commands for a shell.

Knows: their names; how a script or a module becomes the main program under `profile`, with its arguments, so that one
which fails or exits is shown too, and ends as it would have without a profile.
Refuses to know: what is measured, and what `doctor` looks at.
"""

from __future__ import annotations

import runpy
import sys
from argparse import REMAINDER, ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from wengert import check, doctor
from wengert.profiling.measuring import profile
from wengert.profiling.programs import ProgramTimes
from wengert.version import __version__

_MOST_PAGES: Final = 5


def _profiled(arguments: list[str]) -> int:
    """Run a program under a profile; 0 unless it ends otherwise."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if not options.module and not Path(options.program).exists():
        parser.error(f"there is no file {options.program!r}; for a module write -m {options.program}")
    if options.trace is not None:
        try:
            options.trace.open(
                "a"
            ).close()  # lest the program has run when it turns out that nothing can be written
        except OSError as error:
            print(
                f"python -m wengert profile: cannot write {options.trace}: {error.strerror}", file=sys.stderr
            )
            return 2
    with profile(compiled=options.compiled, program=options.pages) as measured:
        try:
            _run(options)
        finally:
            if options.pages:
                print(_pages(measured.programs), file=sys.stderr)
            print(measured.table(options.rows), file=sys.stderr)
            if options.trace is not None:
                measured.trace(options.trace)
                print(
                    f"trace: {options.trace}, for https://ui.perfetto.dev or chrome://tracing",
                    file=sys.stderr,
                )
    return 0


def _pages(programs: Sequence[ProgramTimes]) -> str:
    """The programs that took longest, each as a page."""
    pages = [f"{page}\n" for page in programs[:_MOST_PAGES]]
    if len(programs) > _MOST_PAGES:
        pages.append(f"... and {len(programs) - _MOST_PAGES} programs that took less time\n")
    return "\n".join(pages) or "No structure came back often enough to have a program.\n"


def _parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="python -m wengert profile",
        usage="%(prog)s [--trace FILE] [--compiled] [--program] [--rows N] SCRIPT|-m MODULE [ARGS ...]",
        description="Run a program; then show on the standard error where the time of its runs went, by operation and "
        "line. What follows SCRIPT or MODULE is the program's.",
    )
    parser.add_argument(
        "--trace", type=Path, metavar="FILE", help="write a trace for chrome://tracing or Perfetto"
    )
    parser.add_argument("--compiled", action="store_true", help="let plans run, and show each as one row")
    parser.add_argument(
        "--program",
        dest="pages",
        action="store_true",
        help="show the programs of structures that came back, with the time of each equation",
    )
    parser.add_argument(
        "--rows", type=int, default=30, metavar="N", help="how many rows to show; 30 by itself"
    )
    parser.add_argument("-m", dest="module", action="store_true", help="the program is a module")
    parser.add_argument("program", metavar="SCRIPT")
    parser.add_argument("arguments", nargs=REMAINDER, metavar="ARGS")
    return parser


def _run(options: Namespace) -> None:
    sys.argv = [options.program, *options.arguments]
    if options.module:
        runpy.run_module(options.program, run_name="__main__", alter_sys=True)
    else:
        # as Python does; before, it was the present folder
        sys.path[0] = str(Path(options.program).resolve().parent)
        runpy.run_path(options.program, run_name="__main__")


COMMANDS: Final = {
    "check": (check.main, "call a model on inputs whose sizes have names; show shapes and what is wrong"),
    "doctor": (doctor.main, "show what is installed here, and what of it is wrong"),
    "profile": (_profiled, "run a program and show where the time of its runs goes"),
}


def main(arguments: list[str]) -> int:
    """Run one command; the exit status."""
    if arguments and arguments[0] in COMMANDS:
        run, _ = COMMANDS[arguments[0]]
        return run(arguments[1:])
    if arguments == ["--version"]:
        print(f"wengert {__version__}")
        return 0
    asked_for_help = arguments in ([], ["-h"], ["--help"])
    out = sys.stdout if asked_for_help else sys.stderr
    if not asked_for_help:
        print(f"python -m wengert: there is no command {arguments[0]!r}", file=out)
    print("usage: python -m wengert COMMAND ... | --version", file=out)
    for command, (_, what) in COMMANDS.items():
        print(f"  {command:8} {what}", file=out)
    return 0 if asked_for_help else 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
