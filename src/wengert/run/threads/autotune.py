"""Autotuning: speculative starts and programs on several threads are taken where they have been faster.

Knows: that a bind which has ended, time and again, before a thread could have helped proves that no part waited for
another one, and that this depends on the functions that run, by which a structure is known; that the calls of a program
are timed, scheduled on lanes, and kept there only if the clock says so; that the cores may have been busy then, so
that the question is asked again; that two tasks share no buffer that either writes again, so that any order of tasks
gives the same bits, and that updates in place begin after the last step of all, each target's in their order.
Refuses to know: the scheduler and the threads; the meaning of calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import chain, pairwise
from math import inf
from threading import Lock
from time import perf_counter
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any, Final, NamedTuple

from wengert.arrays import Value, give_back
from wengert.arrays.changes import Change, carry_out, carry_out_by
from wengert.control import Do
from wengert.control.do import FlatMap, Question
from wengert.graph.node import Node
from wengert.graph.operation import EXTERNAL
from wengert.program.emit import ProgramText
from wengert.program.program import Eqn, Program, Var, vars_in
from wengert.program.text import tuple_text
from wengert.run.compiled.program import PlanProgram, PlanText, TimedProgram, buffers_of, simplified
from wengert.run.direct import forward_of
from wengert.run.threads.loops import HANDOFF
from wengert.run.threads.pool import TaskSchedule, ThreadPool, Uses, needs_of, schedule

_SURE: Final = 8  # starts in a row
_TURNS: Final = 500  # runs until it starts ahead again: to ask takes 0.3 ms
_MOST: Final = 4096  # structures
_DEEP: Final = 4  # functions in functions that are looked at


class SpeculationTuner:
    """The structures that one executor starts ahead of their turn, by what earlier starts have gained."""

    def __init__(self) -> None:
        # what has to live as long as its id counts, and runs since a thread could have helped, with those in turn
        self._seen: dict[tuple[int, ...], tuple[Sequence[object], int]] = {}

    def pays(self, of: Sequence[object]) -> bool:
        """True if it should start ahead this time."""
        key = tuple(map(id, of))
        _, runs = self._seen.get(key, (of, 0))
        if not _SURE <= runs < _SURE + _TURNS:
            return True
        self._seen[key] = of, runs + 1
        return False

    def learn(self, of: Sequence[object], alone: bool) -> None:
        """Record a start, and whether it ended `alone`: before a thread could have helped."""
        key = tuple(map(id, of))
        if key not in self._seen and len(self._seen) >= _MOST:
            self._seen = {}
        _, runs = self._seen.get(key, (of, 0))
        self._seen[key] = of, min(runs, _SURE - 1) + 1 if alone else 0


def functions_of(sources: Iterable[object]) -> Sequence[object]:
    """The key of the functions behind `Do`s: their code, and that of the functions which they hold."""
    found: list[object] = []
    left: list[tuple[Any, int]] = [(source, _DEEP) for source in sources]  # Any: whatever a `Do` holds
    for x, deep in left:  # which grows
        held: Iterable[object] = ()
        # almost all come from `differentiable`: its function, and what that is called with, say everything
        if type(x) is FlatMap and type(x.then) is partial and x.then.func is forward_of:
            made: Any = x.source  # Any: a coroutine of that function's
            x = made.make
        elif isinstance(x, Question):
            of: object = x.arguments[0]
            signature = of.signature if isinstance(of, Node) else None
            found += (x.method, signature)
            if isinstance(of, Node) and of.signature.mode == EXTERNAL:
                left.append((of.operands[0], deep))
            continue
        elif isinstance(x, Do):
            cls: type = type(x)
            parts = (getattr(x, name, None) for name in _slots_of(cls))
            left += [(part, deep) for part in parts if isinstance(part, Do) or callable(part)]
        if isinstance(x, partial):
            held = (*x.args, *x.keywords.values())
            x = x.func
        if isinstance(x, FunctionType):
            found.append(x.__code__)
            held = (*held, *map(_content, x.__closure__ or ()))
        elif isinstance(x, MethodType):
            held = (x.__func__,)
        else:
            owner = getattr(x, "__self__", None)  # of a method that is no function of Python's
            of_a_class = owner is not None and not isinstance(owner, ModuleType)
            found.append(type(owner) if of_a_class else x if callable(x) else type(x))
        if deep:
            left += [(part, deep - 1) for part in held if callable(part)]
    return found


@cache
def _slots_of(cls: type) -> tuple[str, ...]:
    return tuple(name for base in cls.__mro__ for name in getattr(base, "__slots__", ()))


def _content(cell: CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # nothing has been put into it yet
        return None


class Terms(NamedTuple):
    """The conditions under which a program runs on several threads."""

    handoff: float = HANDOFF  # seconds: a task pays two, and is worth a thread from twice that on
    timed: int = 3  # runs in which each call is timed
    tried: int = 7  # runs of either program, in turn, before one is chosen
    gain: float = 0.95  # of the straight line's time, which the tasks have to stay below
    again: int = 1000  # runs until the next trial, in which the worse way takes seven


TERMS: Final = Terms()


class Choice:
    """One of two ways, 0 in line and 1 in tasks, by what the clock says.

    Some runs are timed item by item, which shows whether tasks of them are worth a try; in a trial both ways take
    turns, and the second one is taken where it has been faster. A choice made while other programs kept the cores busy
    does not last: the trial is repeated now and then. One that is `fixed` from the begin lasts.
    """

    def __init__(self, terms: Terms, fixed: int | None = None) -> None:
        self.terms = terms
        self.way = fixed  # None: items are timed, or a trial goes on
        self.again: float = terms.again if fixed is None else inf  # runs until the next trial
        self._lock = Lock()
        self._runs: list[Sequence[float]] | None = [] if fixed is None else None  # what items took in each
        self._times: tuple[list[float], list[float]] = ([], [])
        self._turn = 0

    def next(self, divide: Callable[[list[float]], bool]) -> int | None:
        """The way of this run; None: in line, and its items are to be timed.

        `divide` makes tasks of items that take so long, and tells whether these are worth a try.
        """
        runs = self._runs
        if runs is not None:
            with self._lock:
                if len(runs) < self.terms.timed:
                    return None
                if self._runs is not None:
                    self._runs, self.way, self.again = None, 0, inf  # should it fail
                    if divide([min(several) for several in zip(*runs, strict=True)]):
                        tried = self.terms.tried > 0
                        self.way, self.again = (None, self.terms.again) if tried else (1, inf)
        self._turn = turn = self._turn + 1
        if turn >= self.again and self.way is not None:
            self._turn, self._times, self.way = 0, ([], []), None
        way = self.way
        return turn % 2 if way is None else way

    def timed(self, seconds: Sequence[float]) -> None:
        """Record what each item took in a run."""
        with self._lock:
            if self._runs is not None:
                self._runs.append(seconds)

    def learn(self, way: int, seconds: float) -> None:
        """Record a run, and choose when there are enough."""
        if self.way is not None:
            return
        with self._lock:
            self._times[way].append(seconds)
            if self.way is None and min(map(len, self._times)) >= self.terms.tried:
                first, second = map(min, self._times)  # a busy core makes single runs slow, never fast
                self.way = int(second < first * self.terms.gain)


class AutotunedProgram(PlanProgram):
    """A program that times its calls, and then runs in tasks or in a straight line, whichever has been faster."""

    def __init__(self, pool: ThreadPool, terms: Terms, p: Program) -> None:
        self._program = p = simplified(p)
        self._pool = pool
        self.choice = choice = Choice(terms)
        self._ways: tuple[PlanProgram, ...] = (PlanProgram(p),)  # the straight line, and then the tasks
        # as long as calls are timed; None later on
        self._timed: PlanProgram | None = TimedProgram(
            p, lambda marks: choice.timed([b - a for a, b in pairwise(marks)])
        )

    def take(self) -> tuple[Any, ...]:  # Any: a program, and buffers of its kind
        """The program of this run, its frame, and when it began."""
        at = self.choice.next(self._divide)  # here, where nothing has changed yet should it fail
        way = (self._timed if at is None else None) or self._ways[at or 0]
        self.source = way.source
        return way, way.take(), perf_counter()

    def give(self, frame: tuple[Any, ...], whole: bool = True) -> None:  # Any: as in `take`
        """Learn how long a whole run has taken, and free its frame."""
        way, own, begun = frame
        if whole and self.choice.way is None and way in self._ways:
            self.choice.learn(self._ways.index(way), perf_counter() - begun)
            self._settle()
        if self.chosen is None or way is self.chosen:
            way.give(own)

    @property
    def chosen(self) -> PlanProgram | None:
        """The program that runs now; None as long as nothing is chosen."""
        return None if self.choice.way is None else self._ways[self.choice.way]

    def forget(self) -> None:
        for way in self._programs():
            way.forget()

    def size(self) -> int:
        return sum(way.size() for way in self._programs())

    def _programs(self) -> list[PlanProgram]:
        """All programs of this one."""
        return [*self._ways, *([] if self._timed is None else [self._timed])]

    # Any: as in `take`; and `PlanProgram.run`
    def run(self, inputs: Sequence[Value], frame: tuple[Any, ...]) -> Any:
        """As `PlanProgram`, by the program of this run."""
        way, own, _ = frame
        return way.run(inputs, own)

    # Any: as in `take`; the way's own
    def carry_out(self, frame: tuple[Any, ...], changes: Any, last: Iterable[Change]) -> None:
        """As `PlanProgram`."""
        way, own, _ = frame
        way.carry_out(own, changes, last)

    def _divide(self, costs: Sequence[float]) -> bool:
        p, pool, handoff = self._program, self._pool, self.choice.terms.handoff
        self._timed = None
        if sum(costs) <= 2 * handoff:
            return False
        pure = len(p.eqns)
        tasks = ScheduledProgram(p, [*costs[:pure], *costs[pure + 2 :]], pool, handoff)
        if tasks.pays:
            self._ways = (*self._ways, tasks)
        return tasks.pays

    def _settle(self) -> None:
        """Let go of the buffers of the other way, where one has been chosen."""
        for other in self._ways if self.chosen is not None else ():
            if other is not self.chosen:
                other.forget()
                give_back()


class ScheduledProgram(PlanProgram):
    """A program whose tasks are functions of their own, which a thread pool runs as soon as they can begin."""

    def __init__(self, p: Program, costs: Sequence[float], pool: ThreadPool, handoff: float) -> None:
        pure, at = p.eqns, len(p.eqns)
        calls = [Uses({*e.reads}, {e.result}) for e in pure]
        first = schedule(needs_of(calls), costs[:at], pool.threads, handoff)
        order = _heaviest_first(p.effects, costs[at:])
        effects = [p.effects[i] for i in order]
        turns = needs_of(Uses(set(), {e.arguments[0]}) for e in effects)
        last = schedule(turns, [costs[at + i] for i in order], pool.threads, handoff)
        self.pays = first.span + last.span < sum(costs)
        groups = [*([pure[i] for i in part] for part in first.parts)]
        updates = [*([effects[i] for i in part] for part in last.parts)]
        lanes = {e: lane for lane, group in enumerate([*groups, *updates]) for e in group}
        p = replace(p, eqns=[*chain.from_iterable(groups)], effects=[*chain.from_iterable(updates)])
        text = PlanText(p, buffers_of(p, lanes))
        text.constants.scope["pool"] = pool.run
        tasks = _tasks(text, groups, first, _shared(groups, p))
        self._compile(text, text.lines(tasks, tuple_text(map(text.changes, updates))))
        self._pool, self._last = pool, last

    def carry_out(
        self, frame: tuple[Value, ...], changes: Sequence[list[Change]], last: Iterable[Change]
    ) -> None:
        """As `PlanProgram`, on several threads."""
        if len(changes) > 1:
            carry_out_by(partial(self._pool.run, schedule=self._last), changes, last)
        else:
            carry_out([*chain.from_iterable(changes), *last])


def _heaviest_first(effects: Sequence[Eqn], costs: Sequence[float]) -> list[int]:
    """Effects by the cost of all on their target, so that the last to be placed are small; in order for each target."""
    total: dict[object, float] = {}
    for e, cost in zip(effects, costs, strict=True):
        total[e.arguments[0]] = total.get(e.arguments[0], 0.0) + cost
    return sorted(range(len(effects)), key=lambda i: -total[effects[i].arguments[0]])


def _shared(groups: Sequence[Sequence[Eqn]], p: Program) -> set[Var]:
    """The results that are taken outside of their own task."""
    home = {e.result: at for at, group in enumerate(groups) for e in group}
    taken = {x for at, group in enumerate(groups) for e in group for x in e.reads if home.get(x, at) != at}
    return taken.union(vars_in(tuple(p.outputs)), *(e.reads for e in p.effects))


def _tasks(
    text: ProgramText, groups: Sequence[Sequence[Eqn]], tasks: TaskSchedule, shared: set[Var]
) -> list[str]:
    """The lines of tasks: a function each, and the call that runs them; a single task needs no function."""
    written = [[text.line(e) for e in group] for group in groups]
    if len(groups) <= 1:
        return [line for group in written for line in group]
    lines = []
    for at, (group, body) in enumerate(zip(groups, written, strict=True)):
        names = [
            name for e in group if e.result in shared and (name := text.names[e.result]) not in text.frame
        ]
        lines += [f"{name} = None" for name in names]
        lines.append(f"def r{at}():")
        lines += [f" nonlocal {name}" for name in names]
        lines += [f" {line}" for line in body if line] or [" pass"]
    works = "".join(f"r{at}, " for at in range(len(groups)))
    return [*lines, f"pool(({works}), {text.constants.name(tasks)})"]
