"""A listing as two functions of straight-line Python: one makes buffers and views of them, the other one runs.

Knows: that a count of rows is written as a product with `rows`, and that what depends on buffers alone is made once.
Refuses to know: what the functions compute, and whose the buffers are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any

from wengert.arrays import HOST, Value
from wengert.arrays.kernels import kernel_of, new_buffer
from wengert.arrays.rows import ones
from wengert.run.batching.assembling import Pieces
from wengert.run.batching.foreign import ForRows
from wengert.run.batching.listing import Count, Ones, Slot, Step, of_rows
from wengert.run.batching.placing import Buffer, Places, needed, placed
from wengert.run.written import SIGNS, Constants


class Function:
    """The steps that lead to some results, as a function.

    `run(rows, inputs..., outputs..., frame...)` gives the values of `wanted`; a frame, the buffers and views of them,
    is what `frame(start, rows, wholes...)` gives: a whole is what a buffer is a part of, or None.
    """

    def __init__(
        self,
        inputs: Sequence[Slot],
        steps: Sequence[Step],
        outputs: Sequence[Any],  # Any: slots and constants
        wanted: Sequence[Slot],
        kept: Mapping[Slot, object],
    ) -> None:
        text = _Text(inputs, needed(steps, (*outputs, *wanted)), outputs, wanted, kept)
        self.buffers: list[Buffer] = text.places.buffers
        self.place = text.places.place
        made = text.compiled(wanted)
        self.source = text.source
        self.run: Callable[..., tuple[Value, ...]] = made["run"]
        self.frame: Callable[..., tuple[Value, ...]] = made["frame"]


class _Text:
    def __init__(
        self,
        inputs: Sequence[Slot],
        steps: Sequence[Step],
        outputs: Sequence[Any],  # Any: slots and constants
        wanted: Sequence[Slot],
        kept: Mapping[Slot, object],
    ) -> None:
        self.places: Places = placed(steps, outputs, wanted, kept)
        self.steps = steps
        self.outputs = outputs
        self.source = ""
        self.constants = Constants()
        self._ones: dict[Ones, str] = {}
        self.names: dict[Slot, str] = {}
        self.inputs = [f"p{i}" for i in range(len(inputs))]
        for x, name in zip(inputs, self.inputs, strict=True):
            self.names.setdefault(x, name)
        self.names |= {x: f"b{i}" for x, i in self.places.place.items()}
        self.names |= {x: f"o{i}" for x, i in self.places.outputs.items()}
        self.names |= {x: f"w{i}" for i, x in enumerate(self.places.pieces)}

    def compiled(self, wanted: Sequence[Slot]) -> Mapping[str, FunctionType]:
        """Both functions."""
        early = {step.result for step in self.places.early}
        first = [f" {self._line(step)}" for step in self.places.early]
        first += [
            f" {self.names[x]} = {self._piece(whole, i)}" for x, (whole, i) in self.places.pieces.items()
        ]
        lines: list[str] = []
        for step in self.steps:
            if isinstance(step.function, Pieces):
                lines += self._assembled(step, step.function)
            elif step.result not in early:
                lines.append(self._line(step))
        for i, x in enumerate(self.outputs):
            if self.names.get(x) != f"o{i}" if isinstance(x, Slot) else True:
                lines.append(f"o{i}[...] = {self._value(x)}")
        whole = [
            step.result
            for step in self.steps
            if isinstance(step.function, Pieces) and not step.function.whole
        ]
        lines[:0] = [f"{self.names[x]}[...] = 0" for x in whole]
        lines.append(f"return ({''.join(f'{self.names[x]}, ' for x in wanted)})")
        first[:0] = [
            f" {name} = {self.constants.name(ones)}({self._count(x.count)}, {self.constants.name(x.dtype)})"
            for x, name in self._ones.items()
        ]
        made = [*self._ones.values(), *(self.names[x] for x in (*early, *self.places.pieces))]
        buffers = [f"b{i}" for i in range(len(self.places.buffers))]
        outputs = [f"o{i}" for i in range(len(self.outputs))]
        self.source = "\n".join(
            [
                f"def frame({', '.join(['start', 'rows', *buffers])}):",
                " stop = start + rows",
                *map(self._cut, self.places.buffers, buffers),
                *first,
                f" return ({''.join(f'{name}, ' for name in (*buffers, *made))})",
                f"def run({', '.join(['rows', *self.inputs, *outputs, *buffers, *made])}):",
                *(f" {line}" for line in lines),
                "",
            ]
        )
        scope = {**self.constants.scope}
        exec(compile(self.source, "<launch>", "exec"), scope)
        return {
            name: scope.pop(name) for name in ("frame", "run")
        }  # in their own globals they would be a cycle

    def _cut(self, buffer: Buffer, name: str) -> str:
        """The line that makes a buffer."""
        times = of_rows(buffer.dims)
        if times is None and buffer.key is None:
            return f" {name} = {name}"
        if times is None:  # what outlives the launch
            shape = self._value(buffer.dims)
            return (
                f" {name} = {self.constants.name(new_buffer)}({shape}, {self.constants.name(buffer.dtype)})"
            )
        by = "" if times == 1 else f"{times} * "
        return (
            f" {name} = {name}[{by}start:{by}stop]"
            if buffer.key is not None
            else f" {name} = {name}[:{by}rows]"
        )

    def _piece(self, whole: Slot, index: int) -> str:
        step = next(step for step in self.steps if step.result is whole)
        assert isinstance(step.function, Pieces), "pieces are of these"
        return f"{self.names[whole]}[{self.constants.name(step.function.keys[index])}]"

    def _assembled(self, step: Step, pieces: Pieces) -> list[str]:
        """The pieces that are not computed in their places."""
        name = self.names[step.result]
        return [
            f"{name}[{self.constants.name(key)}] = {self._value(x)}"
            for key, x in zip(pieces.keys, step.arguments, strict=True)
            if x not in self.places.pieces
        ]

    def _line(self, step: Step) -> str:
        x, function = step.result, step.function
        if function is HOST.getitem and _is_constant(step.arguments[1]):
            self.names[x] = name = f"v{len(self.names)}"
            return f"{name} = {self._value(step.arguments[0])}[{self.constants.name(step.arguments[1])}]"
        arguments = [*["rows"] * isinstance(function, ForRows), *map(self._value, step.arguments)]
        options = [f"{name}={self._value(a)}" for name, a in step.options.items()]
        into = kernel_of(function).into
        if x in self.names and into is not None:
            if len(arguments) == 2:
                arguments = [self._beside(*pair) for pair in (step.arguments, step.arguments[::-1])]
            return f"{self.constants.name(into)}({', '.join([*arguments, *options, f'out={self.names[x]}'])})"
        self.names[x] = name = f"v{len(self.names)}"
        sign = SIGNS.get(function)
        if sign is not None:
            return f"{name} = {arguments[0]} {sign} {arguments[1]}"
        return f"{name} = {self.constants.name(function)}({', '.join([*arguments, *options])})"

    def _beside(self, x: Any, other: Any) -> str:  # Any: slots and constants
        """A number beside an array as an array of shape (): 0.2 us less a call."""
        if type(x) is float and isinstance(other, Slot) and other.dims and other.dtype.kind == "f":
            return self._number(x, other.dtype)
        return self._value(x)

    def _number(self, x: float, dtype: Any) -> str:  # Any: numpy's
        scope = self.constants.scope
        name = f"n{len(scope)}"
        scope[name] = HOST.full((), x, dtype)
        return name

    def _count(self, x: Count) -> str:
        return "rows" if x.times == 1 else f"{x.times} * rows"

    def _value(self, x: object) -> str:
        if isinstance(x, Slot):
            return self.names[x]
        if isinstance(x, Count):
            return self._count(x)
        if isinstance(x, Ones):
            return self._ones.setdefault(x, f"i{len(self._ones)}")
        if isinstance(x, slice):
            return f"slice({self._value(x.start)}, {self._value(x.stop)}, {self._value(x.step)})"
        if isinstance(x, tuple):
            return f"({''.join(f'{self._value(item)}, ' for item in x)})"
        return self.constants.text(x)


def _is_constant(x: object) -> bool:
    """Whether an index is the same for any number of rows."""
    if isinstance(x, slice):
        return _is_constant((x.start, x.stop, x.step))
    if isinstance(x, tuple):
        return all(map(_is_constant, x))
    return not isinstance(x, (Slot, Count, Ones))
