"""Programs of steps: what an optimizer does with the delta of one weight, where no plan of a loss has that.

Knows: that large weights of one settings object, shape and element type take the same step, which is told by their
delta, their states, the numbers of these settings, what the commit has told their optimizers, and by their names where
a step asks for them; that a delta which is lazy may stay so, and then has no program; that the interpreter takes a step
where anything is in doubt.
Refuses to know: where deltas come from, when weights change, and how.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from weakref import WeakSet

from wengert.arrays import Value, is_host_array
from wengert.arrays.infer import aval_of
from wengert.control import without_collector
from wengert.graph.kinds import Column
from wengert.graph.weights import Update
from wengert.later import later
from wengert.lazy import LazyDelta, Rows, dense
from wengert.run.commit import Changing, fails, stepped
from wengert.run.compiled.cache import Cache, Item, RunCounts

if TYPE_CHECKING:
    from wengert.arrays.abstract import Aval
    from wengert.run.compiled.lowered import Updating
    from wengert.run.compiled.program import PlanProgram

_WORTH: Final = 8  # steps after which one may get its program, as a structure its plan after as many runs
# elements: a program of Adam takes 0.8 of the interpreter's time for as many, 1.1 for a quarter
_LEAST: Final = 1 << 14
_FEW: Final = 8  # equations: fewer are computed as they are in the same time
_traced_step = later("wengert.run.compiled.compiler", "traced_step")
_fusing = later("wengert.run.compiled.program", "FusingProgram")
_plain = later("wengert.run.compiled.program", "PlanProgram")


class Beside(NamedTuple):
    """States before a step, and what this commit has told the optimizer: with data and delta they decide it."""

    states: dict[str, Value]
    told: dict[str, Value]


class StepProgram(Item):
    """One step: of data, a delta, numbers of settings, states and what was told a step and the next states."""

    def __init__(self, program: PlanProgram, delta: Aval, of: Updating, settings: object) -> None:
        self.program = program
        self.delta = delta  # a lazy one is known once it has been carried out
        self.numbers = of.told[0][1] if of.told else ()
        self.dropped = of.dropped
        self.settings = settings  # they have to live as long as their id counts

    def size(self) -> int:
        return self.program.size()

    def let_go(self) -> None:
        self.program.forget()

    def outputs(self, update: Update, given: Beside) -> Sequence[Value]:
        """The step of a delta that is an array, and the states after it."""
        weight, delta, optimizer = update
        numbers = optimizer.inputs() if self.numbers else {}
        self.program = self.program.latest()
        settings = [numbers[name] for name in self.numbers]
        told = _parts(given.told)
        return self.program.called((weight.ref.data, delta, *settings, *given.states.values(), *told))


class StepPrograms:
    """Programs that executors share; made after `worth` steps of weights of `least` elements or more."""

    def __init__(
        self, native: bool = True, worth: int = _WORTH, least: int = _LEAST, few: int = _FEW
    ) -> None:
        self._make: Callable[..., Any] = _fusing if native else _plain  # Any: a class that is loaded later
        self._least, self._few = least, few
        self._without: WeakSet[type] = WeakSet()  # optimizers of few equations
        self._named: WeakSet[type] = WeakSet()  # optimizers whose steps ask for the name of the weight
        self._runs = RunCounts(worth)
        self._made: Cache[object, StepProgram] = Cache()

    @property
    def made(self) -> int:
        """How many there are."""
        return len(self._made.items())

    def stepped(self, update: Update, written: set[int]) -> Changing:
        """As the interpreter's, by a program if there is one."""
        weight, delta, optimizer = update
        if weight.kind.column is not Column.ARRAY or weight.ref.data.size < self._least:
            return stepped(update, written)
        given = None if type(optimizer) in self._without else _beside(update)
        if given is None:
            return stepped(update, written)
        key = self._key(update, given)
        for found in self._made.of(key):
            whole = dense(delta)
            if aval_of(whole) != found.delta:
                return stepped(update, written)
            self._made.use(key, found)
            try:
                step, *after = found.outputs(Update(weight, whole, optimizer), given)
            except Exception as failure:
                self._made.drop(key, found)
                change = stepped(update, written)  # or the interpreter says whose it is
                fails(f"a step of {weight!r}", repr(failure))
                return change
            vars(optimizer).update(zip(given.states, after, strict=True))
            vars(optimizer).update(dict.fromkeys(found.dropped))
            return stepped(update, written, step)
        if self._runs.earned(key):
            self._trace(update, given)
        return stepped(update, written)

    def _key(self, update: Update, given: Beside) -> object:
        weight, delta, optimizer = update
        kind = type(optimizer)
        return (
            *(kind, id(optimizer.settings), aval_of(weight.ref.data)),
            isinstance(delta, LazyDelta) or aval_of(delta),
            *((name, _form(x)) for of in given for name, x in of.items()),
            weight.name if kind in self._named else None,
        )

    def _trace(self, update: Update, given: Beside) -> None:
        """Make the program of this step, if there is one that pays; the interpreter takes it this time."""
        weight, delta, optimizer = update
        with without_collector():
            aval = aval_of(dense(delta))
            found = _traced_step(weight, aval, isinstance(delta, LazyDelta), given.told)
            if found is None:
                return
            program, of = found
            if of.named:
                self._named.add(type(optimizer))
            if len(program.eqns) < self._few:
                self._without.add(type(optimizer))
            else:
                made = StepProgram(self._make(program), aval, of, optimizer.settings)
                self._made.keep(self._key(update, given), made)


_ALL: Final = {native: StepPrograms(native) for native in (True, False)}  # of all executors


def steps(native: bool) -> StepPrograms:
    """The programs of the process, with compiled groups or without."""
    return _ALL[native]


def _beside(update: Update) -> Beside | None:
    """The rest of what decides a step, for an array of the host; None where that is not known."""
    weight, delta, optimizer = update
    if isinstance(delta, LazyDelta):
        if isinstance(delta.first, Rows):
            return None
    elif not is_host_array(delta):
        return None
    states = optimizer.state() if is_host_array(weight.ref.data) else None
    if states is None:
        return None
    told = {name: x for name, x in vars(optimizer).items() if name not in states and name != "_settings"}
    return Beside(states, told) if all(map(_is_data, _parts(told))) else None


def _parts(told: dict[str, Value]) -> Iterator[Value]:
    """All that a commit has told an optimizer: values, and those in tuples."""
    for x in told.values():
        yield from x if isinstance(x, tuple) else (x,)


def _is_data(x: Value) -> bool:
    return type(x) is float or is_host_array(x)


def _form(x: Value) -> object:
    return tuple(map(aval_of, x)) if isinstance(x, tuple) else aval_of(x)
