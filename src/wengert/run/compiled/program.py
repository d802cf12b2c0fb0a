"""Programs of plans and segments: functions with sets of buffers, which are used again in each run, and loops of C.

Knows: that one run at a time may use a frame; that compiling a text takes as long as some runs of it, and may be done
in steps; that a program starts as Python and stays so wherever compiling its fused groups fails; that these are
compiled in a thread beside the runs when what those would have saved pays for that, or at once where the library is in
the cache; that a group is used only if it has given numpy's bits for NaN, infinities, signs of zero and random elements
on this machine; how long a process may compile.
Refuses to know: what the functions compute, where inputs come from, what becomes of outputs; the text of loops, flags
and folders.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import starmap
from logging import getLogger
from math import ceil, prod
from pathlib import Path
from queue import SimpleQueue
from threading import Lock, Thread
from time import perf_counter
from traceback import walk_tb
from typing import Any, Final

from wengert.arrays import Shape, Value, all_quiet, quietly
from wengert.arrays.abstract import Sizes, sizes_for
from wengert.arrays.agreement import drawn_lines, same_but_for_nan
from wengert.arrays.changes import Change, carry_out
from wengert.arrays.compilers import (
    CCompiler,
    CompilerError,
    LoopSignature,
    cache_folder,
    found_compiler,
    is_own,
    loaded,
)
from wengert.arrays.kernels import BY_PROCESSOR, new_buffer
from wengert.errors import DeviceError, ProgramWarning, WengertError
from wengert.program.build import NoProgram
from wengert.program.emit import FusedCall, ProgramText
from wengert.program.fused import FusedGroup, FusedUpdate, fused, loops_of, seconds_of
from wengert.program.loops import C, axes_of, loop_text
from wengert.program.memory import Placement, fused_updates
from wengert.program.program import Eqn, Function, Program, Values, Var, assign, vars_in
from wengert.program.simplify import assembled, copied_once, needed
from wengert.program.text import executed, function_text
from wengert.run.commit import Interrupted
from wengert.run.compiled.cache import LINE

_NUMBER: Final = 128  # bytes of an array of shape ()
_MOST_NAMED: Final = 256  # inputs; a frame of a thousand locals takes memory of its own, 10 us in each run
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
        self._numbers = text.numbers
        # bytes: of each two arrays
        self._again: int = 2 * sum(prod(x.shape) * x.dtype.itemsize for x in text.again)
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
        frame += _NUMBER * self._numbers + self._again
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
        self._by_place = len(p.inputs) > _MOST_NAMED
        name = "inputs[{}]" if self._by_place else "p{}"
        super().__init__(p.inputs, p.eqns, (), placement, p.targets or (), calls, updates, name)
        self.put_beside(p.inputs)
        if p.targets is not None:  # states, above all
            self.leaving.update(vars_in(tuple(p.outputs[1:])))
        self.program = p

    def lines(
        self, body: Iterable[str] | None = None, changed: str | None = None, late: Iterable[str] = ()
    ) -> list[str]:
        """All lines, with others in place of the body or of what `changed`, and some before the last one."""
        p, found = self.program, [*(self.body() if body is None else body)]
        if p.targets is not None:
            found += [line for e in p.effects for line in self.arrays_of(e)]
        unpacked = [] if self._by_place else [_unpacked(self.inputs, "inputs")]
        found = [*unpacked, _unpacked(self.frame, "frame"), *self.begin, *found]
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


# -- fused groups, compiled by the C compiler of the machine -----------------------------------------------------

_LOG: Final = getLogger("wengert.run")
_RUNS: Final = 16  # until a program is looked at
COMPILING_SECONDS = 0.3  # that a library takes, of networks 0.2 to 0.7; the runs have to save so much first
_LIMIT: Final = 60.0  # seconds of compiling in one process
LEAST = 2e-5  # seconds in a run: what could save less stays as it is
_EQUATION: Final = 1000  # bytes
_NEVER: Final = 1 << 62  # runs
_TRIED: Final = 2051  # elements with which a loop is tried: many vectors, and a rest
_LINES: Final = 38  # lines with which a loop over lines is tried


class FusingProgram(PlanProgram):
    """A program in Python that gives way to one with compiled groups when there is one."""

    def making(self, p: Program) -> Iterator[None]:
        """The steps that make it."""
        yield from super().making(p)
        self._candidate = Candidate(p)
        self._runs, self._next = 0, _NEVER if self._candidate.over else _RUNS

    def size(self) -> int:
        """Its bytes, those of its equations among them as long as they may be compiled."""
        return super().size() + self._candidate.size

    def latest(self) -> PlanProgram:
        """The program with compiled groups as soon as it is ready, this one until then."""
        self._runs += 1
        if self._runs < self._next:
            return self
        candidate = self._candidate
        if candidate.made is not None:
            return candidate.made
        if candidate.over:
            self._next = _NEVER
        elif not candidate.asked:  # else it may be ready at the next run
            self._next = max(self._runs, candidate.pays_at)
            if self._next == self._runs:
                candidate.ask(self._runs)
        return self


class Candidate:
    """A program that may get compiled groups, and what is known of it so far; the thread beside works on it."""

    def __init__(self, p: Program) -> None:
        self.over = sum(map(seconds_of, p.eqns)) < LEAST  # there will be none
        self._p: Program | None = None if self.over else p
        self._eqns: list[Eqn] = []  # in an order in which those of a group follow each other
        self._updates: list[FusedUpdate] = []
        self._found: Library | None = None  # its groups, once somebody has looked for them
        self.asked = False
        self.pays_at = _RUNS  # the number of runs after which it pays to compile them
        self.made: PlanProgram | None = None

    @property
    def size(self) -> int:
        """The bytes that it takes."""
        return 0 if self._p is None else _EQUATION * len(self._p.eqns)

    def ask(self, runs: int) -> None:
        """Have the next step done in the thread beside, unless one is under way; there have been so many runs."""
        if not self.asked:
            self.asked = True
            COMPILING.begin(partial(self.step, runs))

    def step(self, runs: int) -> None:
        """Look for groups, and compile them if that pays by now."""
        over = True  # also after a failure of whatever kind
        try:
            over = not self._stepped(runs)
        except CompilerError as error:
            COMPILING.fail(error)
        finally:
            self.over = over
            if over or self.made is not None:
                self._p, self._found, self._eqns, self._updates = None, None, [], []
            self.asked = False

    def _stepped(self, runs: int) -> bool:
        """Tell whether it has compiled groups now, or may get them later."""
        compiler, p = found_compiler(), self._p
        if compiler is None or p is None or COMPILING.failed:
            return False
        if self._found is None:
            self._p = p = simplified(p)
            self._eqns, groups = fused(p, COMPILING.refused)
            self._updates = [*fused_updates(p, groups, COMPILING.refused)]
            self._found = Library(loops_of(groups, self._updates))
        library, folder = self._found, cache_folder()
        saves = sum(group.saves for group in library.groups)
        if not library.groups or not (runs * saves >= COMPILING_SECONDS or library.known(compiler, folder)):
            self.pays_at = ceil(COMPILING_SECONDS / saves) if library.groups else _NEVER
            return bool(library.groups)
        with COMPILING.counted():
            functions = library.functions(compiler, folder)
        tried = zip(library.groups, functions, strict=True)
        calls = [FusedCall(group, f) for group, f in tried if agrees(group, f)]
        left = {*library.groups}.difference(call.group for call in calls)
        if COMPILING.refuse(e.function for group in left for e in group.eqns):
            self._found = None  # other groups, without these functions
            return self._stepped(runs)
        if left:
            _LOG.warning(
                "%d of %d loops have other bits than numpy's and are not used", len(left), len(functions)
            )
        if calls:
            self.made = FusedProgram(replace(p, eqns=self._eqns), calls, self._updates)
        return bool(calls)


class FusedProgram(PlanProgram):
    """A program that calls a function for each fused group, and for each of some updates."""

    def __init__(self, p: Program, calls: Sequence[FusedCall], updates: Sequence[FusedUpdate] = ()) -> None:
        of = {call.group: call for call in calls}
        changed = {update.old: update for update in updates if update.group in of}
        steps = {e for update in changed.values() for e in update.steps}
        news = {update.new: of.pop(update.group) for update in changed.values()}
        effects = [changed[e].new if e in changed else e for e in p.effects]
        p = replace(p, eqns=[e for e in p.eqns if e not in steps], effects=effects)
        text = PlanText(p, buffers_of(p, groups=[*of]), [*of.values()], news)
        self._compile(text, text.lines())


class Library:
    """The loops of some groups as one text; groups that are equal share one."""

    def __init__(self, groups: Sequence[FusedGroup]) -> None:
        self.groups = groups
        self._names: list[str] = []  # of each group's loop
        self._loops: list[LoopSignature] = []
        known: dict[str, str] = {}  # the name of each loop, by its text without a name
        texts = []
        for group in groups:
            text = loop_text(group, "loop")
            name = known.setdefault(text, f"loop{len(known)}")
            if len(known) > len(self._loops):
                self._loops.append(LoopSignature(name, *group.dtypes(), axes_of(group)))
                texts.append(loop_text(group, name))
            self._names.append(name)
        self.text = C.module(texts)

    def known(self, compiler: CCompiler, folder: Path) -> bool:
        """True if it has been compiled before."""
        return is_own(compiler.library(self.text, folder))

    def functions(self, compiler: CCompiler, folder: Path) -> list[Function]:
        """The function of each group, compiled if need be."""
        made = loaded(compiler.compiled(self.text, folder), self._loops)
        named = {loop.name: f for loop, f in zip(self._loops, made, strict=True)}
        return [named[name] for name in self._names]


def agrees(group: FusedGroup, function: Function) -> bool:
    """Tell whether a loop gives numpy's bits on this machine, for special values and for random ones."""
    read, written = group.dtypes()
    shapes = _Tried(group)
    given, values = [], Values()
    for seed, (x, dtype) in enumerate(zip(group.inputs, read, strict=True)):
        drawn = drawn_lines(seed, shapes.of(x), dtype)
        given.append(drawn)
        values[x] = drawn.item() if x.aval.form == "number" else drawn
    found = [new_buffer(shapes.of(x), dtype) for x, dtype in zip(group.outputs, written, strict=True)]
    with all_quiet():
        function(*given, *found)
        assign([*map(shapes.equation, group.eqns)], values, group.outputs)
    return all(same_but_for_nan(values[x], y) for x, y in zip(group.outputs, found, strict=True))


class _Tried:
    """Shapes with which a loop is tried in place of its own: some elements, or some lines of the same length."""

    def __init__(self, group: FusedGroup) -> None:
        shape = group.space[0]
        self._along, self._axes = group.along_lines, len(shape)
        reduced = (e.result for e in group.eqns)
        self._flat = {x for x in reduced if x.ndim < self._axes}  # without the axis of the line
        self._whole: Shape = (_TRIED,)
        if self._along:  # matrices and arrays of more axes are reduced in different ways
            outer = (*[1] * (self._axes - 3), 2, _LINES) if self._axes > 2 else (_LINES,)
            self._whole = (*outer, *sizes_for(shape[-1:], 1))
        self._lines = (*self._whole[:-1], 1) if self._along else self._whole
        self._instead: dict[Sizes, Shape] = {(*shape[:-1], 1): self._lines, shape: self._whole}

    def of(self, x: Var) -> Shape:
        """The shape of an operand or a result."""
        if x.aval.form != "array":
            return (1,)
        if x in self._flat:
            return self._whole[:-1]
        return self._lines if x.shape[-1] == 1 else self._whole

    def equation(self, e: Eqn) -> Eqn:
        """The equation between these shapes."""
        given = (self._instead.get(x, x) if isinstance(x, tuple) else x for x in e.arguments)
        return replace(e, arguments=tuple(given))


class Workshop:
    """The thread that compiles, for all programs of the process; it begins with the first of them."""

    def __init__(self) -> None:
        self.seconds = 0.0  # spent on compiling
        self.failed = False  # the compiler or its folder: nothing more is tried
        self.refused: frozenset[Function] = frozenset()  # numpy has other bits for them on this machine
        self._todo: SimpleQueue[Callable[[], object]] = SimpleQueue()
        self._thread: Thread | None = None
        self._lock = Lock()

    def begin(self, work: Callable[[], object]) -> None:
        """Have some work done, after what there is to do already."""
        with self._lock:
            if self._thread is None or not self._thread.is_alive():  # after a fork there is none
                self._thread = Thread(target=self._work, name="wengert-native", daemon=True)
                self._thread.start()
        self._todo.put(work)

    @contextmanager
    def counted(self) -> Generator[None]:
        """A scope that compiles; `CompilerError` where that has taken too long already in this process."""
        if self.seconds > _LIMIT:
            raise CompilerError(f"compiling has taken {self.seconds:.0f} s of this process already")
        begun = perf_counter()
        try:
            yield
        finally:
            self.seconds += perf_counter() - begun

    def fail(self, error: CompilerError) -> None:
        """Say once why nothing more is compiled."""
        if not self.failed:
            self.failed = True
            _LOG.warning("programs stay in Python: %s", error)

    def refuse(self, functions: Iterable[Function]) -> bool:
        """Leave to numpy those of some functions that differ from machine to machine; False if there are none."""
        found = BY_PROCESSOR.intersection(functions) - self.refused
        self.refused |= found
        return bool(found)

    def _work(self) -> None:
        while True:
            work = self._todo.get()
            work()
            del work  # it may hold a program


COMPILING: Final = Workshop()
