"""Equations as straight-line Python: one function makes the buffers and views of them, the other one runs.

Knows: how calls are written; that a size of rows is a product with `rows`; that what depends on buffers alone is made
once and not in each run; which calls have a sign that takes less time.
Refuses to know: what the functions compute, and whose the buffers are.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise, starmap
from operator import itemgetter
from typing import Any, Final, NamedTuple

from wengert.arrays import HOST, Value, is_array
from wengert.arrays.abstract import RowCount
from wengert.arrays.kernels import (
    axes_beside,
    constant_beside,
    is_array_beside,
    kernel_of,
    new_buffer,
    numbers_beside,
    subtract_into,
    transposed,
    unused_array,
)
from wengert.program.derive import AtRows
from wengert.program.fused import FusedGroup
from wengert.program.memory import Allocation, Placement, can_be_placed
from wengert.program.program import Argument, Eqn, Function, Var, mentions_rows, vars_in
from wengert.program.simplify import Pieces, needed
from wengert.program.text import SIGNS, Constants, executed, function_text, tuple_text

_NUMBERS: Final = ("number", "scalar")  # forms without a buffer
_MOST_IN_LINE: Final = 4  # equations of numbers
_FEWEST_BESIDE: Final = 4  # calls with a number beside an array: each takes 0.3 us less with an array


class Kernel:
    """Some equations as a function.

    `run(rows, inputs..., outputs..., frame...)` writes the outputs into what is given and returns the values of
    `wanted`; `rows` is a number, or several. A frame, the buffers and the views of them, is what
    `frame(start, rows, wholes...)` returns: a whole is an array with room for all rows, of which the buffer is a part,
    or None where each frame has its own.
    """

    def __init__(
        self,
        inputs: Sequence[Var],
        eqns: Sequence[Eqn],
        outputs: Sequence[Argument],
        wanted: Sequence[Var],
        kept: Mapping[Var, object],
    ) -> None:
        eqns = needed(eqns, (*outputs, *wanted))
        placement = Placement(eqns, outputs, wanted, kept)
        text = ProgramText(inputs, eqns, outputs, placement)
        self.buffers: list[Allocation] = placement.buffers
        self.place: Mapping[Var, int] = placement.place
        given = ["rows", *text.inputs, *(f"o{i}" for i in range(len(outputs))), *text.frame]
        run = function_text("run", given, [*self.body(text), f"return {text.value(tuple(wanted))}"])
        self.source = text.frame_source() + run
        scope = executed(self.source, text.constants.scope, "<program>")
        self.run: Callable[..., tuple[Value, ...]] = scope.pop("run")
        self.frame: Callable[..., tuple[Value, ...]] = scope.pop("frame")

    def body(self, text: ProgramText) -> list[str]:
        """The lines of `run` but for the last one."""
        return text.body()


class FusedCall(NamedTuple):
    """A fused group, and the function that computes it: `function(*inputs, *outputs)`."""

    group: FusedGroup
    function: Function


class ProgramText:
    """The names of values, and the lines that give them."""

    def __init__(
        self,
        inputs: Sequence[Var],
        eqns: Sequence[Eqn],
        outputs: Sequence[Argument],
        placement: Placement,
        targets: Sequence[Var] = (),
        fused: Iterable[FusedCall] = (),
        updates: Mapping[Eqn, FusedCall] | None = None,
        input_name: str = "p{}",
    ) -> None:
        self.eqns, self.outputs, self.placement = eqns, outputs, placement
        self._fused = {e: call for call in fused for e in call.group.eqns}
        self._updates = updates or {}  # of effects
        self.leaving: set[Var] = set()  # what others get in each run, and may let go of before the next
        self.again: dict[Var, str] = {}  # lists of arrays for these
        self.constants = Constants()
        self.inputs = [*map(input_name.format, range(len(inputs)))]
        self.names: dict[Var, str] = {}
        for x, name in zip(inputs, self.inputs, strict=True):
            self.names.setdefault(x, name)
        self.names |= {x: f"t{i}" for i, x in enumerate(targets)}
        self.names |= {x: f"b{i}" for x, i in placement.place.items()}
        self.names |= {x: f"o{i}" for x, i in placement.outputs.items()}
        self.names |= {x: f"w{i}" for i, x in enumerate(placement.pieces)}
        self._numbers: dict[object, Value] = {}  # one array for all calls that have a number beside an array
        # arrays for inputs that are numbers, each beside arrays of a dtype; Any: numpy's
        self._beside_of: dict[tuple[Argument, Any], str] = {}
        self._spare: list[str] = []  # names of numbers that nobody reads any more
        self._within: set[Var] = set()  # numbers that are written where the next equation reads them
        self._early = {e.result for e in placement.early}
        self._first = [f"{self.names[x]} = {self._piece(*piece)}" for x, piece in placement.pieces.items()]
        self._first += [self._call(e) for e in placement.early]
        buffers = [f"b{i}" for i in range(len(placement.buffers))]
        made = [*(e.result for e in placement.early), *placement.pieces]
        self.frame = [*buffers, *(self.names[x] for x in made)]
        self.begin: list[str] = []  # lines before the first equation
        self.numbers = 0  # arrays of shape () in a frame

    def put_beside(self, inputs: Sequence[Var]) -> None:
        """Have inputs that are numbers put into arrays of shape (), all at once, where they stand beside arrays."""
        place = {x: i for i, x in enumerate(inputs) if x.aval.form == "number" and x.aval.dtype is float}
        found: dict[Any, list[Var]] = {}  # by the dtype; Any: numpy's
        for x, dtype in self._pairs():
            if isinstance(x, Var) and x in place:
                found.setdefault(dtype, []).append(x)
        for i, (dtype, xs) in enumerate(found.items()):
            if len(xs) >= _FEWEST_BESIDE:
                given = [*dict.fromkeys(xs)]
                self._beside_of |= {(x, dtype): f"n{i}[{j}]" for j, x in enumerate(given)}
                taken = self.constants.name(itemgetter(*(place[x] for x in given)))
                self.begin.append(f"d{i}[...] = {taken}(inputs)")
                made = f"{self.constants.name(numbers_beside)}({len(given)}, {self.constants.name(dtype)})"
                self._first.append(f"d{i}, n{i} = {made}")
                self.frame += (f"d{i}", f"n{i}")
                self.numbers += len(given)

    def _pairs(self) -> Iterator[tuple[Argument, Any]]:  # Any: numpy's
        """Whatever stands beside arrays in calls that know its dtype, and this."""
        for call in dict.fromkeys(self._fused.values()):
            read, _ = call.group.dtypes()
            yield from zip(call.group.inputs, read, strict=True)
        for e in self.eqns:
            into = kernel_of(e.function).into
            if e in self._fused or into is None or len(e.arguments) != 2 or e.opaque:
                continue
            for x, other in (e.arguments, e.arguments[::-1]):
                arrays = isinstance(other, Var) and other.aval.form == "array"
                if arrays and is_array_beside(other.dtype, into):
                    yield x, other.dtype

    def frame_source(self) -> str:
        """The function that makes a frame."""
        buffers = self.frame[: len(self.placement.buffers)]
        cuts = map(self._cut, self.placement.buffers, buffers)
        lines = [*cuts, *self._first, *(f"{name} = []" for name in self.again.values())]
        lines.append(f"return {tuple_text(self.frame)}")
        return function_text("frame", ["start", "rows", *buffers], lines)

    def body(self, after: str = "") -> list[str]:
        """The lines of a run, with another one `after` each equation."""
        if not after:
            self._within = self._parts_of_lines()
        lines = [
            f"{self.names[e.result]}[...] = 0"
            for e in self.eqns
            if isinstance(e.function, Pieces) and not e.function.whole and e.result in self.names
        ]
        for e in self.eqns:
            lines += (self.line(e), after)
        for i, x in enumerate(self.outputs):
            if not isinstance(x, Var) or self.names[x] != f"o{i}":
                lines.append(f"o{i}[...] = {self.value(x)}")
        return lines

    def _parts_of_lines(self) -> set[Var]:
        """Numbers that the next equation reads, and nobody else: they have no name, but are part of its line.

        A line of four takes 0.018 us for each number of a chain, lines of one 0.021.
        """
        found: set[Var] = set()
        length = 1
        for e, then in pairwise(self.eqns):
            x, ends = e.result, self.placement.ends.get(then, ())
            short = length < _MOST_IN_LINE and x in ends and then.reads.count(x) == 1
            length = length + 1 if short and self._signed(e) and self._signed(then) else 1
            if length > 1:
                found.add(x)
        return found

    def _signed(self, e: Eqn) -> bool:
        """True for a calculation with numbers that Python writes as a sign."""
        known = e.function in SIGNS or e.function is operator.neg
        those = all(x.aval.form in _NUMBERS for x in (e.result, *e.reads))
        return known and those and e not in self._fused and e.result not in self._early

    def line(self, e: Eqn) -> str:
        """The line of an equation, which lets go of values that nobody reads after it; empty if there is none.

        A fused group has one line, in the place of its last equation.
        """
        call = self._fused.get(e)
        those: Sequence[Eqn] = (e,)
        if call is not None:
            if e is not call.group.eqns[-1]:
                return ""
            made, those = self._call_of_group(call), call.group.eqns
        elif isinstance(e.function, Pieces):
            made = self._assembled(e, e.function)
        elif e.result in self._within:
            made, self.names[e.result] = [], f"({self._sign(e, self._arguments(e)[0])})"
        else:
            made = [] if e.result in self._early else [self._call(e)]
        ends = [x for of in those for x in self.placement.ends.get(of, ())]
        self._spare += [self.names[x] for x in ends if x.aval.form in _NUMBERS and x not in self._within]
        over = [self.names[x] for x in ends if x.aval.form not in _NUMBERS]
        return "; ".join([*made, *[f"del {', '.join(over)}"] * bool(over)])

    def _call_of_group(self, call: FusedCall) -> list[str]:
        """The call of a fused group; results without a place get arrays of their own."""
        group, made = call.group, []
        for x in group.outputs:
            if x not in self.names:
                self.names[x] = f"v{len(self.names)}"
                unused = x in self.leaving and x.compact
                made.append(f"{self.names[x]} = {self._unused(x)}" if unused else self._new(x))
        results = [self.names[x] for x in group.outputs]
        return [*made, self._called(call.function, [*self._given_to(group), *results], ())]

    def _given_to(self, group: FusedGroup) -> list[str]:
        """The operands of a fused group."""
        read, _ = group.dtypes()
        return [*starmap(self._element, zip(group.inputs, read, strict=True))]

    def _element(self, x: Var, dtype: Any) -> str:  # Any: numpy's
        instead = self._beside_of.get((x, dtype))
        if instead is None and x.aval.form == "number":
            return f"{self.constants.name(dtype.type)}({self.names[x]})"
        return instead or self.names[x]

    def _new(self, x: Var) -> str:
        """The line that makes an array for a result."""
        shape, dtype = self.value(x.shape), self.constants.name(x.dtype)
        return f"{self.names[x]} = {self.constants.name(new_buffer)}({shape}, {dtype})"

    def arrays_of(self, e: Eqn) -> Iterator[str]:
        """The lines that give the arrays which an effect writes besides its target."""
        call = self._updates.get(e)
        for x in () if call is None else call.group.outputs[:-1]:
            self.names[x] = f"v{len(self.names)}"
            yield f"{self.names[x]} = {self._unused(x)}"

    def _unused(self, x: Var) -> str:
        """An array for a result that others get, from a list of those that were given before."""
        self.again[x] = name = f"s{len(self.again)}"
        self.frame.append(name)
        shape, dtype = self.value(x.shape), self.constants.name(x.dtype)
        return f"{self.constants.name(unused_array)}({name}, {shape}, {dtype})"

    def change(self, e: Eqn) -> str:
        """The text of the changes of an effect, among those of others in a list."""
        call = self._updates.get(e)
        if call is not None:
            made = [self.names[x] for x in call.group.outputs[:-1]]
            given = [*self._given_to(call.group), *made, self.names[e.arguments[0]]]
            return f"({self.constants.name(call.function)}, {', '.join(given)})"
        arguments, options = self._arguments(e)
        if e.function is subtract_into:
            w, d = arguments
            return f"({self.constants.name(kernel_of(operator.sub).into)}, {w}, {d}, {w})"
        return f"*{self._called(e.function, arguments, options)}"

    def value(self, x: Argument) -> str:
        """The text of an argument."""
        if isinstance(x, Var):
            return self.names[x]
        if isinstance(x, RowCount):
            rows = "rows" if x.of is None else f"rows[{x.of}]"
            return rows if x.times == 1 else f"{x.times} * {rows}"
        if isinstance(x, slice):
            return f"slice({self.value(x.start)}, {self.value(x.stop)}, {self.value(x.step)})"
        if isinstance(x, tuple):
            return tuple_text(map(self.value, x))
        return self.constants.text(x)

    def given(self, x: Argument) -> str:
        """The text of a value for somebody who may write to it: of an array that all runs share a copy."""
        if isinstance(x, tuple):
            return tuple_text(map(self.given, x))
        return f"{self.value(x)}.copy()" if is_array(x) else self.value(x)

    def _cut(self, buffer: Allocation, name: str) -> str:
        """The line that makes a buffer of its whole; none where the whole is the buffer."""
        size = buffer.shape[0]
        if isinstance(size, RowCount):
            if buffer.key is None:
                return f"{name} = {name}[:{self.value(size)}]"
            by = "" if size.times == 1 else f"{size.times} * "
            return f"{name} = {name}[{by}start:{by}(start + rows)]"
        if buffer.key is None:
            return ""
        shape, dtype = self.value(buffer.shape), self.constants.name(buffer.dtype)  # it outlives the launch
        return f"{name} = {self.constants.name(new_buffer)}({shape}, {dtype})"

    def _piece(self, whole: Var, index: int) -> str:
        pieces = next(e.function for e in self.eqns if e.result is whole)
        assert isinstance(pieces, Pieces), "pieces are of these"
        return f"{self.names[whole]}[{self.constants.name(pieces.keys[index])}]"

    def _assembled(self, e: Eqn, pieces: Pieces) -> list[str]:
        """The pieces that are not computed in their places; they get an array of its own where somebody keeps it."""
        made = []
        if e.result not in self.names:
            self.names[e.result] = f"v{len(self.names)}"
            made += [self._new(e.result), *[f"{self.names[e.result]}[...] = 0"] * (not pieces.whole)]
        name = self.names[e.result]
        return made + [
            f"{name}[{self.constants.name(key)}] = {self.value(x)}"
            for i, (key, x) in enumerate(zip(pieces.keys, e.arguments, strict=True))
            if not isinstance(x, Var) or self.placement.pieces.get(x) != (e.result, i)
        ]

    def _arguments(self, e: Eqn) -> tuple[list[str], list[str]]:
        text = self.given if e.opaque else self.value
        arguments = [*["rows"] * isinstance(e.function, AtRows), *map(text, e.arguments)]
        return arguments, [f"{name}={self.value(value)}" for name, value in e.options.items()]

    def _called(self, function: Function, arguments: Sequence[str], options: Sequence[str]) -> str:
        return f"{self.constants.name(function)}({', '.join([*arguments, *options])})"

    def _call(self, e: Eqn) -> str:
        """The line that gives the result of an equation."""
        x, function = e.result, e.function
        arguments, options = self._arguments(e)
        into = kernel_of(function).into
        if into is not None and len(arguments) == 2 and not e.opaque:
            arguments = [self._beside(a, b, into) for a, b in (e.arguments, e.arguments[::-1])]
        if x in self.names and into is not None:
            return self._called(into, arguments, [*options, f"out={self.names[x]}"])
        if x in self.leaving and can_be_placed(e):
            self.names[x] = f"v{len(self.names)}"
            made = self._called(into or function, arguments, [*options, f"out={self._unused(x)}"])
            return f"{self.names[x]} = {made}"
        # a number that is written over makes room for the next one: 0.031 us for each of 1,000 in place of 0.043
        spare = self._spare.pop() if self._spare and x.aval.form in _NUMBERS else ""
        name = self.names[x] = spare or f"v{len(self.names)}"
        return f"{name} = {self._sign(e, arguments) or self._called(function, arguments, options)}"

    def _sign(self, e: Eqn, arguments: Sequence[str]) -> str:
        """A call as Python writes it, if it has a sign for it."""
        function, aval = e.function, e.result.aval
        sign = SIGNS.get(function)
        if function is HOST.divide and aval.form == "scalar":
            sign = "/"  # of numbers it takes a tenth of the time
        if sign is not None:
            return f"{arguments[0]} {sign} {arguments[1]}"
        if function is operator.neg:
            return f"-{arguments[0]}"
        if function is operator.getitem:
            key = e.arguments[1]
            fixed = not mentions_rows(key) and next(vars_in(key), None) is None
            return f"{arguments[0]}[{self.constants.name(key) if fixed else arguments[1]}]"
        if function is transposed or (function is HOST.swap_last and len(aval.shape) == 2):
            return f"{arguments[0]}.T"
        return ""

    def _beside(self, x: Argument, other: Argument, into: Function) -> str:
        """An argument of a call, beside the other one."""
        if isinstance(x, tuple) or not isinstance(other, Var) or other.aval.form != "array":
            return self.value(x)
        if isinstance(x, Var):
            instead = self._beside_of.get((x, other.dtype))
            if instead is not None and is_array_beside(other.dtype, into):
                return instead
            key = axes_beside(x.ndim, other.shape, into)
            return f"{self.names[x]}[{self.constants.name(key)}]" if key else self.names[x]
        made = constant_beside(x, other.dtype, into)
        return self.value(x if made is x else self._numbers.setdefault((made.dtype, made.tobytes()), made))
