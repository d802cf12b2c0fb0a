"""Blocks over sequences: each element alone, or with a state that goes from left to right.

Knows: that a sequence is a list, a tuple of equal types, data, or, where it is said, endless.
Refuses to know: what is done with an element.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Literal, overload

from wengert.errors import BlockError, BlockValueError
from wengert.fold.block import A, AnyBlock, B, Block, C, D, Several, X
from wengert.fold.code import Code, Written
from wengert.fold.conversion import convert_to_block
from wengert.fold.convert import OBJECT, VOID
from wengert.fold.items import each
from wengert.fold.solver import Solver, Use, sequence_of
from wengert.fold.structures import BroadcastSequenceType, Endless, SequenceType, TupleType
from wengert.fold.types import ResultType
from wengert.fold.unification import Unknown, head
from wengert.fold.zeros import zeros_of_type


class Map(Written[A, B]):
    """The block for each element: a list of a list, or of a tuple of equal types; endless of endless.

    Raises BlockError where the parts of a tuple differ, or there are none.
    >>> from wengert import fold as td
    >>> td.Map(td.Scalar()).eval([1, 2])
    [array(1., dtype=float32), array(2., dtype=float32)]

    Source: TensorFlow Fold, `td.Map`.
    """

    def __init__(self: Map[Several[X], list[C]], element: Block[X, C], name: str | None = None) -> None:
        super().__init__(name, element=element)
        self._element = convert_to_block(element)
        self.settled()

    def constrain(self, solver: Solver, use: Use) -> None:
        part = solver.use(self._element)
        use.parts.append(part)
        sequence_of(solver, use, "its input", use.input, part.input, endless=True)

        def collect(of: ResultType) -> None:
            if isinstance(of, TupleType) and not of.parts:
                raise BlockError(self.fault(f"its input is {of}, whose elements have no type"))
            endless = isinstance(of, BroadcastSequenceType)
            made = BroadcastSequenceType(part.output) if endless else SequenceType(part.output)
            solver.equal(use, "its output", use.output, "what the block gives for all", made)

        def go_back(of: ResultType) -> None:
            if of == OBJECT or isinstance(of, SequenceType):
                item = of.item if isinstance(of, SequenceType) else of
                solver.equal(
                    use, "an element of its output", item, f"the output of {self._element!r}", part.output
                )

        solver.when_begun(use, use.input, collect)
        solver.when_begun(use, use.output, go_back)

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

    `start` gives the first state; f is a block of a pair. Depth n for n elements.
    Raises BlockError for an endless sequence, and where f gives another state than it takes.
    >>> from wengert import add, fold as td
    >>> (td.Map(td.Scalar()) >> td.Fold(td.Function(add), td.Zeros("float32"))).eval([1, 2, 3]).item()
    6.0

    Source: TensorFlow Fold, `td.Fold`.
    """

    def __init__(
        self: Fold[X, C], step: Block[tuple[C, X], C], start: Block[None, C], name: str | None = None
    ) -> None:
        super().__init__(name, step=step, start=start)
        self._step = convert_to_block(step)
        self._start = convert_to_block(start)
        self.settled()

    def constrain(self, solver: Solver, use: Use) -> None:
        step, start = solver.use(self._step), solver.use(self._start)
        use.parts += [step, start]
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
        initial_state: Block[None, D] | None = None,
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
        initial_state: AnyBlock | None = None,
        initial_state_from_input: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__(name, cell=cell)
        if initial_state is not None and initial_state_from_input:
            raise BlockValueError(
                self.fault("the first state is given, and it is a part of the input: only one can be")
            )
        self._cell = convert_to_block(cell)
        self._start = None if initial_state is None else convert_to_block(initial_state)
        self._from_input = initial_state_from_input
        self.settled()

    def constrain(self, solver: Solver, use: Use) -> None:
        cell = solver.use(self._cell)
        use.parts.append(cell)
        item, state, output, sequence = Unknown(), Unknown(), Unknown(), Unknown()
        pairs = (
            ("an element and the state", TupleType(item, state)),
            ("an output and the state", TupleType(output, state)),
        )
        for (what, pair), side in zip(pairs, (cell.input, cell.output), strict=True):
            solver.link(use, what, pair, f"a side of {self._cell!r}", side)
        if self._start is not None:
            start = solver.use(self._start)
            use.parts.append(start)
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
                raise BlockError(self.fault("the type of its state is not known; say it with initial_state"))
            return False

        def after_all() -> bool:
            solver.otherwise(use, check)
            return False

        solver.otherwise(use, after_all)

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
