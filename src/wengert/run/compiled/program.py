"""Programs of plans and segments: functions with sets of buffers, which are used again in each run.

Knows: that one run at a time may use a frame; that compiling a text takes as long as some runs of it, and may be done
in steps.
Refuses to know: what the functions compute, where inputs come from, and what becomes of outputs.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import starmap
from math import prod
from time import perf_counter
from traceback import walk_tb
from typing import Any, Final

from wengert.arrays import Value, quietly
from wengert.arrays.abstract import sizes_for
from wengert.arrays.changes import Change, carry_out
from wengert.arrays.kernels import new_buffer
from wengert.errors import DeviceError, ProgramWarning, WengertError
from wengert.program.build import NoProgram
from wengert.program.emit import FusedCall, ProgramText
from wengert.program.fused import FusedGroup
from wengert.program.memory import Placement
from wengert.program.program import Eqn, Program, vars_in
from wengert.program.simplify import assembled, copied_once, needed
from wengert.program.text import executed, function_text
from wengert.run.commit import Interrupted
from wengert.run.compiled.cache import LINE

_PASSES: Final = ("wengert.program.", "wengert.run.compiled.")


def not_made(of: str, failure: Exception) -> None:
    """Warn that the program of a structure could not be made: the interpreter goes on.

    Nothing is to be said where there can be none, and where the interpreter meets an error of the user's as well.
    """
    if isinstance(failure, (NoProgram, WengertError)):
        return
    places = [
        frame.f_globals["__name__"] + "." + frame.f_code.co_name
        for frame, _ in walk_tb(failure.__traceback__)
    ]
    own = [place for place in places if place.startswith(_PASSES)]
    warnings.warn(
        f"no program of {of}: {own[-1] if own else 'its making'} failed with {failure!r:.200}. Its runs go on node by "
        "node, with the same results, and take longer. Unless a rule of yours raised that, it is a defect of Wengert: "
        "please report it",
        ProgramWarning,
        stacklevel=2,
    )


class PlanProgram:
    """A function of its inputs, and of a frame of buffers that one run at a time may use."""

    def __init__(self, p: Program) -> None:
        for _ in self.making(p):
            pass

    @classmethod
    def in_steps(cls, p: Program) -> Generator[None, None, PlanProgram]:
        """Make a program in steps."""
        made = object.__new__(cls)
        yield from made.making(p)
        return made

    def making(self, p: Program) -> Iterator[None]:
        """The steps that make it."""
        p = simplified(p)
        yield
        placement = buffers_of(p)
        yield
        text = PlanText(p, placement)
        lines = text.lines()
        yield
        self._compile(text, lines)

    def _compile(self, text: ProgramText, lines: Iterable[str]) -> None:
        """Make a function of its lines, which give the outputs."""
        self.source = function_text("program", ["inputs", "frame"], lines)
        self.frame_source = text.frame_source()
        scope = executed(self.frame_source + self.source, text.constants.scope, "<plan>")
        # the outputs; with targets a generator, which gives the first, asks for targets and ends with all outputs
        # and what changes the targets
        self.run: Callable[..., Any] = scope.pop("program")  # Any: one of the two
        self._frame: Callable[..., tuple[Value, ...]] = scope.pop("frame")
        self._forms = [(sizes_for(b.shape, 0), b.dtype) for b in text.placement.buffers]
        self.free: list[tuple[Value, ...]] = []  # frames

    def outputs(self, inputs: Sequence[Value]) -> tuple[Value, ...]:
        """The outputs of one that changes nothing; DeviceError without memory, Interrupted where else it fails."""
        try:
            found: tuple[Value, ...] = quietly(self.called, inputs)
        except DeviceError:
            raise
        except Exception as failure:
            raise Interrupted from failure
        return found

    def called(self, inputs: Sequence[Value]) -> tuple[Value, ...]:
        """As `outputs`, for a caller that has set numpy's error state, and meets failures."""
        frame = self.take()
        found: tuple[Value, ...] = self.run(inputs, frame)
        self.give(frame)
        return found

    def latest(self) -> PlanProgram:
        """This program, or a faster one that does the same and has been made meanwhile."""
        return self

    # Any: as `take` and `run` give them
    def carry_out(self, frame: tuple[Any, ...], changes: Any, last: Iterable[Change]) -> None:
        """Make the changes of a run with this frame, and then the last ones."""
        carry_out([*changes, *last])

    def take(self) -> tuple[Value, ...]:
        """A frame that no other run uses now."""
        try:
            return self.free.pop()
        except IndexError:
            return self._frame(0, 0, *(new_buffer(shape, dtype) for shape, dtype in self._forms))

    def give(self, frame: tuple[Value, ...], whole: bool = True) -> None:
        """The frame is free again, after a `whole` run or one that has ended early."""
        if len(self.free) < 2:  # more would only keep memory
            self.free.append(frame)

    def forget(self) -> None:
        """Let go of the frames that nobody uses."""
        self.free.clear()

    def size(self) -> int:
        """Bytes of its code, and of the frames that it keeps between runs, one at least."""
        frame: int = sum(prod(shape) * dtype.itemsize for shape, dtype in self._forms)
        return LINE * self.source.count("\n") + frame * max(1, len(self.free))


class TimedProgram(PlanProgram):
    """A straight line with a clock that is read after each equation.

    `note` is given what it showed in a run: at the begin, after each equation, when targets are there, when the changes
    are known, and after each effect; without targets one after all equations.
    """

    def __init__(
        self, p: Program, note: Callable[[list[Any]], None], clock: Callable[[], Any] = perf_counter
    ) -> None:  # Any: a number of the clock's
        text = PlanText(p, buffers_of(p))
        text.constants.scope |= {"clock": clock, "note": note, "starmap": starmap}
        mark = "marks.append(clock())"
        body = ["marks = [clock()]", *text.body(mark)]
        effects = map(text.change, p.effects)
        # made of functions written in C, as changes have to be
        look = "(marks.extend, starmap(clock, ((),)))"
        changed = ", ".join([look, *(f"{line}, {look}" for line in effects), "(note, marks)"])
        late = [mark, *["note(marks)"] * (p.targets is None)]
        self._compile(text, text.lines(body, f"[{changed}]", late))


def simplified(p: Program) -> Program:
    """A program without what nobody reads, the parts of a sum of slices written one by one."""
    read = (*p.outputs, *(e.reads for e in p.effects))
    return replace(p, eqns=copied_once(assembled(needed(p.eqns, read, impure=True), read, exact=True)))


def buffers_of(
    p: Program, lanes: Mapping[Eqn, int] | None = None, groups: Sequence[FusedGroup] = ()
) -> Placement:
    """Places of results; somebody may keep an output, and what is inner to a fused group has none."""
    return Placement([*p.eqns, *p.effects], (), (), {}, [*vars_in(tuple(p.outputs))], lanes, groups)


class PlanText(ProgramText):
    """The text of a program: who runs it gets the first output after the last equation, and is asked for targets."""

    def __init__(
        self,
        p: Program,
        placement: Placement,
        calls: Sequence[FusedCall] = (),
        updates: Mapping[Eqn, FusedCall] | None = None,
    ) -> None:
        super().__init__(p.inputs, p.eqns, (), placement, p.targets or (), calls, updates)
        self.program = p

    def lines(
        self, body: Iterable[str] | None = None, changed: str | None = None, late: Iterable[str] = ()
    ) -> list[str]:
        """All lines, with others in place of the body or of what `changed`, and some before the last one."""
        p, found = self.program, [_unpacked(self.inputs, "inputs"), _unpacked(self.frame, "frame")]
        found += self.body() if body is None else body
        if p.targets is not None:
            found.append(_unpacked([self.names[x] for x in p.targets], f"yield {self.value(p.outputs[0])}"))
        found += late
        leaving = self.given(tuple(p.outputs))
        if p.targets is None:
            return [*found, f"return {leaving}"]
        return [*found, f"return {leaving}, {self.changes(p.effects) if changed is None else changed}"]

    def changes(self, effects: Iterable[Eqn]) -> str:
        """A list of all changes that effects give."""
        return f"[{', '.join(map(self.change, effects))}]"


def _unpacked(names: Sequence[str], value: str) -> str:
    return f"({', '.join(names)},) = {value}" if names else f"() = {value}"
