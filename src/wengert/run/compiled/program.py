"""A traced evaluation as straight-line Python: what nobody needs is left out, buffers are used again and again.

Knows: how calls are written as lines; that numbers beside arrays and views of buffers are made once, and not in
each run; which calls have a shorter way; that programs with the same text and constants are one, so that their
buffers and code stay in the processor's cache where runs of several structures take turns.
Refuses to know: what the functions compute, where inputs come from, and where results lie.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Generator, Hashable, Iterable, Sequence
from dataclasses import replace
from math import prod
from types import FunctionType
from typing import Any, Final
from weakref import WeakValueDictionary

from wengert.arrays import HOST, Generic0d, Value, is_array, is_host_array
from wengert.arrays.changes import Change, carry_out
from wengert.arrays.kernels import (
    SPELLED,
    constant_beside,
    kernel_of,
    new_buffer,
    subtract_into,
    transposed,
)
from wengert.program.text import SIGNS, Constants, executed
from wengert.run.compiled.cache import LINE
from wengert.run.compiled.layout import Layout
from wengert.run.compiled.siblings import known_by
from wengert.run.compiled.tracing import Call, Trace, Traced, traced_in

_MANY: Final = 100  # lines that are not compiled at once
_NAME: Final = re.compile(r"\b[pbuvt]\d+\b")  # of a value, not of a constant


class PlanProgram:
    """A function of its inputs, and of a set of buffers that one run at a time may use."""

    def __init__(
        self, trace: Trace, outputs: Sequence[Any], targets: Sequence[Traced] | None = None
    ) -> None:  # Any: outputs are traced values or constants
        calls = lines_of(trace, outputs)
        layout = Layout(calls, outputs)
        text = _PlanText(trace.inputs, targets, layout)
        self._compile(text, text.lines(calls, outputs))

    @classmethod
    def in_steps(
        cls, trace: Trace, outputs: Sequence[Any], targets: Sequence[Traced] | None = None
    ) -> Generator[None, None, PlanProgram]:  # Any: as in `__init__`
        """Make a program in steps."""
        made = object.__new__(cls)
        calls = lines_of(trace, outputs)
        yield
        layout = Layout(calls, outputs)
        yield
        text = _PlanText(trace.inputs, targets, layout)
        lines = text.lines(calls, outputs)
        pure = sum(call.result is not None for call in calls)
        if pure >= _MANY:
            yield
            lines = text.without_middle(lines, pure)
        yield
        made._compile(text, lines)
        return made

    def _compile(self, text: _PlanText, lines: Iterable[str]) -> None:
        """Make a function of its lines, which give the outputs."""
        source = _function("program", "inputs, buffers", lines)
        self.source = source + text.middle
        self._body = body = _body_of(text, source)
        # the outputs; with targets a generator, which gives the first, asks for targets and ends with all outputs
        # and what changes the targets
        self.run: Callable[..., Any] = body.run  # Any: one of the two
        self._forms, self._views, self._free = body.forms, body.views, body.free

    def carry_out(self, changes: Any, last: Iterable[Change]) -> None:  # Any: as `run` gives them
        """Make the changes of a run, and then the last ones."""
        carry_out([*changes, *last])

    def take(self) -> tuple[Value, ...]:
        """A set of buffers that no other run uses now."""
        try:
            return self._free.pop()
        except IndexError:
            made = [new_buffer(shape, dtype) for shape, dtype in self._forms]
            return (*made, *(look(made[at]) for at, look in self._views))

    def give(self, buffers: tuple[Value, ...]) -> None:
        """The set is free again."""
        if len(self._free) < 2:  # more would only keep memory
            self._free.append(buffers)

    def forget(self) -> None:
        """Let go of the sets that nobody uses."""
        self._free.clear()

    def size(self) -> int:
        """Bytes of its code, and of the sets of buffers that it keeps between runs, one at least."""
        return LINE * self.source.count("\n") + self._body.bytes * max(1, len(self._free))


class _Body:
    """Code and buffers that equal programs share."""

    def __init__(self, text: _PlanText, source: str) -> None:
        self.run = text.compiled(source, "program")
        self.forms = text.layout.buffers
        self.views = list(text.layout.views.values())
        self.bytes: int = sum(
            prod(shape) * dtype.itemsize for shape, dtype in self.forms
        )  # of a set of buffers
        self.free: list[tuple[Value, ...]] = []  # sets of buffers


_BODIES: Final[WeakValueDictionary[Hashable, _Body]] = WeakValueDictionary()


def _body_of(text: _PlanText, source: str) -> _Body:
    looks = [(at, look.key) for at, look in text.layout.views.values()]
    key = (
        source,
        text.middle,
        *text.layout.buffers,
        *looks,
        *((name, known_by(x)) for name, x in text.constants.scope.items()),
    )
    try:
        found = _BODIES.get(key)
    except TypeError:  # a constant that has no hash
        return _Body(text, source)
    return _BODIES.setdefault(key, _Body(text, source)) if found is None else found


def lines_of(trace: Trace, outputs: Sequence[object]) -> list[Call]:
    """The calls of a program, each as short as it can be; effects come last, so what they read lives until then."""
    calls: list[Call] = []
    for call in needed(trace.calls, outputs):
        calls += _spelled(trace, call) if call.function in SPELLED else [call]
    return sorted(calls, key=lambda call: call.result is None)


def _spelled(trace: Trace, call: Call) -> list[Call]:
    before: list[Call] = []

    def flat(x: Any) -> Any:  # Any: traced, or a constant array
        if not isinstance(x, Traced):
            return x.reshape(-1)
        seen = Traced(trace, x.value.reshape(-1))
        before.append(Call(HOST.reshape, (x, (-1,)), {}, seen, pure=True))
        return seen

    found = SPELLED[call.function](flat, *call.arguments)
    return [call] if found is None else [*before, replace(call, function=found[0], arguments=found[1])]


def needed(calls: Sequence[Call], outputs: Sequence[object]) -> list[Call]:
    """The calls that the outputs or an effect depend on, and those of which nothing is known."""
    wanted = set(traced_in(tuple(outputs)))
    kept = []
    for call in reversed(calls):
        if not call.pure or call.result in wanted:
            wanted.update(traced_in(call.arguments))
            kept.append(call)
    return kept[::-1]


def _function(name: str, arguments: str, lines: Iterable[str]) -> str:
    return f"def {name}({arguments}):\n" + "".join(f" {x}\n" for x in lines if x)


def _defined(line: str) -> list[str]:
    """The names that a line gives values."""
    left, equals, _ = line.partition(" = ")
    return _NAME.findall(left) if equals else []


class _PlanText:
    """The names of values, and the source."""

    def __init__(self, inputs: Sequence[Traced], targets: Sequence[Traced] | None, layout: Layout) -> None:
        self.names: dict[Traced, str] = {x: f"p{i}" for i, x in enumerate(inputs)}
        self.names |= {x: f"t{i}" for i, x in enumerate(targets or ())}
        self.names |= {x: f"u{i}" for i, x in enumerate(layout.views)}
        self.inputs = [self.names[x] for x in inputs]
        self.targets = None if targets is None else [self.names[x] for x in targets]
        self.layout = layout
        self.constants = Constants()
        self.middle = ""  # the source of a part that has been compiled already
        self._compiled: dict[str, Callable[..., Any]] = {}  # Any: a tuple of values
        self._numbers: dict[object, Value] = {}  # one array for all calls that have a number beside an array

    def lines(self, calls: Sequence[Call], outputs: Sequence[object]) -> list[str]:
        """The body: whoever runs it gets the first output after the last pure call, and is asked for the targets."""
        pure = [self.line(call) for call in calls if call.result is not None]
        asking = self.asking(outputs)
        return [*self.head(), *pure, asking, self.end(outputs, self.changes(calls))]

    def changes(self, calls: Iterable[Call]) -> str:
        """A list of all changes that effects give."""
        return f"[{', '.join([self.change(call) for call in calls if call.result is None])}]"

    def end(self, outputs: Sequence[object], changes: str) -> str:
        """The last line; the changes only of a program with targets."""
        leaving = self._leaving(outputs)
        return f"return {leaving}" if self.targets is None else f"return {leaving}, {changes}"

    def asking(self, outputs: Sequence[object]) -> str:
        """The line between what is computed and what is changed."""
        if self.targets is None:
            return ""
        return self._unpacked(self.targets, f"yield {self._value(outputs[0])}")

    def head(self) -> list[str]:
        """The lines that give inputs and buffers their names."""
        buffers = [f"b{i}" for i in range(len(self.layout.buffers))]
        buffers += [self.names[x] for x in self.layout.views]
        return [self._unpacked(self.inputs, "inputs"), self._unpacked(buffers, "buffers")]

    def without_middle(self, lines: Sequence[str], pure: int) -> list[str]:
        """The lines, in place of those in the middle of the pure ones a call of a function of them, compiled here.

        Compiling a line takes as long as some runs of it, and Python compiles a function at once. What a chain of nodes
        computes in the middle, last there and first back, is read by little else.
        """
        begin, end = 2 + pure // 4, 2 + 3 * pure // 4  # two lines unpack inputs and buffers
        before = {name for line in lines[:begin] for name in _defined(line)}
        made = {name for line in lines[begin:end] for name in _defined(line)}
        used = {name for line in lines[begin:end] for name in _NAME.findall(line)}
        read = {name for line in lines[end:] for name in _NAME.findall(line)}
        given, back = sorted(used & before), sorted(made & read)
        inner = [*lines[begin:end], f"return ({''.join(f'{x}, ' for x in back)})"]
        self.middle = _function("middle", ", ".join(given), inner)
        self._compiled["middle"] = self.compiled(self.middle, "middle")
        return [*lines[:begin], self._unpacked(back, f"middle({', '.join(given)})"), *lines[end:]]

    def compiled(self, source: str, name: str) -> Callable[..., Any]:  # Any: the program's outputs
        """The source as a function."""
        made: FunctionType = executed(source, {**self.constants.scope, **self._compiled}, "<plan>")[name]
        return made

    @staticmethod
    def _unpacked(names: Sequence[str], value: str) -> str:
        return f"({', '.join(names)},) = {value}" if names else f"() = {value}"

    def line(self, call: Call) -> str:
        """Line that makes a call and lets go of values that nobody reads after it."""
        made = "" if call.result in self.layout.views else self._made(call)
        over = [self.names[x] for x in self.layout.ends.get(call, ())]
        return "; ".join(part for part in (made, f"del {', '.join(over)}" if over else "") if part)

    def change(self, call: Call) -> str:
        """Text of the changes of an effect."""
        return self._made(call)

    def _made(self, call: Call) -> str:
        result, function = call.result, call.function
        arguments = [self._given(x) if call.opaque else self._value(x) for x in call.arguments]
        options = [f"{name}={self._value(x)}" for name, x in call.options.items()]
        if function is subtract_into:
            w, d = arguments
            return f"({self.constants.name(kernel_of(operator.sub).into)}, {w}, {d}, {w})"
        if result is None:
            return f"*{self.constants.name(function)}({', '.join([*arguments, *options])})"
        if result in self.layout.place:
            into = kernel_of(function).into
            self.names[result] = buffer = f"b{self.layout.place[result]}"
            if len(call.arguments) == 2 and into is not None:
                arguments = [self._beside(x, y, into) for x, y in (call.arguments, call.arguments[::-1])]
            return f"{self.constants.name(into)}({', '.join([*arguments, *options, f'out={buffer}'])})"
        self.names[result] = name = f"v{len(self.names)}"
        sign = SIGNS.get(function)
        if function is HOST.divide and isinstance(result.value, Generic0d):
            sign = "/"  # of numbers it takes a tenth of the time
        if sign is not None:
            return f"{name} = {arguments[0]} {sign} {arguments[1]}"
        if function is operator.neg:
            return f"{name} = -{arguments[0]}"
        if function is operator.getitem:
            return f"{name} = {arguments[0]}[{arguments[1]}]"
        matrix = is_host_array(result.value) and result.ndim == 2
        if function is transposed or (function is HOST.swap_last and matrix):
            return f"{name} = {arguments[0]}.T"
        return f"{name} = {self.constants.name(function)}({', '.join([*arguments, *options])})"

    def _value(self, x: object) -> str:
        if isinstance(x, Traced):
            return self.names[x]
        if isinstance(x, tuple):
            return self._sequence(x)
        return self.constants.text(x)

    def _beside(self, x: object, other: object, into: Callable[..., Any]) -> str:  # Any: as in SIGNS
        """An argument of a call into a buffer, beside the other one."""
        if isinstance(x, Traced) or not isinstance(other, Traced):
            return self._value(x)
        made = constant_beside(x, other.value, into)
        return self._value(x if made is x else self._numbers.setdefault((made.dtype, made.tobytes()), made))

    def _given(self, x: object) -> str:
        """A value for somebody who may write to it: of an array that all runs share a copy."""
        return f"{self._value(x)}.copy()" if is_array(x) else self._value(x)

    def _leaving(self, outputs: Sequence[object]) -> str:
        return f"({''.join(f'{self._given(x)}, ' for x in outputs)})"

    def _sequence(self, items: Sequence[object]) -> str:
        return f"({''.join(f'{self._value(x)}, ' for x in items)})"
