"""Programs whose fused groups are compiled by the machine's C compiler, in a thread beside the runs.

Knows: that a program starts as Python and stays so wherever compiling fails; that it is compiled when what its runs
would have saved pays for that, or at once where the library is in the cache; that a group is used only if it has given
numpy's bits for NaN, infinities, signs of zero and random elements on this machine; how long a process may compile.
Refuses to know: the text of loops, flags and folders, and what a program is for.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from logging import getLogger
from math import ceil
from pathlib import Path
from queue import SimpleQueue
from threading import Lock, Thread
from time import perf_counter
from typing import Final

from wengert.arrays import Shape, all_quiet
from wengert.arrays.abstract import Sizes, sizes_for
from wengert.arrays.agreement import drawn_lines, same_but_for_nan
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
from wengert.program.emit import FusedCall
from wengert.program.fused import FusedGroup, FusedUpdate, fused, fused_updates, seconds_of
from wengert.program.loops import C, axes_of, loop_text
from wengert.program.program import Eqn, Function, Program, Values, Var, assign
from wengert.run.compiled.program import PlanProgram, PlanText, buffers_of, simplified

__all__ = ["FusedProgram", "FusingProgram", "Library", "Workshop", "agrees"]

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
            self._found = Library([*groups, *(update.group for update in self._updates)])
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
        steps = {update.step for update in changed.values()}
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
