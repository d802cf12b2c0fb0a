"""The programs that ran, as pages: each equation with its time, its operation and the line that the user wrote.

Knows: that the time of a step is that of its equations, of finding the plan, of what stands around the program, and a
rest that is told as such; that a reading of the clock is part of each equation's time.
Refuses to know: when a plan is made, and how a program is run.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import attrgetter
from typing import Final, Literal

from wengert.program.program import Program, SourceInfo, printed_lines
from wengert.run.compiled.program import TimedProgram, simplified
from wengert.site import position

Part = Literal["forward", "backward", "update", "not mapped", ""]
_LONGEST: Final = 64  # characters of an equation that the columns beside it make room for
_part = attrgetter("part")


_APART: Final = "reading weights, steps of optimizers one by one, making changes known"


@dataclass(frozen=True)
class ProgramLine:
    """A line of a program; `seconds` of all runs. Inputs, outputs and targets are no part of a step and take none."""

    text: str
    part: Part
    operation: str = ""
    line: str = ""  # `file:line`, or empty for what nobody wrote
    seconds: float = 0.0


@dataclass(frozen=True)
class ProgramTimes:
    """A program, and where the time of its runs went; `seconds` of them all, from the question to its answer.

    `finding` is the time in which the plan or the schedule of a batch was found, `around` that in which weights were
    read and changes made known, or tables of rows and deltas made. The lines of a batch are those of its launches.
    """

    question: str
    line: str
    runs: int
    seconds: float
    finding: float
    around: float
    lines: tuple[ProgramLine, ...]
    names: tuple[str, str] = ("finding the plan", "reading weights, making changes known")  # of these two

    @property
    def rest(self) -> float:
        """Seconds that nothing here accounts for."""
        return self.seconds - self.finding - self.around - sum(x.seconds for x in self.lines)

    @property
    def accounted(self) -> float:
        """Share of the time that has a name, from 0 to 1: without the rest and equations of no known operation."""
        unknown = self.rest + sum(x.seconds for x in self.lines if x.part == "not mapped")
        return 1.0 - unknown / self.seconds if self.seconds else 0.0

    def __str__(self) -> str:
        """The page: lines in order, parts with their sums, and microseconds of one run."""
        each = self.seconds / self.runs * 1e6 if self.runs else 0.0
        runs = f"{self.runs:,} run{'s' * (self.runs != 1)}"
        lines = [
            f"{self.question} at {near(self.line)}: {runs} of {each:,.1f} us each, {self.accounted:.0%} "
            "accounted for",
            f"{'us':>10}  {'share':>6}",
        ]
        timed = [x for x in self.lines if x.part]
        width = min(_LONGEST, max((len(x.text) for x in timed), default=0))
        column = max((len(x.operation) for x in timed), default=0)
        for part, group in groupby(self.lines, _part):
            found = [*group]
            if part:
                lines.append(self._timed(sum(x.seconds for x in found), part))
            for x in found:
                words = f"{x.text:{width}}  {x.operation:{column}}  {near(x.line)}".rstrip()
                lines.append(self._timed(x.seconds, words) if part else f"{'':20}{x.text}")
        lines.append(self._timed(self.finding, self.names[0]))
        lines.append(self._timed(self.around, self.names[1]))
        lines.append(self._timed(self.rest, "the rest of the run"))
        return "\n".join(lines)

    def _timed(self, seconds: float, words: str) -> str:
        share = seconds / self.seconds if self.seconds else 0.0
        return f"{seconds / max(1, self.runs) * 1e6:10,.1f}  {share:6.1%}  {words}"


def plain(name: str) -> str:
    """The name of an operation without the function in which a cell was written."""
    return name.rpartition("<locals>.")[2]


def near(line: str) -> str:
    """Name a `file:line` as seen from the present folder where the file is in it."""
    return line.removeprefix(os.getcwd() + os.sep)


class MeasuredProgram(TimedProgram):
    """A program that keeps the sums of the times of its equations."""

    def __init__(self, clock: Callable[[], int], p: Program) -> None:
        p = simplified(p)
        self._marks: list[list[int]] = []  # of each run since the sums were taken
        super().__init__(p, self._marks.append, clock)
        self._program = p
        self._sums = [0] * (len(p.eqns) + len(p.effects))
        self.question, self.line = "", ""
        self.runs = 0
        self.total = self.finding = self.inside = (
            0  # nanoseconds; `inside` of the plan, which calls the program
        )

    def ran(self, question: str, line: str, finding: int, inside: int) -> None:
        """Count a run."""
        self.question, self.line = question, line
        self.runs += 1
        self.finding += finding
        self.inside += inside

    def times(self) -> ProgramTimes:
        """The times so far."""
        self._sum()
        seconds = [x / 1e9 for x in self._sums]
        lines = [*_lines_of(self._program, seconds)]
        around = self.inside / 1e9 - sum(seconds)
        total, finding = self.total / 1e9, self.finding / 1e9
        apart = self.question == "train" and self._program.targets is None
        names = (ProgramTimes.names[0], _APART if apart else ProgramTimes.names[1])
        return ProgramTimes(self.question, self.line, self.runs, total, finding, around, tuple(lines), names)

    def give(self, frame: tuple[object, ...], whole: bool = True) -> None:
        super().give(frame, whole)
        if len(self._marks) >= 256:  # of runs: it takes longer than one of them
            self._sum()

    def _sum(self) -> None:
        taken, pure = len(self._marks), len(self._program.eqns)
        for marks in self._marks[:taken]:
            steps = [b - a for a, b in pairwise(marks)]
            own = steps[:pure] + steps[pure + 2 :]
            self._sums = [a + b for a, b in zip(self._sums, own, strict=True)]
        del self._marks[:taken]


def _lines_of(p: Program, seconds: Sequence[float]) -> Iterator[ProgramLine]:
    """The lines of a program; the times of its equations and effects are in their order."""
    times = iter(seconds)
    for e, text in printed_lines(p):
        yield ProgramLine(text, "") if e is None else line_of(text, e.source, next(times))


def line_of(text: str, source: SourceInfo | None, seconds: float) -> ProgramLine:
    """The line of an equation."""
    if source is None:
        return ProgramLine(text, "not mapped", seconds=seconds)
    part, operation, code, offset = source
    return ProgramLine(text, part, operation, position(code, offset), seconds)
