"""Programs that find out whether threads make them faster: their calls are timed, and their tasks tried.

Knows: that what counts is the clock: tasks that are not faster than the straight line are not taken; that the
cores may have been busy then, so that the question is asked again.
Refuses to know: how a program is put into tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import replace
from itertools import pairwise, starmap
from threading import Lock
from time import perf_counter
from typing import Any, Final, NamedTuple

from wengert.arrays import Value, give_back, is_host_array
from wengert.arrays.changes import Change
from wengert.arrays.outlines import blank
from wengert.run.compiled.layout import NUMBERS, Layout
from wengert.run.compiled.program import Program, _Text, lines_of
from wengert.run.compiled.tracing import Trace, Traced
from wengert.run.threads.crew import Crew
from wengert.run.threads.regions import Listing, Regions


class Terms(NamedTuple):
    """When a program is worth threads."""

    handoff: float = 125e-6  # seconds: a region pays two, and is worth a thread from twice that on
    timed: int = 3  # runs in which each call is timed
    tried: int = 7  # runs of either program, in turn, before one is chosen
    gain: float = 0.95  # of the straight line's time, which the tasks have to stay below
    again: int = (
        500  # runs after which they are tried again; twice as many each time that nothing has changed
    )
    seldom: int = 32_000  # the most of them


TERMS: Final = Terms()


class Divided(Program):
    """A program that times itself, and then becomes tasks or a straight line, whichever has been faster."""

    def __init__(
        self,
        crew: Crew,
        terms: Terms,
        trace: Trace,
        outputs: Sequence[Any],  # Any: as in `Listing`
        targets: Sequence[Traced] | None = None,
    ) -> None:
        calls = lines_of(trace, outputs)
        self._listing: Listing | None = _without_values(Listing(calls, trace.inputs, outputs, targets))
        self._crew = crew
        self._terms = terms
        self._lock = Lock()
        self._marks: list[Sequence[float]] = []  # of each timed run: when each call began and ended
        self._changes = targets is not None
        self._straight = Program(trace, outputs, targets)
        self._ways: tuple[Program, ...] = ()  # the straight line and the tasks, if these may be worth a try
        self._times: tuple[list[float], list[float]] = ([], [])  # of the runs of either in a trial
        # None: a trial goes on, and the ways take turns
        self._way: Program | None = _Timed(self._listing, self._marks.append)
        self._turn = 0
        self._again = terms.again
        self._chosen: Program | None = None  # last time
        self.source = self._straight.source

    def take(self) -> tuple[Any, ...]:  # Any: the way that this run takes, and its buffers
        """What one run uses."""
        if len(self._marks) >= self._terms.timed:
            self._divide()  # here, where nothing has changed yet should it fail
        self._turn = turn = self._turn + 1
        if turn >= self._again and self._ways:
            self._try()
        way = self._way or self._ways[turn % 2]
        return way, way.take()

    def give(self, buffers: tuple[Any, ...]) -> None:  # Any: as in `take`
        """What a run used is free again."""
        way, own = buffers
        if self._way is None or way is self._way:
            way.give(own)

    def forget(self) -> None:
        for way in self._programs():
            way.forget()

    def size(self) -> int:
        return sum(way.size() for way in self._programs())

    def _programs(self) -> list[Program]:
        """The programs that it may run."""
        way = self._way
        return [*dict.fromkeys((self._straight, *self._ways, *([] if way is None else [way])))]

    def run(
        self, inputs: Sequence[Value], buffers: tuple[Any, ...]
    ) -> Any:  # Any: as in `take`; and `Program.run`
        """The outputs, or what asks for targets and then gives them."""
        way, own = buffers
        if self._changes:
            return self._asking(way, inputs, own)
        begun = perf_counter()
        outputs = way.run(inputs, own)
        if self._way is None:
            self._learn(way, perf_counter() - begun)
        return outputs

    def _asking(
        self, way: Program, inputs: Sequence[Value], buffers: tuple[Any, ...]
    ) -> Generator[Any, Any, tuple[Any, ...]]:  # Any: as in `take`
        begun = perf_counter()
        outputs, changes = yield from way.run(inputs, buffers)
        return outputs, (way, begun, changes)

    def carry_out(self, changes: Any, last: Iterable[Change]) -> None:  # Any: as `_asking` gives them
        """As `Program`; the run ends here."""
        way, begun, own = changes
        way.carry_out(own, last)
        if self._way is None:
            self._learn(way, perf_counter() - begun)

    def _learn(self, way: Program, seconds: float) -> None:
        """Choose, if this run of the trial has told enough."""
        with self._lock:
            if self._way is None and way in self._ways:
                self._times[self._ways.index(way)].append(seconds)
                if min(map(len, self._times)) >= self._terms.tried:
                    straight, tasks = map(min, self._times)  # a busy core makes single runs slow, never fast
                    self._choose(self._ways[tasks < straight * self._terms.gain])

    def _divide(self) -> None:
        with self._lock:
            listing = self._listing
            if listing is not None:
                self._divided(listing)

    def _divided(self, listing: Listing) -> None:
        costs = [min(times) for times in zip(*map(_differences, self._marks), strict=True)]
        self._listing = None
        self._marks.clear()
        if sum(costs) <= 2 * self._terms.handoff:
            self._choose(self._straight)
            return
        pure = sum(call.result is not None for call in listing.calls)
        changes = costs[pure + 2 :]  # after what it takes to ask for targets, and to find the changes
        tasks = Regions(listing, costs[:pure] + changes, self._crew, self._terms.handoff)
        if tasks.pays and self._terms.tried:
            self._ways = (self._straight, tasks)
            self._try()
        else:
            self._choose(tasks if tasks.pays else self._straight)

    def _try(self) -> None:
        """Begin a trial. What was chosen while other programs kept the cores busy is not chosen for ever."""
        self._turn = 0
        self._times = ([], [])
        self._way = None

    def _choose(self, way: Program) -> None:
        same = way is self._chosen
        self._again = min(2 * self._again, self._terms.seldom) if same else self._terms.again
        self._way = self._chosen = way
        self.source = way.source
        for other in self._ways:
            if other is not way:
                other.forget()
        if self._ways:
            give_back()


def _without_values(listing: Listing) -> Listing:
    """The same, of which only shapes are kept: nothing of the traced run stays alive (S13)."""
    slots = _Slots()
    calls = [replace(c, arguments=slots.of(c.arguments), result=slots.of(c.result)) for c in listing.calls]
    return Listing(calls, *map(slots.of, listing[1:]))


class _Slots:
    """For each traced value another one."""

    def __init__(self) -> None:
        self._trace = Trace()
        self._slots: dict[Traced, Traced] = {}

    def of(self, x: Any) -> Any:  # Any: as in `Call`
        """`x` with the other values in it."""
        if isinstance(x, (tuple, list)):
            return type(x)(map(self.of, x))
        if not isinstance(x, Traced):
            return x
        if x not in self._slots:
            self._slots[x] = Traced(self._trace, _shape_only(x.value))
        return self._slots[x]


def _shape_only(value: Value) -> Value:
    """What a layout asks of a value: a number, or an array that could lie in a buffer."""
    if is_host_array(value):
        return blank(value) if value.flags.c_contiguous else None
    return value if isinstance(value, NUMBERS) else None


def _differences(marks: Sequence[float]) -> list[float]:
    return [b - a for a, b in pairwise(marks)]


class _Timed(Program):
    """The straight line, with a look at the clock after each call."""

    def __init__(self, listing: Listing, note: Callable[[Sequence[float]], None]) -> None:
        layout = Layout(listing.calls, listing.outputs)
        text = _Text(listing.inputs, listing.targets, layout)
        text.constants.scope |= {"clock": perf_counter, "note": note, "starmap": starmap}
        lines = [*text.head(), "marks = [clock()]"]
        for call in listing.calls:
            if call.result is not None:
                lines += [text.line(call), "marks.append(clock())"]
        lines += [text.asking(listing.outputs), "marks.append(clock())"]
        effects = [text.change(call) for call in listing.calls if call.result is None]
        if listing.targets is None:
            lines.append("note(marks)")
        look = (
            "(marks.extend, starmap(clock, ((),)))"  # made of functions written in C, as changes have to be
        )
        changes = ", ".join([look, *(f"{line}, {look}" for line in effects), "(note, marks)"])
        self._compile(text, [*lines, text.end(listing.outputs, f"[{changes}]")])
