"""A listing as two functions of straight-line Python: one makes views of buffers, the other one runs.

Knows: that a count of rows is written as a product with `rows`, and that what depends on buffers alone is made once.
Refuses to know: what the functions compute, and whose the buffers are.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any, Final

from wengert.arrays import HOST, Value, freeze, is_array
from wengert.arrays.kernels import kernel_of
from wengert.run.batching.assembling import Pieces
from wengert.run.batching.foreign import ForRows
from wengert.run.batching.listing import Count, Ones, Slot, Step
from wengert.run.batching.placing import Buffer, Places, needed, placed

_INFIX: Final[Mapping[Callable[..., Any], str]] = {  # Any: functions of numbers and arrays
    operator.add: "+",
    operator.sub: "-",
    operator.mul: "*",
    operator.truediv: "/",
    operator.pow: "**",
}
_PLAIN: Final = (int, bool, str, type(None))


class Function:
    """The steps that lead to some results, as a function.

    `run(rows, inputs..., outputs..., frame...)` gives the values of `wanted`; a frame is the buffers and what
    `views(rows, buffers...)` gives.
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
        self.views: Callable[..., tuple[Value, ...]] = made["views"]


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
        self.scope: dict[str, Any] = {}  # Any: functions and constants
        self._named: dict[int, tuple[str, object]] = {}
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
            f" {name} = {self._constant(HOST.ones)}({self._count(x.count)}, {self._constant(x.dtype)})"
            for x, name in self._ones.items()
        ]
        made = [*self._ones.values(), *(self.names[x] for x in (*early, *self.places.pieces))]
        buffers = [f"b{i}" for i in range(len(self.places.buffers))]
        outputs = [f"o{i}" for i in range(len(self.outputs))]
        self.source = "\n".join(
            [
                f"def views({', '.join(['rows', *buffers])}):",
                *first,
                f" return ({''.join(f'{name}, ' for name in made)})",
                f"def run({', '.join(['rows', *self.inputs, *outputs, *buffers, *made])}):",
                *(f" {line}" for line in lines),
                "",
            ]
        )
        scope = {**self.scope}
        exec(compile(self.source, "<launch>", "exec"), scope)
        return {
            name: scope.pop(name) for name in ("views", "run")
        }  # in their own globals they would be a cycle

    def _piece(self, whole: Slot, index: int) -> str:
        step = next(step for step in self.steps if step.result is whole)
        assert isinstance(step.function, Pieces), "pieces are of these"
        return f"{self.names[whole]}[{self._constant(step.function.keys[index])}]"

    def _assembled(self, step: Step, pieces: Pieces) -> list[str]:
        """The pieces that are not computed in their places."""
        name = self.names[step.result]
        return [
            f"{name}[{self._constant(key)}] = {self._value(x)}"
            for key, x in zip(pieces.keys, step.arguments, strict=True)
            if x not in self.places.pieces
        ]

    def _line(self, step: Step) -> str:
        x, function = step.result, step.function
        arguments = [*["rows"] * isinstance(function, ForRows), *map(self._value, step.arguments)]
        options = [f"{name}={self._value(a)}" for name, a in step.options.items()]
        into = kernel_of(function).into
        if x in self.names and into is not None:
            if len(arguments) == 2:
                arguments = [self._beside(*pair) for pair in (step.arguments, step.arguments[::-1])]
            return f"{self._constant(into)}({', '.join([*arguments, *options, f'out={self.names[x]}'])})"
        self.names[x] = name = f"v{len(self.names)}"
        sign = _INFIX.get(function)
        if sign is not None:
            return f"{name} = {arguments[0]} {sign} {arguments[1]}"
        return f"{name} = {self._constant(function)}({', '.join([*arguments, *options])})"

    def _beside(self, x: Any, other: Any) -> str:  # Any: slots and constants
        """A number beside an array as an array of shape (): 0.2 us less a call."""
        if type(x) is float and isinstance(other, Slot) and other.dims and other.dtype.kind == "f":
            return self._number(x, other.dtype)
        return self._value(x)

    def _number(self, x: float, dtype: Any) -> str:  # Any: numpy's
        name = f"n{len(self.scope)}"
        self.scope[name] = HOST.full((), x, dtype)
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
        if type(x) in _PLAIN:
            return f"({x!r})"
        return self._constant(x)

    def _constant(self, x: object) -> str:
        found = self._named.get(id(x))
        if found is None:
            found = self._named[id(x)] = (
                f"k{len(self._named)}",
                x,
            )  # `x` has to live as long as its id counts
            self.scope[found[0]] = freeze(x) if is_array(x) else x
        return found[0]
