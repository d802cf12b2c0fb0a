"""Programs: equations over variables that are assigned once, for a number of rows that may be left open.

Knows: sizes, abstract values, equations; how a program prints, what makes it well formed, and what it means.
Refuses to know: graphs, derivatives, buffers, text that is run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from heapq import heappop, heappush
from itertools import pairwise
from types import CodeType
from typing import Any, Final, Literal, NamedTuple

from wengert.arrays.abstract import UNKNOWN, Aval, RowCount, RowTotals, Sizes
from wengert.arrays.changes import carry_out
from wengert.arrays.kernels import EFFECTS

Function = Callable[..., Any]  # Any: functions of an array library, and rules of users
Argument = Any  # Any: variables, constants, and tuples and slices of them


_NESTED: Final = (tuple, list, slice)


@dataclass(slots=True, eq=False)
class Var:
    """A variable, assigned once: by an equation or from outside. Two are equal if they are one."""

    aval: Aval

    @property
    def shape(self) -> Sizes:
        """The sizes of its axes."""
        return self.aval.shape

    @property
    def ndim(self) -> int:
        """The number of its axes."""
        return len(self.aval.shape)

    @property
    def dtype(self) -> Any:  # Any: numpy's dtype, a class, or None
        """The element type."""
        return self.aval.dtype

    @property
    def compact(self) -> bool:
        """True if it is an array with axes in C order, so that it can lie in a buffer."""
        return self.aval.form == "array" and self.aval.order == "compact" and bool(self.aval.shape)

    @property
    def rows(self) -> int | None:
        """The lines of its first axis that belong to one row; None where that axis is not of rows."""
        first = self.aval.shape[0] if self.aval.form == "array" and self.aval.shape else None
        return first.times if isinstance(first, RowCount) else None


class SourceInfo(NamedTuple):
    """The operation that an equation is part of, and the instruction with which the user built it."""

    part: Literal["forward", "backward", "update"]
    operation: str
    code: CodeType | str = ""  # as an expression has it; empty for what nobody wrote
    offset: int = 0


@dataclass(slots=True, eq=False)
class Eqn:
    """`result = function(*arguments, **options)`. Not `pure`: it may keep and change what it is given."""

    function: Function
    arguments: tuple[Argument, ...]
    options: Mapping[str, Argument]
    result: Var
    pure: bool = True
    source: SourceInfo | None = None
    reads: tuple[Var, ...] = field(init=False)  # the variables among its arguments

    def __post_init__(self) -> None:
        found: list[Var] = []
        for x in (*self.arguments, *self.options.values()) if self.options else self.arguments:
            if type(x) is Var:
                found.append(x)
            elif isinstance(x, _NESTED):
                found += vars_in(x)
        self.reads = tuple(found)

    @property
    def constant(self) -> bool:
        """True if it reads no variable: its result depends on the number of rows alone."""
        return not self.reads

    @property
    def effect(self) -> bool:
        """True if its result is a list of changes that are to be made to its first argument."""
        return self.function in EFFECTS

    @property
    def opaque(self) -> bool:
        """True if nothing is known of the function: it may keep and change what it is given."""
        return not self.pure and not self.effect


def effect(
    function: Function,
    arguments: Sequence[Argument],
    options: Mapping[str, Argument],
    source: SourceInfo | None = None,
) -> Eqn:
    """The equation of an effect."""
    return Eqn(function, tuple(arguments), options, Var(UNKNOWN), False, source)


@dataclass(slots=True, eq=False)
class Program:
    """Equations in order, from `inputs` to `outputs`; the first `forward` of them are its first part.

    When all are known, `targets` are there, and the `effects` change them. Without targets nothing is changed.
    What a target was `before` may be an input, too; no target has the memory of the inputs that are `apart`.
    """

    inputs: Sequence[Var]
    eqns: Sequence[Eqn]
    outputs: Sequence[Argument]
    forward: int | None = None
    targets: Sequence[Var] | None = None
    effects: Sequence[Eqn] = ()
    before: Mapping[Var, Var] = field(default_factory=dict)
    apart: Sequence[Var] = ()

    def __str__(self) -> str:
        return "\n".join(line for _, line in printed_lines(self))


def printed_lines(p: Program) -> Iterator[tuple[Eqn | None, str]]:
    """The lines of a program: one for each input, equation and output; those of equations with these."""
    names: dict[Var, str] = {}

    def text(x: Argument) -> str:
        if isinstance(x, Var):
            return names.setdefault(x, f"v{len(names)}")
        if isinstance(x, slice):
            ends = ["" if end is None else text(end) for end in (x.start, x.stop, x.step)]
            return ":".join(ends if ends[2] else ends[:2])
        if isinstance(x, (tuple, list)):
            return f"({', '.join(map(text, x))})"
        if getattr(x, "shape", ()):
            return f"<{x.dtype}{list(x.shape)}>"
        return name_of(x) if callable(x) else repr(x)

    for x in p.inputs:
        yield None, f"in  {text(x)}: {x.aval}"

    def called(e: Eqn) -> str:
        options = [f"{name}={text(value)}" for name, value in e.options.items()]
        return f"{text(e.function)}{'!' * e.opaque}({', '.join([*map(text, e.arguments), *options])})"

    for i, e in enumerate(p.eqns):
        if i == p.forward:
            yield None, "    --"
        given = called(e)
        yield e, f"    {text(e.result)}: {e.result.aval} = {given}"
    yield None, f"out {', '.join(map(text, p.outputs))}"
    for x in p.targets or ():
        yield None, f"at  {text(x)}: {x.aval}"
    for e in p.effects:
        yield e, f"    {called(e)}"


def name_of(function: Function) -> str:
    """The name of a function as a program shows it.

    >>> import numpy as np
    >>> name_of(np.tanh), name_of(np.add.reduce)
    ('tanh', 'add.reduce')
    """
    name: str = getattr(function, "__name__", type(function).__name__)
    owner = getattr(getattr(function, "__self__", None), "__name__", "")
    return f"{owner}.{name}" if name == "reduce" else name


def parts_of(x: Argument) -> Iterable[Argument]:
    """Parts of a tuple, list or slice among arguments."""
    return (x.start, x.stop, x.step) if isinstance(x, slice) else x


def vars_in(x: Argument) -> Iterator[Var]:
    """The variables in an argument."""
    if isinstance(x, Var):
        yield x
    elif isinstance(x, _NESTED):
        for part in parts_of(x):
            if isinstance(part, Var):
                yield part
            elif isinstance(part, _NESTED):
                yield from vars_in(part)


def mentions_rows(x: Argument) -> bool:
    """True if the number of rows is among the constants of an argument."""
    return any(map(mentions_rows, parts_of(x))) if isinstance(x, _NESTED) else isinstance(x, RowCount)


def mapped(function: Callable[[Argument], Argument], x: Argument) -> Argument:
    """`x` with `function` applied to all that is no tuple, list or slice in it."""
    if isinstance(x, slice):
        return slice(*(mapped(function, part) for part in parts_of(x)))
    return tuple(mapped(function, part) for part in x) if isinstance(x, (tuple, list)) else function(x)


def waits_of(eqns: Sequence[Eqn]) -> list[set[int]]:
    """For each equation those that it waits for, by number: calls of users' functions stay in their order, too."""
    made_by = {e.result: i for i, e in enumerate(eqns)}
    found = [{made_by[x] for x in e.reads if x in made_by} for e in eqns]
    for before, after in pairwise(i for i, e in enumerate(eqns) if e.opaque):
        found[after].add(before)
    return found


def in_order(waits: Mapping[int, Iterable[int]], places: Mapping[int, int]) -> Iterator[int]:
    """Units by number, each after those that it waits for, else by their places.

    >>> [*in_order({0: [2], 1: [], 2: []}, {0: 10, 1: 30, 2: 20})]
    [2, 0, 1]
    """
    sorter = TopologicalSorter(waits)
    sorter.prepare()
    ready: list[tuple[int, int]] = []
    while sorter.is_active():
        for unit in sorter.get_ready():
            heappush(ready, (places[unit], unit))
        _, unit = heappop(ready)
        yield unit
        sorter.done(unit)


def at_rows(x: Argument, rows: RowTotals) -> Argument:
    """`x` for so many rows.

    >>> at_rows((RowCount(2), 3, slice(0, RowCount())), 5)
    (10, 3, slice(0, 5, None))
    """
    return mapped(lambda part: part.at(rows) if isinstance(part, RowCount) else part, x)


def check(p: Program) -> None:
    """Raise unless each variable is assigned once, before its uses."""
    known = set(p.inputs)
    for e in p.eqns:
        if not known.issuperset(e.reads):
            raise AssertionError(f"{e.function} reads what is not assigned yet\n{p}")
        if e.result in known:
            raise AssertionError(f"{e.function} assigns again\n{p}")
        known.add(e.result)
    if not known.issuperset(vars_in(tuple(p.outputs))):
        raise AssertionError(f"an output is never assigned\n{p}")
    known.update(p.targets or ())
    if not all(known.issuperset(e.reads) for e in p.effects):
        raise AssertionError(f"an effect reads what is never assigned\n{p}")


Values = dict[Var, Any]  # Any: data


# Any: data
def evaluate(p: Program, inputs: Sequence[Any], rows: int = 0, targets: Sequence[Any] = ()) -> list[Any]:
    """The outputs for these inputs, and changes of the targets: the meaning of a program, which compiled ones have."""
    values = dict(zip(p.inputs, inputs, strict=True))
    assign(p.eqns, values, vars_in((*p.outputs, *(e.reads for e in p.effects))), rows)
    values |= zip(p.targets or (), targets, strict=True)
    for e in p.effects:
        carry_out(called(e, values, rows))
    return [now(x, values, rows) for x in p.outputs]


def assign(eqns: Sequence[Eqn], values: Values, wanted: Iterable[Var], rows: int = 0) -> None:
    """Find the results of equations; values go after their last use, unless they are `wanted`."""
    last = {x: e for e in eqns for x in e.reads} | dict.fromkeys(wanted)
    for e in eqns:
        values[e.result] = called(e, values, rows)
        for x in e.reads:
            if last[x] is e:
                values.pop(x, None)


def called(e: Eqn, values: Values, rows: int = 0) -> Any:  # Any: data
    """The result of one equation."""
    options = {name: now(x, values, rows) for name, x in e.options.items()}
    return e.function(*(now(x, values, rows) for x in e.arguments), **options)


def now(x: Argument, values: Values, rows: int = 0) -> Any:  # Any: data
    """An argument with the values of its variables."""
    return at_rows(mapped(lambda part: values[part] if isinstance(part, Var) else part, x), rows)
