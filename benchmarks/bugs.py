"""`python -m benchmarks.bugs [NAME ...]`, in the root of a checkout: which mistakes are found, and by whom.

    pip install -e '.[test]'
    python -m benchmarks.bugs                           # all of typecheck/bugs/, half a minute
    python -m benchmarks.bugs forgotten_transpose       # this one only
    python -m benchmarks.bugs --messages                # with what mypy says, where the plugin is on

Every file there is a right program, and in its comments the wrong one. All four judges have to accept every
right one; a mistake is found where a judge refuses the wrong one on the line of the mistake, or on one that the
file names. What types cannot say is named at the end: mistakes that only the run finds, or nobody.

Knows: the command line, the table, and when the status is 1: a right program refused, or too few found.
Refuses to know: how programs are read and judged.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import judges, twins
from benchmarks.judges import Answers, Finding
from benchmarks.twins import Twin

SHARE = 0.95  # of the mistakes, found with the plugin before anything runs
PLUGIN, PLAIN, PYREFLY, RUN = JUDGES = ("with plugin", "mypy alone", "pyrefly", "run")


@dataclass(frozen=True)
class Verdict:
    """What the judges say of one pair of programs."""

    twin: Twin
    found: dict[str, Finding | None]
    false_alarms: list[str]

    def line(self, width: int) -> str:
        """A line of the table."""
        codes = [_code(self.found[judge]) for judge in (PLUGIN, PLAIN, PYREFLY)]
        raised = self.found[RUN]
        return "  ".join(
            [
                f"{self.twin.name:{width}}",
                *(f"{code:22}" for code in codes),
                raised.code if raised else "silent",
            ]
        )


def _code(finding: Finding | None) -> str:
    return "-" if finding is None else finding.code


def judged(chosen: Sequence[Twin], caches: Path | None = None) -> list[Verdict]:
    """Every judge asked once, for all programs together; mypy finds in `caches` what it has read of the library."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        for twin in chosen:
            (folder / f"right_{twin.name}.py").write_text(twin.right, encoding="utf-8")
            (folder / f"wrong_{twin.name}.py").write_text(twin.wrong, encoding="utf-8")
        answers: dict[str, Answers] = {
            RUN: judges.run(folder),  # first, for the folder has nothing else in it yet
            PLUGIN: judges.mypy(folder, True, caches or folder),
            PLAIN: judges.mypy(folder, False, caches or folder),
            PYREFLY: judges.pyrefly(folder),
        }
    return [_verdict(twin, answers) for twin in chosen]


def _verdict(twin: Twin, answers: dict[str, Answers]) -> Verdict:
    found, false_alarms = {}, []
    for judge in JUDGES:
        said = answers[judge].get(f"wrong_{twin.name}.py", ())
        here = [x for x in said if judge == RUN or x.line in twin.lines]
        # mypy puts it before the error that it follows from, for it goes by columns
        found[judge] = min(here, key=lambda x: x.code == "no-any-return", default=None)
        for x in answers[judge].get(f"right_{twin.name}.py", ()):
            false_alarms.append(
                f"{twin.name}:{x.line}: the right program is refused, {judge}: [{x.code}] {x.text}"
            )
    return Verdict(twin, found, false_alarms)


def report(verdicts: Sequence[Verdict], messages: bool = False) -> str:
    """The table, the totals, and every right program that was refused."""
    width = max(len(v.twin.name) for v in verdicts)
    text = ["  ".join([f"{'mistake':{width}}", *(f"{judge:22}" for judge in JUDGES[:-1]), RUN])]
    for v in verdicts:
        text.append(v.line(width))
        message = v.found[PLUGIN]
        if messages:
            text += [f"    {v.twin.says}", *([f"    > {message.text}"] if message else [])]
    text.append("")
    for judge in JUDGES:
        count = sum(v.found[judge] is not None for v in verdicts)
        text.append(f"{judge:12} {count:4} of {len(verdicts)}  {count / len(verdicts):.1%}")
    missed = [v for v in verdicts if v.found[PLUGIN] is None]
    seen = [v.twin.name for v in missed if v.found[RUN] is not None]
    unseen = [v.twin.name for v in missed if v.found[RUN] is None]
    text += [f"only the run finds: {', '.join(seen) or '-'}", f"nobody finds: {', '.join(unseen) or '-'}"]
    return "\n".join([*text, *(alarm for v in verdicts for alarm in v.false_alarms)])


def passed(verdicts: Sequence[Verdict]) -> bool:
    """Whether no right program was refused and enough wrong ones were."""
    found = sum(v.found[PLUGIN] is not None for v in verdicts)
    return not any(v.false_alarms for v in verdicts) and found >= SHARE * len(verdicts)


def main(given: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bugs", description="which mistakes are found")
    parser.add_argument("names", nargs="*", metavar="NAME", help="files of typecheck/bugs/, without .py")
    parser.add_argument(
        "--messages", action="store_true", help="what each mistake is, and what mypy says of it"
    )
    options = parser.parse_args(given)
    unknown = [name for name in options.names if not (twins.FOLDER / f"{name}.py").is_file()]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; see {twins.FOLDER}")
    verdicts = judged(twins.all_in(twins.FOLDER, options.names))
    print(report(verdicts, options.messages))
    return 0 if passed(verdicts) else 1


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` has seen enough
    sys.exit(main())
