"""Equations as straight-line Python: one function makes the buffers and views of them, the other one runs.

Knows: how calls are written; that a size of rows is a product with `rows`; that what depends on buffers alone is made
once and not in each run.
Refuses to know: what the functions compute, and whose the buffers are.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence

from wengert.arrays import HOST, Value
from wengert.arrays.abstract import RowCount
from wengert.arrays.kernels import kernel_of, new_buffer
from wengert.program.derive import AtRows
from wengert.program.memory import Buffer, Placement, placed
from wengert.program.program import Argument, Eqn, Var, mentions_rows, vars_in
from wengert.program.simplify import Pieces, needed
from wengert.program.text import SIGNS, Constants, executed


class Kernel:
    """Some equations as a function.

    `run(rows, inputs..., outputs..., frame...)` writes the outputs into what is given and returns the values of
    `wanted`. A frame, the buffers and the views of them, is what `frame(start, rows, wholes...)` returns: a whole is an
    array with room for all rows, of which the buffer is a part, or None where each frame has its own.
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
        placement = placed(eqns, outputs, wanted, kept)
        text = _Text(inputs, eqns, outputs, placement)
        self.buffers: list[Buffer] = placement.buffers
        self.place: Mapping[Var, int] = placement.place
        self.source = text.written(wanted)
        scope = executed(self.source, text.constants.scope, "<program>")
        self.run: Callable[..., tuple[Value, ...]] = scope.pop("run")
        self.frame: Callable[..., tuple[Value, ...]] = scope.pop("frame")


class _Text:
    """The names of values, and the lines that give them."""

    def __init__(
        self, inputs: Sequence[Var], eqns: Sequence[Eqn], outputs: Sequence[Argument], placement: Placement
    ) -> None:
        self.eqns, self.outputs, self.placement = eqns, outputs, placement
        self.constants = Constants()
        self.inputs = [f"p{i}" for i in range(len(inputs))]
        self.names: dict[Var, str] = {}
        for x, name in zip(inputs, self.inputs, strict=True):
            self.names.setdefault(x, name)
        self.names |= {x: f"b{i}" for x, i in placement.place.items()}
        self.names |= {x: f"o{i}" for x, i in placement.outputs.items()}
        self.names |= {x: f"w{i}" for i, x in enumerate(placement.pieces)}
        self._numbers: dict[object, Value] = {}  # one array for all calls that have a number beside an array

    def written(self, wanted: Sequence[Var]) -> str:
        """The source of both functions."""
        placement = self.placement
        early = [e.result for e in placement.early]
        first = [self._line(e) for e in placement.early]
        first += [f"{self.names[x]} = {self._piece(whole, i)}" for x, (whole, i) in placement.pieces.items()]
        made = [*early, *placement.pieces]
        lines = self._body(set(early))
        buffers = [f"b{i}" for i in range(len(placement.buffers))]
        frame = [*buffers, *(self.names[x] for x in made)]
        outputs = [f"o{i}" for i in range(len(self.outputs))]
        cuts = [
            cut for b, name in zip(placement.buffers, buffers, strict=True) if (cut := self._cut(b, name))
        ]
        return _function(
            "frame", ["start", "rows", *buffers], ["stop = start + rows", *cuts, *first], frame
        ) + _function("run", ["rows", *self.inputs, *outputs, *frame], lines, [self.names[x] for x in wanted])

    def _body(self, early: Container[Var]) -> list[str]:
        """The lines of a run."""
        lines = [
            f"{self.names[e.result]}[...] = 0"
            for e in self.eqns
            if isinstance(e.function, Pieces) and not e.function.whole
        ]
        for e in self.eqns:
            if isinstance(e.function, Pieces):
                lines += self._assembled(e, e.function)
            elif e.result not in early:
                lines.append(self._line(e))
        for i, x in enumerate(self.outputs):
            if not isinstance(x, Var) or self.names[x] != f"o{i}":
                lines.append(f"o{i}[...] = {self._value(x)}")
        return lines

    def _cut(self, buffer: Buffer, name: str) -> str:
        """The line that makes a buffer of its whole; none where the whole is the buffer."""
        size = buffer.shape[0]
        if isinstance(size, RowCount):
            by = "" if size.times == 1 else f"{size.times} * "
            part = f"{by}start:{by}stop" if buffer.key is not None else f":{by}rows"
            return f"{name} = {name}[{part}]"
        if buffer.key is None:
            return ""
        shape, dtype = self._value(buffer.shape), self.constants.name(buffer.dtype)  # it outlives the launch
        return f"{name} = {self.constants.name(new_buffer)}({shape}, {dtype})"

    def _piece(self, whole: Var, index: int) -> str:
        pieces = next(e.function for e in self.eqns if e.result is whole)
        assert isinstance(pieces, Pieces), "pieces are of these"
        return f"{self.names[whole]}[{self.constants.name(pieces.keys[index])}]"

    def _assembled(self, e: Eqn, pieces: Pieces) -> list[str]:
        """The pieces that are not computed in their places."""
        name = self.names[e.result]
        return [
            f"{name}[{self.constants.name(key)}] = {self._value(x)}"
            for key, x in zip(pieces.keys, e.arguments, strict=True)
            if x not in self.placement.pieces
        ]

    def _line(self, e: Eqn) -> str:
        x, function = e.result, e.function
        if (
            function is HOST.getitem
            and not mentions_rows(e.arguments[1])
            and next(vars_in(e.arguments[1]), None) is None
        ):
            name = self._named(x)
            return f"{name} = {self._value(e.arguments[0])}[{self.constants.name(e.arguments[1])}]"
        arguments = [*["rows"] * isinstance(function, AtRows), *map(self._value, e.arguments)]
        options = [f"{name}={self._value(value)}" for name, value in e.options.items()]
        into = kernel_of(function).into
        if x in self.names and into is not None:
            if len(arguments) == 2:
                arguments = [self._beside(*pair) for pair in (e.arguments, e.arguments[::-1])]
            return f"{self.constants.name(into)}({', '.join([*arguments, *options, f'out={self.names[x]}'])})"
        name, sign = self._named(x), SIGNS.get(function)
        if sign is not None:
            return f"{name} = {arguments[0]} {sign} {arguments[1]}"
        return f"{name} = {self.constants.name(function)}({', '.join([*arguments, *options])})"

    def _named(self, x: Var) -> str:
        name = self.names[x] = f"v{len(self.names)}"
        return name

    def _beside(self, x: Argument, other: Argument) -> str:
        """A number beside an array as an array of shape (): 0.2 us less a call."""
        if type(x) is not float or not isinstance(other, Var) or not other.shape or other.dtype.kind != "f":
            return self._value(x)
        key = repr(x), other.dtype  # 0.0 and -0.0 are equal
        made = self._numbers.get(key)
        if made is None:
            made = self._numbers[key] = HOST.full((), x, other.dtype)
        return self.constants.name(made)

    def _value(self, x: Argument) -> str:
        if isinstance(x, Var):
            return self.names[x]
        if isinstance(x, RowCount):
            return "rows" if x.times == 1 else f"{x.times} * rows"
        if isinstance(x, slice):
            return f"slice({self._value(x.start)}, {self._value(x.stop)}, {self._value(x.step)})"
        if isinstance(x, tuple):
            return f"({''.join(f'{self._value(item)}, ' for item in x)})"
        return self.constants.text(x)


def _function(name: str, arguments: Sequence[str], lines: Sequence[str], returned: Sequence[str]) -> str:
    body = [*lines, f"return ({''.join(f'{x}, ' for x in returned)})"]
    return f"def {name}({', '.join(arguments)}):\n" + "".join(f" {line}\n" for line in body)
