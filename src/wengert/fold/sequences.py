"""Blocks over sequences: each element alone, a state from left to right, a tree of pairs; sequences side by side.

Knows: that a sequence is a list, a tuple of equal types, data, or, where it is said, endless; lengths; that a tree of
pairs is as deep as the logarithm of the length.
Refuses to know: what is done with an element, and what two become.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Generic, Literal, overload

from wengert.arrays import is_integer
from wengert.errors import BlockValueError, DTypeError
from wengert.fold.block import (
    A,
    AnyBlock,
    B,
    Block,
    C,
    Convertible,
    D,
    K,
    Q,
    Several,
    Short,
    Tensors,
    X,
    Y,
    Z,
    convert_to_block,
)
from wengert.fold.calls import Calls, Direct
from wengert.fold.convert import OBJECT, VOID, zeros_of_type
from wengert.fold.data import Data, rows_reader
from wengert.fold.functions import Function
from wengert.fold.inference import Solver, Unknown, Use, head, resolved, sequence_of
from wengert.fold.items import each, elements, listed
from wengert.fold.joining import Pipe
from wengert.fold.kinds import Code, Primitive, Written
from wengert.fold.tensors import Stack
from wengert.fold.types import (
    BroadcastSequenceType,
    Endless,
    ResultType,
    SequenceType,
    TensorType,
    TupleType,
    Value,
)
from wengert.generics import TypeVar
from wengert.graph.operand import shown
from wengert.ops import add, maximum, minimum


class Map(Written[A, B]):
    """The block for each element: a list of a list, or of a tuple of equal types; endless of endless.

    Raises BlockError where the parts of a tuple differ, or there are none.
    >>> from wengert import fold as td
    >>> td.Map(td.Scalar()).eval([1, 2])
    [array(1., dtype=float32), array(2., dtype=float32)]

    Source: TensorFlow Fold, `td.Map`.
    """

    def __init__(
        self: Map[Several[X], list[C]], elem_block: Block[X, C] | Short, name: str | None = None
    ) -> None:
        super().__init__(name, elem_block=elem_block)
        self._element = convert_to_block(elem_block)
        self.settled()

    def constrain(self, solver: Solver, use: Use) -> None:
        part = solver.part(use, self._element)
        sequence_of(solver, use, "its input", use.input, part.input, endless=True)

        def collect(of: ResultType) -> None:
            if isinstance(of, TupleType) and not of.parts:
                raise self.error(f"its input is {of}, whose elements have no type")
            endless = isinstance(of, BroadcastSequenceType)
            made = BroadcastSequenceType(part.output) if endless else SequenceType(part.output)
            solver.equal(use, "its output", use.output, "what the block gives for all", made)

        def go_back(of: ResultType) -> None:
            if of != OBJECT and not isinstance(of, SequenceType):
                raise self.error(f"it gives a list, and its output is to be {resolved(of)}")
            item = of.element_type if isinstance(of, SequenceType) else of
            solver.equal(
                use, "an element of its output", item, f"the output of {self._element!r}", part.output
            )

        solver.when_begun(use.input, collect)
        solver.when_begun(use.output, go_back)

    def fused_with(self, following: Use) -> Direct | None:
        element = self._element
        if isinstance(element, Data) and isinstance(following.block, Stack):
            return rows_reader(element.of)
        return None

    def write(self, use: Use, code: Code, x: str) -> str:
        (part,) = use.parts
        if isinstance(use.input, BroadcastSequenceType):
            return code.value(f"{code.name(Endless)}({code.ask(part, code.value(f'next({x})'))})")
        made = code.value("[]")
        with each(self, code, x) as element:
            code.line(f"{made}.append({code.ask(part, element)})")
        return made


class Fold(Written[Several[A], B]):
    """A state that goes through a sequence from left to right: f of (state, element) is the next state.

    `start_block` gives the first state; f is a block of a pair. Depth n for n elements.
    Raises BlockError for an endless sequence, and where f gives another state than it takes.
    >>> from wengert import add, fold as td
    >>> (td.Map(td.Scalar()) >> td.Fold(td.Function(add), td.Zeros("float32"))).eval([1, 2, 3]).item()
    6.0

    Source: TensorFlow Fold, `td.Fold`.
    """

    def __init__(
        self: Fold[X, C],
        combine_block: Block[tuple[C, X], C],
        start_block: Block[None, C] | Short,
        name: str | None = None,
    ) -> None:
        super().__init__(name, combine_block=combine_block, start_block=start_block)
        self._step = convert_to_block(combine_block)
        self._start = convert_to_block(start_block)
        self.settled()

    def constrain(self, solver: Solver, use: Use) -> None:
        step, start = solver.part(use, self._step), solver.part(use, self._start)
        state, item = Unknown(), Unknown()
        pair = TupleType(state, item)
        solver.equal(use, "the start reads", start.input, "what is there", VOID)
        solver.equal(use, "the state", state, "the start", start.output)
        solver.equal(use, "the state and an element", pair, f"the input of {self._step!r}", step.input)
        solver.link(use, "the state", state, f"the output of {self._step!r}", step.output)
        solver.equal(use, "the state", state, "its output", use.output)
        sequence_of(solver, use, "its input", use.input, item)

    def write(self, use: Use, code: Code, x: str) -> str:
        step, start = use.parts
        state = code.value(code.ask(start, "None"))
        with each(self, code, x) as element:
            code.line(f"{state} = {code.ask(step, code.tuple([state, element]))}")
        return state


class RNN(Written[A, B]):
    """A cell along a list: of (element, state) it makes (output, next state); the outputs and the last state.

    The first state is `initial_state`, or part of the input, which is then (list, state), or zeros.
    Raises BlockValueError where both are given, BlockError where states differ, the type of the state is not known or
    a list is endless.
    >>> from wengert import fold as td
    >>> cell = td.Function(lambda x, s: (x * x, s + x))
    >>> outputs, state = (td.Map(td.Scalar()) >> td.RNN(cell, initial_state=td.Zeros("float32"))).eval([1, 2, 3])
    >>> [y.item() for y in outputs], state.item()
    ([1.0, 4.0, 9.0], 6.0)

    Source: TensorFlow Fold, `td.RNN`.
    """

    @overload
    def __init__(
        self: RNN[Several[X], tuple[list[C], D]],
        cell: Block[tuple[X, D], tuple[C, D]],
        initial_state: Block[None, D] | Short | None = None,
        initial_state_from_input: Literal[False] = False,
        name: str | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self: RNN[tuple[Several[X], D], tuple[list[C], D]],
        cell: Block[tuple[X, D], tuple[C, D]],
        initial_state: None = None,
        *,
        initial_state_from_input: Literal[True],
        name: str | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self: RNN[tuple[Several[X], D], tuple[list[C], D]],
        cell: Block[tuple[X, D], tuple[C, D]],
        initial_state: None,
        initial_state_from_input: Literal[True],
        name: str | None = None,
    ) -> None: ...
    def __init__(
        self,
        cell: Any,  # Any: typed by the overloads
        initial_state: Convertible | None = None,
        initial_state_from_input: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__(name, cell=cell)
        if initial_state is not None and initial_state_from_input:
            raise self.error(
                "the first state is given, and it is a part of the input: only one can be", BlockValueError
            )
        self._cell = convert_to_block(cell)
        self._start = None if initial_state is None else convert_to_block(initial_state)
        self._from_input = initial_state_from_input
        self.settled()

    def constrain(self, solver: Solver, use: Use) -> None:
        cell = solver.part(use, self._cell)
        item, state, output, sequence = Unknown(), Unknown(), Unknown(), Unknown()
        pairs = (
            ("an element and the state", TupleType(item, state)),
            ("an output and the state", TupleType(output, state)),
        )
        for (what, pair), side in zip(pairs, (cell.input, cell.output), strict=True):
            solver.link(use, what, pair, f"a side of {self._cell!r}", side)
        if self._start is not None:
            start = solver.part(use, self._start)
            solver.equal(use, "the start reads", start.input, "what is there", VOID)
            solver.equal(use, "the state", state, "the start", start.output)
        whole = TupleType(sequence, state) if self._from_input else sequence
        solver.equal(use, "its input", use.input, "what it reads", whole)
        sequence_of(solver, use, "its input", sequence, item)
        made = TupleType(SequenceType(output), state)
        solver.equal(use, "its output", use.output, "outputs and the last state", made)
        use.facts["state"] = state

        def check() -> bool:
            if isinstance(head(state), Unknown):
                raise self.error("the type of its state is not known; say it with initial_state")
            return False

        def after_all() -> bool:
            solver.otherwise(check)
            return False

        solver.otherwise(after_all)

    def write(self, use: Use, code: Code, x: str) -> str:
        cell, *start = use.parts
        if self._from_input:
            x, state = code.value(f"{x}[0]"), code.value(f"{x}[1]")
        elif start:
            state = code.value(code.ask(start[0], "None"))
        else:
            zeros = partial(zeros_of_type, use.facts["state"], self.fault)
            state = code.value(f"{code.name(zeros)}()")
        outputs, output = code.value("[]"), code.new()
        with each(self, code, x) as element:
            code.line(f"{output}, {state} = {code.ask(cell, code.tuple([element, state]))}")
            code.line(f"{outputs}.append({output})")
        return code.tuple([outputs, state])


class Broadcast(Primitive[X, "Endless[X]"]):
    """The input, again and again without an end.

    >>> from wengert import fold as td
    >>> block = td.Record((td.Map(td.Scalar()), td.Scalar() >> td.Broadcast())) >> td.Zip()
    >>> [(a.item(), b.item()) for a, b in block.eval(([1, 2], 7))]
    [(1.0, 7.0), (2.0, 7.0)]

    Source: TensorFlow Fold, `td.Broadcast`.
    """

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name)
        self.settled()

    def constrain(self, solver: Solver, use: Use) -> None:
        solver.equal(use, "its output", use.output, "what is repeated", BroadcastSequenceType(use.input))

    def direct(self, use: Use, calls: Calls) -> Direct:
        return Endless


class Zip(Primitive[K, Q]):
    """A tuple of sequences as a list of tuples, as long as the shortest; endless if all are.

    Raises BlockError for what is no tuple of sequences.
    >>> from wengert import fold as td
    >>> td.Zip().eval(([1, 2], "ab"))
    [(1, 'a'), (2, 'b')]

    Source: TensorFlow Fold, `td.Zip`.
    """

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name)
        self.settled()

    def constrain(self, solver: Solver, use: Use) -> None:
        def rule() -> bool:
            of = head(use.input)
            if isinstance(of, Unknown) or any(isinstance(head(t), Unknown) for t in of.parts):
                return False
            solver.equal(use, "its output", use.output, "the tuples", self._zipped(solver, use, of))
            return True

        solver.assume(use.input, OBJECT)
        solver.wait(rule)

    def _zipped(self, solver: Solver, use: Use, of: ResultType) -> ResultType:
        if of == OBJECT:
            return OBJECT
        if not isinstance(of, TupleType) or not of.parts:
            raise self.error(f"its input is {resolved(of)}; it takes a tuple of sequences")
        items = TupleType([Unknown() for _ in of.parts])
        for i, (part, item) in enumerate(zip(of.parts, items, strict=True)):
            sequence_of(solver, use, f"part {i}", part, item, endless=True)
        endless = all(isinstance(head(part), BroadcastSequenceType) for part in of.parts)
        return BroadcastSequenceType(items) if endless else SequenceType(items)

    def direct(self, use: Use, calls: Calls) -> Direct:
        if isinstance(use.output, BroadcastSequenceType):
            return lambda x: Endless(tuple(map(next, x)))
        return lambda x: list(zip(*[elements(self, part) for part in elements(self, x)], strict=False))


class ZipWith(Pipe[A, B]):
    """`Zip() >> Map(f)`.

    >>> from wengert import add, fold as td
    >>> lists = td.Record((td.Map(td.Scalar()), td.Map(td.Scalar())))
    >>> [y.item() for y in (lists >> td.ZipWith(td.Function(add))).eval(([1, 2], [3, 4]))]
    [4.0, 6.0]

    Source: TensorFlow Fold, `td.ZipWith`.
    """

    @overload
    def __init__(
        self: ZipWith[tuple[Several[X], Several[Y]], list[C]],
        elem_block: Block[tuple[X, Y], C],
        name: str | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self: ZipWith[tuple[Several[X], Several[Y], Several[Z]], list[C]],
        elem_block: Block[tuple[X, Y, Z], C],
        name: str | None = None,
    ) -> None: ...
    def __init__(self, elem_block: Any, name: str | None = None) -> None:  # Any: typed by the overloads
        mapped: AnyBlock = Map(elem_block)
        super().__init__(Zip(), mapped, name=name)


W = TypeVar("W", covariant=True, default="tuple[X, ...]")


# pyrefly: ignore[invalid-variance]  # the list is new, and whoever reads it has it alone
class NGrams(Primitive[Several[X], list[W]], Generic[X, W]):
    """All windows of n neighbours as tuples; of a sequence that is too short, none, and of an endless one no end.

    Raises BlockValueError for n below 1.
    >>> from wengert import fold as td
    >>> td.NGrams(2).eval([1, 2, 3])
    [(1, 2), (2, 3)]

    Source: TensorFlow Fold, `td.NGrams`.
    """

    @overload
    def __init__(self: NGrams[Y, tuple[Y]], n: Literal[1], name: str | None = None) -> None: ...
    @overload
    def __init__(self: NGrams[Y, tuple[Y, Y]], n: Literal[2], name: str | None = None) -> None: ...
    @overload
    def __init__(self: NGrams[Y, tuple[Y, Y, Y]], n: Literal[3], name: str | None = None) -> None: ...
    @overload
    def __init__(self: NGrams[Y, tuple[Y, ...]], n: int, name: str | None = None) -> None: ...
    def __init__(self, n: int, name: str | None = None) -> None:
        super().__init__(name, n=n)
        if not is_integer(n) or int(n) < 1:
            raise self.error(f"a window has at least one element, not {shown(n)}", BlockValueError)
        self._n = int(n)
        self.settled()

    def constrain(self, solver: Solver, use: Use) -> None:
        item = Unknown()
        sequence_of(solver, use, "its input", use.input, item, endless=True)

        def collect(of: ResultType) -> None:
            cls = BroadcastSequenceType if isinstance(of, BroadcastSequenceType) else SequenceType
            solver.equal(use, "its output", use.output, "the windows", cls(TupleType([item] * self._n)))

        solver.when_begun(use.input, collect)
        solver.assume(use.input, OBJECT)

    def direct(self, use: Use, calls: Calls) -> Direct:
        if isinstance(use.input, BroadcastSequenceType):
            return lambda x: Endless((next(x),) * self._n)
        return self._windows

    def _windows(self, x: Value) -> Value:
        listed = list(elements(self, x))
        return [tuple(listed[i : i + self._n]) for i in range(len(listed) - self._n + 1)]


class Reduce(Written[A, B]):
    """A sequence into one value: neighbours become one until one is left, an odd last one moves up.

    The depth is ⌈log₂ n⌉. An empty sequence gives `default_block`, or zeros.
    Raises BlockError for an endless sequence, and where f gives another type than it takes.
    >>> from wengert import fold as td, maximum
    >>> (td.Map(td.Scalar()) >> td.Reduce(td.Function(maximum))).eval([3, 1, 4, 1, 5]).item()
    5.0

    Source: TensorFlow Fold, `td.Reduce`; its paper cuts in halves, its code takes pairs.
    """

    def __init__(
        self: Reduce[Several[X], X],
        combine_block: Block[tuple[X, X], X],
        default_block: Block[None, X] | Short | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(name, combine_block=combine_block)
        self._begin(convert_to_block(combine_block), default_block)

    def _begin(self, function: AnyBlock, default: Convertible | None) -> None:
        self._function = function
        self._default = None if default is None else convert_to_block(default)
        self.settled()

    def constrain(self, solver: Solver, use: Use) -> None:
        part = solver.part(use, self._function)
        pair = TupleType(use.output, use.output)
        solver.equal(use, "two elements", pair, f"the input of {self._function!r}", part.input)
        solver.link(use, "an element", use.output, f"the output of {self._function!r}", part.output)
        if self._default is not None:
            default = solver.part(use, self._default)
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

    _operation: ClassVar[Callable[..., Any]] = staticmethod(add)  # Any: layers of every type

    def __init__(self, name: str | None = None) -> None:
        Written.__init__(self, name)
        self._begin(Function(self._operation), None)


class Sum(_Arithmetic[Tensors]):
    """The sum of the elements, 0 if there are none.

    >>> from wengert import fold as td
    >>> (td.Map(td.Scalar()) >> td.Sum()).eval([1, 2, 3]).item()
    6.0

    Source: TensorFlow Fold, `td.Sum`.
    """


class Min(_Arithmetic[Tensors]):
    """The smallest of the elements, 0 if there are none.

    >>> from wengert import fold as td
    >>> (td.Map(td.Scalar()) >> td.Min()).eval([3, 1, 2]).item()
    1.0

    Source: TensorFlow Fold, `td.Min`.
    """

    _operation = staticmethod(minimum)


class Max(_Arithmetic[Tensors]):
    """The greatest of the elements, 0 if there are none.

    >>> from wengert import fold as td
    >>> (td.Map(td.Scalar()) >> td.Max()).eval([3, 1, 2]).item()
    3.0

    Source: TensorFlow Fold, `td.Max`.
    """

    _operation = staticmethod(maximum)


class Mean(_Arithmetic[Tensors]):
    """The sum of the elements by their number, 0 if there are none.

    Raises DTypeError for integers.
    >>> from wengert import fold as td
    >>> (td.Map(td.Scalar()) >> td.Mean()).eval([0, 0, 6]).item()
    2.0

    Source: TensorFlow Fold, `td.Mean`.
    """

    def constrain(self, solver: Solver, use: Use) -> None:
        super().constrain(solver, use)

        def check(of: ResultType) -> None:
            if isinstance(of, TensorType) and not of.floating:
                raise self.error(f"the mean of {of} is no integer", DTypeError)

        solver.when_begun(use.output, check)

    def write(self, use: Use, code: Code, x: str) -> str:
        scaled = code.calls.cell(_scaled, TupleType(use.output, TensorType(())), use.output)
        summands = listed(self, code, x)
        total = super().write(use, code, summands)
        mean = f"{code.name(scaled)}({total}, 1.0 / len({summands}))"
        return code.chosen(f"len({summands})", [lambda: total, lambda: mean])
