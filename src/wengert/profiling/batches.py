"""The launches of `Batched` that ran, as pages: the equations of each kernel with their times, and what is around them.

Knows: that a page is of one question on one line, so that its launches are its own and no other run is in their
sums; that the time of a launch is that of its equations, of its frame and call, and of rows that are gathered and
placed; that a run in which a kernel was made tells nothing of the runs to come.
Refuses to know: how a batch is scheduled, and who asks for a profile.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from operator import attrgetter
from typing import Any, Final

from wengert.arrays import Value
from wengert.graph.operation import Signature
from wengert.lazy import LazyDelta
from wengert.profiling.programs import Part, ProgramLine, ProgramTimes, line_of, plain
from wengert.program.emit import Kernel, ProgramText
from wengert.program.program import Argument, Eqn, Program, SourceInfo, Var, printed_lines
from wengert.run.batching.bound import Binding, BoundSchedule, Direction, Kernels
from wengert.run.batching.kernel import BatchedKernel, Workspace
from wengert.run.batching.region import RowSource
from wengert.site import position

PARTS: Final[tuple[Direction, ...]] = ("forward", "backward")
# part, name, origin, nanoseconds; Any: as `Binding.at`
Told = Callable[[Direction, str, tuple[Any, int], int], None]
_LEAST: Final = 0.01  # of the time: a launch that takes less has no lines of its own
_part = attrgetter("part")
_NAMES: Final = ("recording nodes, finding the schedule", "tables of rows and of deltas")


class TimedKernel(Kernel):
    """A kernel with a clock that is read after each equation."""

    def __init__(
        self,
        clock: Callable[[], float],
        origin: Callable[[Direction], SourceInfo],
        inputs: Sequence[Var],
        eqns: Sequence[Eqn],
        outputs: Sequence[Argument],
        wanted: Sequence[Var],
        kept: Any,  # Any: as `Kernel`
    ) -> None:
        self._clock = clock
        self._marks: list[list[float]] = []  # of each run since the sums were taken
        self.part: Direction = "forward" if outputs else "backward"  # only results are told where to lie
        self._origin = origin(self.part)
        self._inputs, self._given = inputs, (*outputs, *wanted)
        self.runs = 0
        super().__init__(inputs, eqns, outputs, wanted, kept)

    def body(self, text: ProgramText) -> list[str]:
        text.constants.scope |= {"clock": self._clock, "note": self._marks.append}
        self._program = Program(self._inputs, text.eqns, self._given)
        self._sums = [0.0] * len(text.eqns)
        return ["marks = [clock()]", *text.body("marks.append(clock())"), "note(marks)"]

    def settle(self, counts: bool) -> None:
        """Add what the clock has shown in the present run to the sums, if that `counts`."""
        if counts:
            self.runs += len(self._marks)
            for marks in self._marks:
                self._sums = [sum + b - a for sum, (a, b) in zip(self._sums, pairwise(marks), strict=True)]
        self._marks.clear()

    @property
    def seconds(self) -> float:
        """The time of all equations."""
        return sum(self._sums)

    def lines(self) -> Iterator[ProgramLine]:
        """The lines of a page; an equation that no rule has written is the launch's own."""
        times = iter(self._sums)
        for e, text in printed_lines(self._program):
            if e is None:
                yield ProgramLine(text, "")
                continue
            source = self._origin if e.source is None else e.source
            if not source.code:
                source = source._replace(code=self._origin.code, offset=self._origin.offset)
            yield line_of(text, source, next(times))


class TimedBatchedKernel(BatchedKernel):
    """A batched kernel of timed ones, which knows how long its launches take."""

    def __init__(
        self, clock: Callable[[], float], signature: Signature, shared: tuple[bool, ...], at: tuple[Any, int]
    ) -> None:  # Any: as `Binding.at`
        self._clock = clock
        self._at = at
        self.kernels: list[TimedKernel] = []
        self.seconds = dict.fromkeys(PARTS, 0.0)
        self._now = dict.fromkeys(PARTS, 0.0)  # of the present run
        super().__init__(signature, shared, self._kernel)

    def _kernel(self, *given: Any) -> TimedKernel:  # Any: as `Kernel`
        made = TimedKernel(self._clock, self._origin, *given)
        self.kernels.append(made)
        return made

    def settle(self, counts: bool) -> None:
        """Add what the present run has taken to the sums, if that `counts`."""
        for part in PARTS:
            self.seconds[part] += self._now[part] * counts
            self._now[part] = 0.0
        for kernel in self.kernels:
            kernel.settle(counts)

    def _origin(self, part: Direction) -> SourceInfo:
        return SourceInfo(part, self.signature.operation.name, *self._at)

    def forward(
        self,
        rows: int,
        operands: Sequence[Value],
        out: Sequence[Value | None] | None = None,
        workspace: Workspace | None = None,
        keep: bool = True,
    ) -> tuple[tuple[Value, ...], Any]:  # Any: as `BatchedKernel`
        begun = self._clock()
        found = super().forward(rows, operands, out, workspace, keep)
        self._now["forward"] += self._clock() - begun
        return found

    def backward(
        self, rows: int, kept: Any, deltas: Sequence[Value | None]
    ) -> list[Value | LazyDelta | None]:  # Any: as `BatchedKernel`
        begun = self._clock()
        found = super().backward(rows, kept, deltas)
        self._now["backward"] += self._clock() - begun
        return found


class LaunchTimes:
    """The sums of one launch, or of rows that run without one."""

    def __init__(self, binding: Binding, launch: BatchedKernel | None) -> None:
        self._launch = launch if isinstance(launch, TimedBatchedKernel) else None
        self.name, self.line = name_of_group(binding), position(*binding.at)
        self.launches = self.rows = 0
        self.steps = {"forward": 0.0, "backward": 0.0}

    def ran(self, part: Direction, rows: int, seconds: float) -> None:
        """Count one launch in one direction, from its operands to what it sends."""
        self.steps[part] += seconds
        if part == "forward":
            self.launches += 1
            self.rows += rows

    def lines(self, runs: int) -> Iterator[ProgramLine]:
        """The lines of a page."""
        yield ProgramLine(f"{self.name}: {widths(runs, self.launches, self.rows)}", "")
        yield from self._lines_of("forward", "operands gathered, results placed")
        yield from self._lines_of("backward", "deltas sent to rows")

    def _lines_of(self, part: Direction, moved: str) -> Iterator[ProgramLine]:
        seconds, launch = self.steps[part], self._launch
        if not seconds:
            return
        line = partial(ProgramLine, part=part, operation=self.name, line=self.line)
        if launch is None:
            yield line("    all rows", seconds=seconds)
            return
        kernels = [x for x in launch.kernels if x.part == part and x.runs]
        inside, out = launch.seconds[part], ProgramLine("", "")
        for kernel in kernels:
            *lines, out = kernel.lines()
            yield from lines
        yield line("    frame and call", seconds=inside - sum(x.seconds for x in kernels))
        yield line(f"    {moved}", seconds=seconds - inside)
        if kernels:
            yield out


def name_of_group(binding: Binding) -> str:
    """The name of what its rows are computed by."""
    if binding.signature is not None:
        return plain(binding.signature.operation.name)
    return "sum of additions" if binding.form.source is RowSource.SUM else "values from before"


def widths(runs: int, launches: int, rows: int) -> str:
    """So many launches and rows as text."""
    return f"{launches / runs:.1f} launches a run, of {rows / max(1, launches):.1f} rows"


def brief(alike: Sequence[LaunchTimes], runs: int) -> Iterator[ProgramLine]:
    """Launches of one operation on one line that hardly count, as a line for each direction."""
    launches, rows = sum(x.launches for x in alike), sum(x.rows for x in alike)
    for part in PARTS:
        seconds = sum(x.steps[part] for x in alike)
        text = f"    {widths(runs, launches, rows)}"
        if seconds:
            yield ProgramLine(text, part, alike[0].name, alike[0].line, seconds)


class MeasuredBatches(Kernels):
    """The launches of one question on one line, and the sums of their times."""

    def __init__(self, clock: Callable[[], float], told: Told, question: str, line: str) -> None:
        self.clock = clock
        self._told = told
        self.question, self.line = question, line
        self.busy = False  # with a run
        self._made: dict[tuple[Signature, tuple[bool, ...]], TimedBatchedKernel] = {}
        self._known = 0  # launches and kernels, when the present run began
        self._regions: list[
            tuple[BoundSchedule, Direction, Sequence[float], float]
        ] = []  # of the present run
        self._besides: list[tuple[Part, str, str, float]] = []  # updates, and nodes by themselves; of it, too
        self._inner = 0.0  # seconds of what has ended within the present scope
        self._launches: dict[object, LaunchTimes] = {}
        self._others: dict[tuple[Part, str, str], float] = defaultdict(float)
        self.runs = 0
        self._seconds = self._finding = self._around = 0.0

    def of(self, signature: Signature, shared: tuple[bool, ...], binding: Binding) -> BatchedKernel:
        made = self._made.get((signature, shared))
        if made is None:
            made = self._made[signature, shared] = TimedBatchedKernel(
                self.clock, signature.copy(), shared, binding.at
            )
        return made

    def ran(self, bound: BoundSchedule, part: Direction, seconds: Sequence[float], total: float) -> None:
        self._regions.append((bound, part, seconds, total))

    @contextmanager
    def timed(self, part: Part, name: str, line: str) -> Generator[None]:
        """A scope that is no launch; its time is that without the scopes in it."""
        outer, self._inner = self._inner, 0.0
        begun = self.clock()
        yield
        taken = self.clock() - begun
        self._besides.append((part, name, line, taken - self._inner))
        self._inner = outer + taken

    def begin(self) -> None:
        """A run begins."""
        self.busy, self._known = True, self._kernels()
        self._inner = 0.0

    def end(self, seconds: float | None, finding: float) -> None:
        """The run is over; None if it has failed. It does not count where that is so, or a kernel was made in it."""
        counts = seconds is not None and self._kernels() == self._known
        if counts:
            self.runs += 1
            self._seconds += seconds or 0.0
            self._finding += finding
            self._around += sum(total - sum(steps) for _, _, steps, total in self._regions)
            for part, name, line, taken in self._besides:
                self._others[part, name, line] += taken
        for bound, part, steps, _ in self._regions:
            for step, launch, taken in zip(bound.schedule.launches, bound.kernels, steps, strict=True):
                binding = bound.bindings[step.group]
                self._told(part, name_of_group(binding), binding.at, round(taken * 1e9))
                if counts:
                    self._times_of(binding, launch).ran(part, step.width, taken)
        for launch in self._made.values():
            launch.settle(counts)
        self._regions.clear()
        self._besides.clear()
        self.busy = False

    def _kernels(self) -> int:
        return sum(1 + len(launch.kernels) for launch in self._made.values())

    def _times_of(self, binding: Binding, launch: BatchedKernel | None) -> LaunchTimes:
        key: object = launch or (binding.signature, binding.form.source, binding.at)
        found = self._launches.get(key)
        if found is None:
            found = self._launches[key] = LaunchTimes(binding, launch)
        return found

    def times(self) -> ProgramTimes:
        """The times so far."""
        found = sorted(self._launches.values(), key=_seconds, reverse=True)
        least = _LEAST * self._seconds
        lines = [line for x in found if _seconds(x) >= least for line in x.lines(self.runs)]
        small: dict[tuple[str, str], list[LaunchTimes]] = defaultdict(list)
        for x in found:
            if _seconds(x) < least:
                small[x.name, x.line].append(x)
        if small:
            lines.append(ProgramLine(f"launches of less than {_LEAST:.0%}", ""))
            lines += sorted(
                (y for alike in small.values() for y in brief(alike, self.runs)), key=_part, reverse=True
            )
        others = [
            ProgramLine(f"    {name}", part, name, line, seconds)
            for (part, name, line), seconds in self._others.items()
        ]
        return ProgramTimes(
            self.question,
            self.line,
            self.runs,
            self._seconds,
            self._finding,
            self._around,
            (*lines, *others),
            _NAMES,
        )


def _seconds(x: LaunchTimes) -> float:
    return sum(x.steps.values())
