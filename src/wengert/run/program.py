"""A traced evaluation as straight-line Python: what nobody needs is left out, buffers are used again and again.

Knows: which values live how long, which share memory, and so where a result may be written (S11: never where
somebody else can see it: inputs, constants and what leaves the program are out of reach).
Refuses to know: what the functions compute, and where inputs come from.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import CodeType, FunctionType
from typing import Any, Final

from wengert.arrays import Generic0d, Value, freeze, is_array, is_host_array
from wengert.arrays.kernels import kernel_of, new_buffer
from wengert.run.tracing import Call, Trace, Traced, traced_in

_INFIX: Final[Mapping[Callable[..., Any], str]] = {  # Any: functions of numbers and arrays
    operator.add: "+",
    operator.sub: "-",
    operator.mul: "*",
    operator.truediv: "/",
    operator.pow: "**",
}
_PLAIN: Final = (int, bool, str, type(None))
_NUMBERS: Final = (int, float, Generic0d)  # share no memory with anything
Roots = frozenset[Traced]
Form = tuple[tuple[int, ...], Any]  # shape and dtype of a buffer; Any: numpy's or cupy's


class Program:
    """A function of its inputs, and of a set of buffers that one run at a time may use."""

    def __init__(
        self, trace: Trace, outputs: Sequence[Any], targets: Sequence[Traced] | None = None
    ) -> None:  # Any: outputs are traced values or constants
        # effects come last, so what they read has to live until then
        calls = sorted(needed(trace.calls, outputs), key=lambda call: call.result is None)
        layout = _Layout(calls, outputs)
        text = _Text(trace.inputs, targets, layout)
        self._compile(text, text.lines(calls, outputs))

    def _compile(self, text: _Text, lines: Iterable[str]) -> None:
        """Make a function of its lines, which give the outputs."""
        self.source = "def program(inputs, buffers):\n" + "".join(f" {x}\n" for x in lines if x)
        # the outputs; with targets a generator, which asks for those and then changes them
        self.run: Callable[..., Any] = text.compiled(self.source)  # Any: one of the two
        self._forms = text.layout.buffers
        self._free: list[tuple[Value, ...]] = []

    def take(self) -> tuple[Value, ...]:
        """A set of buffers that no other run uses now."""
        try:
            return self._free.pop()
        except IndexError:
            return tuple(new_buffer(shape, dtype) for shape, dtype in self._forms)

    def give(self, buffers: tuple[Value, ...]) -> None:
        """The set is free again."""
        if len(self._free) < 2:  # more would only keep memory
            self._free.append(buffers)

    def forget(self) -> None:
        """Let go of the sets that nobody uses."""
        self._free.clear()


def needed(calls: Sequence[Call], outputs: Sequence[object]) -> list[Call]:
    """The calls that the outputs or an effect depend on, and those of which nothing is known."""
    wanted = set(traced_in(tuple(outputs)))
    kept = []
    for call in reversed(calls):
        if not call.pure or call.result in wanted:
            wanted.update(traced_in(call.arguments))
            kept.append(call)
    return kept[::-1]


def memory(calls: Iterable[Call]) -> dict[Traced, Roots]:
    """For each result, the values whose memory it may be: itself where it is new, else those it was made of."""
    roots: dict[Traced, Roots] = {}
    for call in calls:
        if call.result is not None:
            alone = kernel_of(call.function).fresh or isinstance(call.result.value, _NUMBERS)
            shared = [(call.result,)] if alone else [roots.get(x, (x,)) for x in traced_in(call.arguments)]
            roots[call.result] = frozenset().union(*shared)
    return roots


class _Layout:
    """Where each result is written."""

    def __init__(self, calls: Sequence[Call], outputs: Sequence[object]) -> None:
        self.roots = memory(calls)
        self.place: dict[Traced, int] = {}  # the number of the buffer of a result
        self.buffers: list[Form] = []
        # somebody may keep an output, or what a function got of which nothing is known
        given = (*outputs, *(call.arguments for call in calls if call.opaque))
        leaving = {r for x in traced_in(given) for r in self.roots.get(x, ())}
        last = self._last_uses(calls)
        free: dict[Form, list[int]] = {}
        for at, call in enumerate(calls):
            dying = [r for r in last.get(at, ()) if r in self.place]
            kernel = kernel_of(call.function)
            if kernel.elementwise:  # before the result's buffer is chosen: it may be an operand's
                self._release(dying, free)
            if call.result is not None and kernel.into and call.result not in leaving:
                self._settle(call.result, free)
            if not kernel.elementwise:
                self._release(dying, free)
            if call.result is not None and call.result in self.place and call.result in last.get(at, ()):
                self._release([call.result], free)  # needed by nobody

    def _last_uses(self, calls: Sequence[Call]) -> dict[int, dict[Traced, None]]:
        final: dict[Traced, int] = {}
        for at, call in enumerate(calls):
            used = [*traced_in(call.arguments), *([call.result] if call.result is not None else ())]
            for x in used:
                for root in self.roots.get(x, ()):
                    final[root] = at
        last: dict[int, dict[Traced, None]] = {}  # sets in the order of the program
        for root, at in final.items():
            last.setdefault(at, {})[root] = None
        return last

    def _settle(self, result: Traced, free: dict[Form, list[int]]) -> None:
        like = result.value
        if not is_host_array(like) or not like.ndim or not like.size or not like.flags.c_contiguous:
            return
        form = like.shape, like.dtype
        fitting = free.get(form)
        if fitting:
            self.place[result] = fitting.pop()
        else:
            self.place[result] = len(self.buffers)
            self.buffers.append(form)

    def _release(self, dying: Iterable[Traced], free: dict[Form, list[int]]) -> None:
        for root in dying:
            places = free.setdefault(self.buffers[self.place[root]], [])
            if self.place[root] not in places:
                places.append(self.place[root])


class _Text:
    """The names of values, and the source."""

    def __init__(self, inputs: Sequence[Traced], targets: Sequence[Traced] | None, layout: _Layout) -> None:
        self.names: dict[Traced, str] = {x: f"p{i}" for i, x in enumerate(inputs)}
        self.names |= {x: f"t{i}" for i, x in enumerate(targets or ())}
        self.inputs = [self.names[x] for x in inputs]
        self.settle = None if targets is None else self._unpacked([self.names[x] for x in targets], "yield")
        self.layout = layout
        self.globals: dict[str, Any] = {}  # Any: functions and constants
        self._named: dict[int, tuple[str, object]] = {}

    def lines(self, calls: Sequence[Call], outputs: Sequence[object]) -> list[str]:
        """The body: whoever runs it is asked for the targets after the last pure call."""
        pure = [self._line(call) for call in calls if call.result is not None]
        effects = [self._line(call) for call in calls if call.result is None]
        return [*self.head(), *pure, self.settle or "", *effects, f"return {self._leaving(outputs)}"]

    def head(self) -> list[str]:
        """The lines that give inputs and buffers their names."""
        buffers = [f"b{i}" for i in range(len(self.layout.buffers))]
        return [self._unpacked(self.inputs, "inputs"), self._unpacked(buffers, "buffers")]

    def compiled(self, source: str) -> Callable[..., Any]:  # Any: the program's outputs
        """The source as a function."""
        code: CodeType = compile(source, "<plan>", "exec")
        scope = {**self.globals}
        exec(code, scope)
        made: FunctionType = scope["program"]
        return made

    @staticmethod
    def _unpacked(names: Sequence[str], value: str) -> str:
        return f"({', '.join(names)},) = {value}" if names else f"() = {value}"

    def _line(self, call: Call) -> str:
        result, function = call.result, call.function
        arguments = [self._given(x) if call.opaque else self._value(x) for x in call.arguments]
        options = [f"{name}={self._value(x)}" for name, x in call.options.items()]
        if result is None:
            return f"{self._constant(function)}({', '.join([*arguments, *options])})"
        if result in self.layout.place:
            into = kernel_of(function).into
            self.names[result] = buffer = f"b{self.layout.place[result]}"
            return f"{self._constant(into)}({', '.join([*arguments, *options, f'out={buffer}'])})"
        self.names[result] = name = f"v{len(self.names)}"
        sign = _INFIX.get(function)
        if sign is not None:
            return f"{name} = {arguments[0]} {sign} {arguments[1]}"
        if function is operator.neg:
            return f"{name} = -{arguments[0]}"
        return f"{name} = {self._constant(function)}({', '.join([*arguments, *options])})"

    def _value(self, x: object) -> str:
        if isinstance(x, Traced):
            return self.names[x]
        if isinstance(x, tuple):
            return self._sequence(x)
        if type(x) in _PLAIN:
            return f"({x!r})"
        return self._constant(x)

    def _given(self, x: object) -> str:
        """A value for somebody who may write to it: of an array that all runs share a copy."""
        return f"{self._value(x)}.copy()" if is_array(x) else self._value(x)

    def _leaving(self, outputs: Sequence[object]) -> str:
        return f"({''.join(f'{self._given(x)}, ' for x in outputs)})"

    def _sequence(self, items: Sequence[object]) -> str:
        return f"({''.join(f'{self._value(x)}, ' for x in items)})"

    def _constant(self, x: object) -> str:
        found = self._named.get(id(x))
        if found is None:
            found = self._named[id(x)] = (
                f"k{len(self._named)}",
                x,
            )  # `x` has to live as long as its id counts
            self.globals[found[0]] = freeze(x) if is_array(x) else x  # this run's user may get `x` itself
        return found[0]
