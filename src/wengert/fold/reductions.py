"""Blocks that make one value of a sequence, in a tree of pairs.

Knows: that a tree of pairs is as deep as the logarithm of the length.
Refuses to know: what two values become.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from wengert.errors import DTypeError
from wengert.fold.block import A, AnyBlock, B, Block, Several, Tensors, X
from wengert.fold.code import Code, Written
from wengert.fold.conversion import convert_to_block
from wengert.fold.convert import VOID
from wengert.fold.functions import Function
from wengert.fold.items import listed
from wengert.fold.solver import Solver, Use, sequence_of
from wengert.fold.structures import TupleType
from wengert.fold.types import ResultType, TensorType, Value
from wengert.fold.zeros import zeros_of_type
from wengert.ops import add, maximum, minimum


class Reduce(Written[A, B]):
    """A sequence into one value: neighbours become one until one is left, an odd last one moves up.

    The depth is ⌈log₂ n⌉. An empty sequence gives `default`, or zeros.
    Raises BlockError for an endless sequence, and where f gives another type than it takes.
    >>> from wengert import fold as td, maximum
    >>> (td.Map(td.Scalar()) >> td.Reduce(td.Function(maximum))).eval([3, 1, 4, 1, 5]).item()
    5.0

    Source: TensorFlow Fold, `td.Reduce`; its paper cuts in halves, its code takes pairs.
    """

    def __init__(
        self: Reduce[Several[X], X],
        function: Block[tuple[X, X], X],
        default: Block[None, X] | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(name, function=function)
        self._begin(convert_to_block(function), default)

    def _begin(self, function: AnyBlock, default: AnyBlock | None) -> None:
        self._function = function
        self._default = None if default is None else convert_to_block(default)
        self.settled()

    def constrain(self, solver: Solver, use: Use) -> None:
        part = solver.use(self._function)
        use.parts.append(part)
        pair = TupleType(use.output, use.output)
        solver.equal(use, "two elements", pair, f"the input of {self._function!r}", part.input)
        solver.link(use, "an element", use.output, f"the output of {self._function!r}", part.output)
        if self._default is not None:
            default = solver.use(self._default)
            use.parts.append(default)
            solver.equal(use, "the default reads", default.input, "what is there", VOID)
            solver.equal(use, "an element", use.output, "the default", default.output)
        sequence_of(solver, use, "its input", use.input, use.output)

    def write(self, use: Use, code: Code, x: str) -> str:
        function, *default = use.parts
        level, pair = listed(self, code, x), code.new()
        with code.under(f"while len({level}) > 1:"):
            above = code.value("[]")
            with code.under(f"for {pair} in zip({level}[::2], {level}[1::2]):"):
                code.line(f"{above}.append({code.ask(function, pair)})")
            code.line(f"{level} = {above} + {level}[len({level}) & ~1:]")

        def of_none() -> str:
            zeros = partial(zeros_of_type, use.output, self.fault)
            return code.ask(default[0], "None") if default else f"{code.name(zeros)}()"

        return code.chosen(f"len({level})", [of_none, lambda: f"{level}[0]"])


def _scaled(x: Value, by: float) -> Value:
    return x * by


class _Arithmetic(Reduce[Several[X], X]):
    """A reduction by one operation; zero for nothing."""

    def __init__(self, operation: Callable[..., Any], name: str | None) -> None:  # Any: layers of every type
        Written.__init__(self, name)
        self._begin(Function(operation), None)


class Sum(_Arithmetic[Tensors]):
    """The sum of the elements, 0 if there are none.

    >>> from wengert import fold as td
    >>> (td.Map(td.Scalar()) >> td.Sum()).eval([1, 2, 3]).item()
    6.0

    Source: TensorFlow Fold, `td.Sum`.
    """

    def __init__(self, name: str | None = None) -> None:
        super().__init__(add, name)


class Min(_Arithmetic[Tensors]):
    """The smallest of the elements, 0 if there are none.

    >>> from wengert import fold as td
    >>> (td.Map(td.Scalar()) >> td.Min()).eval([3, 1, 2]).item()
    1.0

    Source: TensorFlow Fold, `td.Min`.
    """

    def __init__(self, name: str | None = None) -> None:
        super().__init__(minimum, name)


class Max(_Arithmetic[Tensors]):
    """The greatest of the elements, 0 if there are none.

    >>> from wengert import fold as td
    >>> (td.Map(td.Scalar()) >> td.Max()).eval([3, 1, 2]).item()
    3.0

    Source: TensorFlow Fold, `td.Max`.
    """

    def __init__(self, name: str | None = None) -> None:
        super().__init__(maximum, name)


class Mean(_Arithmetic[Tensors]):
    """The sum of the elements by their number, 0 if there are none.

    Raises DTypeError for integers.
    >>> from wengert import fold as td
    >>> (td.Map(td.Scalar()) >> td.Mean()).eval([0, 0, 6]).item()
    2.0

    Source: TensorFlow Fold, `td.Mean`.
    """

    def __init__(self, name: str | None = None) -> None:
        super().__init__(add, name)

    def constrain(self, solver: Solver, use: Use) -> None:
        super().constrain(solver, use)

        def check(of: ResultType) -> None:
            if isinstance(of, TensorType) and not of.floating:
                raise DTypeError(self.fault(f"the mean of {of} is no integer"))

        solver.when_begun(use, use.output, check)

    def write(self, use: Use, code: Code, x: str) -> str:
        scaled = code.calls.cell(_scaled, TupleType(use.output, TensorType(())), use.output)
        summands = listed(self, code, x)
        total = super().write(use, code, summands)
        mean = f"{code.name(scaled)}({total}, 1.0 / len({summands}))"
        return code.chosen(f"len({summands})", [lambda: total, lambda: mean])
