"""Programs: equations over variables that are assigned once, for a number of rows that may be left open.

Knows: sizes, abstract values, equations; how a program prints, what makes it well formed, and what it means.
Refuses to know: graphs, derivatives, buffers, text that is run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from wengert.arrays.abstract import Aval, RowCount, Sizes

Function = Callable[..., Any]  # Any: functions of an array library, and rules of users
Argument = Any  # Any: variables, constants, and tuples and slices of them


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
        """Whether it is an array with axes in C order, so that it can lie in a buffer."""
        return self.aval.form == "array" and self.aval.order == "compact" and bool(self.aval.shape)

    @property
    def rows(self) -> int | None:
        """The lines of its first axis that belong to one row; None where that axis is not of rows."""
        first = self.aval.shape[0] if self.aval.form == "array" and self.aval.shape else None
        return first.times if isinstance(first, RowCount) else None


@dataclass(slots=True, eq=False)
class Eqn:
    """`result = function(*arguments, **options)`. Not `pure`: it may keep and change what it is given."""

    function: Function
    arguments: tuple[Argument, ...]
    options: Mapping[str, Argument]
    result: Var
    pure: bool = True
    reads: tuple[Var, ...] = field(init=False)  # the variables among its arguments

    def __post_init__(self) -> None:
        self.reads = tuple(vars_in((self.arguments, *self.options.values())))

    @property
    def constant(self) -> bool:
        """Whether it reads no variable: its result depends on the number of rows alone."""
        return not self.reads


@dataclass(slots=True, eq=False)
class Program:
    """Equations in order, from `inputs` to `outputs`; the first `forward` of them are its first part."""

    inputs: Sequence[Var]
    eqns: Sequence[Eqn]
    outputs: Sequence[Argument]
    forward: int | None = None

    def __str__(self) -> str:
        return "\n".join(_lines(self))


def _lines(p: Program) -> Iterator[str]:
    """A line for each input, equation and output."""
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
        yield f"in  {text(x)}: {x.aval}"
    for i, e in enumerate(p.eqns):
        if i == p.forward:
            yield "    --"
        options = [f"{name}={text(value)}" for name, value in e.options.items()]
        called = (
            f"{text(e.function)}{'' if e.pure else '!'}({', '.join([*map(text, e.arguments), *options])})"
        )
        yield f"    {text(e.result)}: {e.result.aval} = {called}"
    yield f"out {', '.join(map(text, p.outputs))}"


def name_of(function: Function) -> str:
    """The name of a function as a program shows it.

    >>> import numpy as np
    >>> name_of(np.tanh), name_of(np.add.reduce)
    ('tanh', 'add.reduce')
    """
    name: str = getattr(function, "__name__", type(function).__name__)
    owner = getattr(getattr(function, "__self__", None), "__name__", "")
    return f"{owner}.{name}" if name == "reduce" else name


_NESTED: Final = (tuple, list, slice)


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
    """Whether the number of rows is among the constants of an argument."""
    return any(map(mentions_rows, parts_of(x))) if isinstance(x, _NESTED) else isinstance(x, RowCount)


def mapped(function: Callable[[Argument], Argument], x: Argument) -> Argument:
    """`x` with `function` applied to all that is no tuple, list or slice in it."""
    if isinstance(x, slice):
        return slice(*(mapped(function, part) for part in parts_of(x)))
    return tuple(mapped(function, part) for part in x) if isinstance(x, (tuple, list)) else function(x)


def at_rows(x: Argument, rows: int) -> Argument:
    """`x` for so many rows.

    >>> at_rows((RowCount(2), 3, slice(0, RowCount())), 5)
    (10, 3, slice(0, 5, None))
    """
    return mapped(lambda part: part.times * rows if isinstance(part, RowCount) else part, x)


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


def evaluate(p: Program, inputs: Sequence[Any], rows: int = 0) -> list[Any]:  # Any: data
    """The outputs for these inputs: what a program means, and what its compiled form is compared with."""
    values = dict(zip(p.inputs, inputs, strict=True))

    def now(x: Argument) -> Any:  # Any: data
        found = mapped(lambda part: values[part] if isinstance(part, Var) else part, x)
        return at_rows(found, rows)

    for e in p.eqns:
        options = {name: now(x) for name, x in e.options.items()}
        values[e.result] = e.function(*map(now, e.arguments), **options)
    return [now(x) for x in p.outputs]
