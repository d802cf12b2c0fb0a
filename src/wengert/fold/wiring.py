"""Examples as flat arrays: which cell was called, of what, and what came out; from these layers are built again.

Knows: the cells and constants of one plan by number, and how a call is written down and read.
Refuses to know: blocks, and what a cell computes.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import chain, count, islice, repeat
from typing import TYPE_CHECKING, Final, TypeAlias, final

from wengert.arrays import is_array
from wengert.errors import BlockError, BlockValueError
from wengert.fold import code
from wengert.fold.calls import Calls, Direct
from wengert.fold.convert import OBJECT
from wengert.fold.machine import Example, Kept, building, built
from wengert.fold.plan import plan
from wengert.fold.structures import TupleType, leaf_texts, tuple_text, value_text
from wengert.fold.types import ResultType, Value
from wengert.graph.node import Node
from wengert.graph.operand import LITERAL, lift_any, shown
from wengert.site import user_position

if TYPE_CHECKING:
    from wengert.fold.block import AnyBlock

# adds the results of one call to the values, given the operands of all calls that are left and the lengths of lists
Replay: TypeAlias = Callable[[Iterator[Value], Iterator[int], list[Value]], None]


@final
@dataclass(frozen=True, slots=True)
class LoomInput:
    """One example: its calls in order, the places of what they read, its data, and the places of what it gives.

    Places count the constants of the block, then the data, then the results of all calls.
    """

    block: str
    calls: array[int]
    operands: array[int]
    lengths: array[int]  # of the lists that calls read
    data: list[Value]
    outputs: array[int]
    metrics: dict[str, tuple[array[int], list[object]]]


@final
class Made(int):
    """What stands for a layer while an example is written down: the number of a call's result, or ~ of a constant's."""

    __slots__ = ()


@dataclass(slots=True)
class _Example:
    """What is known of an example while it is written down."""

    calls: array[int] = field(default_factory=lambda: array("i"))
    operands: list[Value] = field(default_factory=list)
    lengths: array[int] = field(default_factory=lambda: array("i"))
    results: int = 0


_written: Final[ContextVar[_Example]] = ContextVar("the example that is written down")


class Writer(Calls):
    """The cells and constants of one block by number; two writers of one block have the same numbers."""

    def __init__(self, root: AnyBlock) -> None:
        self._cells: list[Replay] = []
        self._constants: list[Value] = []
        self._plan = plan(root, OBJECT, self)
        self._root = root
        self._shown = repr(root)
        if self._plan.waits is not None:
            raise BlockError(
                root.fault(
                    f"{self._plan.waits!r} in it waits for computed values: no wiring is known before a run"
                )
            )

    def cell(
        self, function: Callable[..., Value], given: ResultType, made: ResultType
    ) -> Callable[..., Value]:
        parts = given.parts if isinstance(given, TupleType) else (given,)
        arguments = ", ".join(value_text(of, repeat("next(terminals)")) for of in parts)
        results = leaf_texts(made, "made")
        operands = [text for i, of in enumerate(parts) for text in leaf_texts(of, f"x{i}")]
        replay = [
            "def replay(terminals, lengths, values):",
            f" made = called({arguments})",
            f" values += {tuple_text(results)}",
        ]
        number = self._enter(code.function(replay, {"called": function}))
        write = [
            f"def write({', '.join(f'x{i}' for i in range(len(parts)))}):",
            " example = written()",
            f" example.calls.append({number})",
            f" example.operands += {tuple_text(operands)}",
            " first = example.results",
            f" example.results = first + {len(results)}",
            f" return {value_text(made, (f'Made(first + {i})' for i in count()))}",
        ]
        direct: Callable[..., Value] = code.function(write, {"written": _written.get, "Made": Made})
        return direct

    def rows(self, function: Callable[[Sequence[Value]], Value], made: ResultType) -> Direct:
        def replay(terminals: Iterator[Value], lengths: Iterator[int], values: list[Value]) -> None:
            values.append(function(tuple(islice(terminals, next(lengths)))))

        number = self._enter(replay)

        def write(x: Sequence[Value]) -> Made:
            example = _written.get()
            example.lengths.append(len(x))
            example.calls.append(number)
            example.operands += x
            example.results += 1
            return Made(example.results - 1)

        return write

    def constant(self, x: Value, of: ResultType) -> Value:
        first = len(self._constants)
        self._constants.extend(of.flatten(x))
        return of.unflatten((Made(~i) for i in range(first, len(self._constants))), x)

    def _enter(self, replay: Replay) -> int:
        self._cells.append(replay)
        return len(self._cells) - 1

    def written(self, x: Value) -> LoomInput:
        """An example as flat arrays."""
        example, kept = _Example(), Kept()
        token = _written.set(example)
        try:
            with building(Example(kept)):
                result = built(self._plan.root, x)
        finally:
            _written.reset(token)
        outputs = self._plan.root.output.flatten(result)
        tensors = {name: [tensor for tensor, _ in values] for name, values in kept.items()}
        given = chain(example.operands, outputs, *tensors.values())
        data = {id(value): value for value in given if type(value) is not Made}
        places = {key: len(self._constants) + i for i, key in enumerate(data)}
        first = len(self._constants) + len(data)

        def placed(values: Iterable[Value]) -> array[int]:
            return array(
                "i",
                [places[id(x)] if type(x) is not Made else first + x if x >= 0 else ~x for x in values],
            )

        return LoomInput(
            self._shown,
            example.calls,
            placed(example.operands),
            example.lengths,
            [_data(value) for value in data.values()],
            placed(outputs),
            {name: (placed(tensors[name]), [label for _, label in values]) for name, values in kept.items()},
        )

    def read(self, x: LoomInput, example: Example) -> list[Value]:
        """The layers that an example gives."""
        cells = self._cells
        if x.block != self._shown or max(x.calls, default=-1) >= len(cells):
            raise BlockValueError(
                f"{self._root!r}: {shown(x.block)} has wired these inputs; build them with the block that did"
                f"\n  at {user_position()}"
            )
        values = [*self._constants, *map(_layer, x.data)]
        terminals, lengths = map(values.__getitem__, x.operands), iter(x.lengths)
        with building(example):
            for call in x.calls:
                cells[call](terminals, lengths, values)
        for name, (places, labels) in x.metrics.items():
            if example.kept is not None:
                tensors = [values[place] for place in places]
                example.kept.setdefault(name, []).extend(zip(tensors, labels, strict=True))
        return [values[place] for place in x.outputs]


def _data(x: Value) -> Value:
    """What a layer holds that was made of data."""
    return x.operands[0] if isinstance(x, Node) and x.signature.operation is LITERAL else x


def _layer(x: Value) -> Value:
    return lift_any(x) if is_array(x) and x.dtype.kind == "f" else x
